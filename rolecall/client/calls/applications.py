"""Describe the calls about applications, their imports and dry runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

import msgspec

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.describe import Call, Id, When


class ApplicationFields(TypedDict, total=False):
    priority: str
    is_identity_source: bool
    connector: Json | None
    schedule: Json | None
    owner_id: Id | None
    provisioner_ids: Sequence[Id]
    guard: Json | None
    review_every_months: int | None
    surprise_reviews: bool


class ApplicationChanges(ApplicationFields, total=False):
    name: str
    is_archived: bool


def list_applications() -> Call[Page[answers.ApplicationSummary]]:
    """List applications, ordered by name."""
    return describe.get(Page[answers.ApplicationSummary], "/api/applications")


def get_application(application_id: Id) -> Call[answers.Application]:
    """Get an application, its connector and its last import."""
    return describe.get(answers.Application, "/api/applications/{}", application_id)


def get_application_configuration(application_id: Id) -> Call[answers.ApplicationConfiguration]:
    """Get the configuration of an application: columns, schedule, owner, provisioners, guard."""
    return describe.get(answers.ApplicationConfiguration, "/api/applications/{}/configuration", application_id)


def create_application(name: str, **fields: Unpack[ApplicationFields]) -> Call[answers.Application]:
    """Create an application with its connector and schedule."""
    return describe.call("POST", answers.Application, "/api/applications", body={"name": name, **fields})


def change_application(application_id: Id, **fields: Unpack[ApplicationChanges]) -> Call[answers.Application]:
    """Change the given fields of an application."""
    return describe.call("PATCH", answers.Application, "/api/applications/{}", application_id, body=fields)


def list_accounts(
    application_id: Id, *, match: str | None = None, as_of: When | int | None = None
) -> Call[Page[answers.Account]]:
    """List an application's accounts, ordered by username, now or as of a time or an import."""
    return describe.get(
        Page[answers.Account], "/api/applications/{}/accounts", application_id, match=match, as_of=as_of
    )


def list_groups(application_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.Group]]:
    """List an application's groups, ordered by name, now or as of a time or an import."""
    return describe.get(Page[answers.Group], "/api/applications/{}/groups", application_id, as_of=as_of)


def list_permissions(application_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.Permission]]:
    """List an application's permissions, now or as of a time or an import."""
    return describe.get(Page[answers.Permission], "/api/applications/{}/permissions", application_id, as_of=as_of)


def roll_back(application_id: Id, import_number: int) -> Call[answers.NewImport]:
    """Stage an import that restores the application's data as it was after an earlier import."""
    return describe.post(
        answers.NewImport, "/api/applications/{}/rollback", application_id, import_number=import_number
    )


def pin_account(account_id: Id, identity_id: Id | None = None, *, never: bool = False) -> Call[answers.Account]:
    """Pin an account to an identity, or pin it as never matched."""
    body = {"never": True} if never else {"identity_id": identity_id}
    return describe.call("PUT", answers.Account, "/api/accounts/{}/match", account_id, body=body)


def unpin_account(account_id: Id) -> Call[None]:
    """Remove the pin of an account and match the account again."""
    return describe.call("DELETE", type(None), "/api/accounts/{}/match", account_id)


def list_all_accounts(
    *,
    application_id: Id | None = None,
    match: str | None = None,
    identity_id: Id | None = None,
    search: str | None = None,
    active: bool | None = None,
    leaver: bool | None = None,
    dormant_days: int | None = None,
    privileged: bool | None = None,
    never_used: bool | None = None,
    as_of: When | int | None = None,
) -> Call[answers.PastPage[answers.RosterAccount]]:
    """List accounts across applications, ordered by application and username, now or as of a time or an import."""
    flags = {"is_active": active, "leaver": leaver, "privileged": privileged, "never_used": never_used}
    return describe.get(
        answers.PastPage[answers.RosterAccount],
        "/api/accounts",
        application_id=application_id,
        match=match,
        identity_id=identity_id,
        search=search,
        dormant_days=dormant_days,
        as_of=as_of,
        **describe.flags(flags),
    )


def get_account(account_id: Id) -> Call[answers.AccountDetail]:
    """Get an account as of the last import that contains it."""
    return describe.get(answers.AccountDetail, "/api/accounts/{}", account_id)


def get_account_access(account_id: Id, *, as_of: When | int | None = None) -> Call[answers.AccessOfAccount]:
    """Get the access of an account and the reasons for it, now or as of a time or an import."""
    return describe.get(answers.AccessOfAccount, "/api/accounts/{}/access", account_id, as_of=as_of)


def list_imports(*, application_id: Id | None = None) -> Call[Page[answers.ImportItem]]:
    """List imports: first those that wait to start, then the others by start, newest first.

    An import that was canceled before it started is listed at the time of its cancellation.
    """
    return describe.get(Page[answers.ImportItem], "/api/application-imports", application_id=application_id)


def get_import(import_id: Id) -> Call[answers.Import]:
    """Get an import with its files, metrics and log."""
    return describe.get(answers.Import, "/api/application-imports/{}", import_id)


def upload_import(application_id: Id, files: Sequence[tuple[Id, Path]]) -> Call[answers.NewImport]:
    """Upload files, each with the id of its file group, and stage an import; `Client.upload` accepts names instead."""
    return Call(
        method="POST",
        path="/api/application-imports/upload",
        answer=answers.NewImport,
        query={"applicationId": str(application_id)},
        files=[(str(group), path) for group, path in files],
    )


def start_dry_run(
    application_id: Id, files: Sequence[tuple[str, Path]], *, connector: Json | None = None
) -> Call[answers.DryRun]:
    """Start a dry run of files, each with the name of its file group, and do not wait for the result.

    `connector` is used instead of the saved connector. `Client.dry_run` also waits for the result.
    """
    return Call(
        method="POST",
        path=describe.filled("/api/applications/{}/dry-run", [application_id]),
        answer=answers.DryRun,
        files=files,
        form={"connector": msgspec.json.encode(connector).decode()} if connector else {},
    )


def get_dry_run(dry_run_id: Id) -> Call[answers.DryRun]:
    """Get a dry run: what an import of its files would change."""
    return describe.get(answers.DryRun, "/api/dry-runs/{}", dry_run_id)


def list_dry_run_changes(
    dry_run_id: Id, *, kind: str | None = None, change: str | None = None
) -> Call[Page[answers.Change]]:
    """List the changes that an import of a dry run's files would make, with values before and after."""
    return describe.get(Page[answers.Change], "/api/dry-runs/{}/changes", dry_run_id, kind=kind, change=change)


def list_dry_run_rejects(dry_run_id: Id) -> Call[Page[answers.Reject]]:
    """List the rows that a dry run rejected, each with the reason."""
    return describe.get(Page[answers.Reject], "/api/dry-runs/{}/rejects", dry_run_id)


def propose_shapes(files: Sequence[tuple[str, Path]]) -> Call[answers.Proposal]:
    """Propose a connector for files, with the evidence for each part; nothing is stored."""
    return Call(method="POST", path="/api/file-shapes/propose", answer=answers.Proposal, files=files)


def list_connector_templates() -> Call[answers.ConnectorTemplates]:
    """List connector templates: saved ones first, then the ones that ship with the service."""
    return describe.get(answers.ConnectorTemplates, "/api/connector-templates")


def save_connector_template(
    application_id: Id, name: str, *, description: str | None = None
) -> Call[answers.ConnectorTemplate]:
    """Save the connector of an application as a template for other applications."""
    return describe.post(
        answers.ConnectorTemplate,
        "/api/connector-templates",
        application_id=application_id,
        name=name,
        description=description,
    )


def delete_connector_template(template_id: Id) -> Call[None]:
    """Delete a saved connector template; applications created from it keep their connectors."""
    return describe.call("DELETE", type(None), "/api/connector-templates/{}", template_id)


def stage_import(application_id: Id) -> Call[answers.NewImport]:
    """Stage an import with the scheduled files or the live source of an application."""
    return describe.post(answers.NewImport, "/api/application-imports/stage", application_id=application_id)


def cancel_import(import_id: Id) -> Call[answers.Import]:
    """Cancel an import."""
    return describe.post(answers.Import, "/api/application-imports/cancel", application_import_id=import_id)


def continue_import(import_id: Id) -> Call[answers.Import]:
    """Continue an import that the guard holds."""
    return describe.post(answers.Import, "/api/application-imports/{}/continue", import_id)


def list_changes(import_id: Id, *, kind: str | None = None, change: str | None = None) -> Call[Page[answers.Change]]:
    """List the changes of an import, with values before and after."""
    return describe.get(
        Page[answers.Change], "/api/application-imports/{}/changes", import_id, kind=kind, change=change
    )


def list_rejects(import_id: Id) -> Call[Page[answers.Reject]]:
    """List the rows that an import rejected, each with the reason."""
    return describe.get(Page[answers.Reject], "/api/application-imports/{}/rejects", import_id)


def download_file(import_id: Id, file_id: Id) -> Call[bytes]:
    """Download a file of an import as it was uploaded."""
    return describe.get(bytes, "/api/application-imports/{}/files/{}", import_id, file_id)
