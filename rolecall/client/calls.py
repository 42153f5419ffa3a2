"""Every operation of the service as a function that describes a call; `Client` and `AsyncClient` perform it.

The positional parameters name the record. In a change, an omitted field keeps its value and None clears it.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar, Unpack
from urllib.parse import quote
from uuid import UUID

import msgspec

from rolecall.client import answers
from rolecall.client.answers import Json, Page

T = TypeVar("T")
Id = UUID | str
When = date | datetime | str


class Call(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A call as data. `files` and `form` are the fields of a form. `key`: send an idempotency key with it."""

    method: str
    path: str
    answer: type[T]
    query: Mapping[str, str] = {}
    body: Json | None = None
    files: Sequence[tuple[str, Path]] = ()
    form: Mapping[str, str] = {}
    key: str | None = None


class Access(TypedDict, total=False):
    """A permission by its names, and the level of access."""

    header: str
    section: str
    permission: str
    access: str


class IdentityFields(TypedDict, total=False):
    first_name: str
    last_name: str
    email: str
    supervisor_id: Id
    company: str
    division: str
    department: str
    office: str
    title: str
    identity_type: str
    custom_fields: Mapping[int, str]


class ApplicationFields(TypedDict, total=False):
    priority: str
    is_identity_source: bool
    connector: Json | None
    schedule: Json | None
    owner_id: Id | None
    provisioner_ids: Sequence[Id]
    guard: Json | None


class ApplicationChanges(ApplicationFields, total=False):
    name: str
    is_archived: bool


class ModelFields(TypedDict, total=False):
    description: str
    owner_id: Id
    enabled: bool
    conditions: Sequence[Sequence[Json]]
    access: Sequence[Json]


class ModelChanges(ModelFields, total=False):
    name: str


class EntitlementChanges(TypedDict, total=False):
    display_name: str
    explanation: str
    owner_id: Id
    risk_rating: str
    is_privileged: bool
    tags: Sequence[str]
    same_as: Id


class ReportFields(TypedDict, total=False):
    description: str
    filters: Json
    columns: Sequence[str]
    period: str
    format: str
    schedule: Json | None
    owner_id: Id | None


class ReportChanges(ReportFields, total=False):
    name: str
    list: str


class DutyFields(TypedDict, total=False):
    description: str
    patterns: Sequence[Json]


class DutyChanges(DutyFields, total=False):
    name: str


class DutyRuleFields(TypedDict, total=False):
    description: str
    risk: str
    response: str
    owner_id: Id | None
    without: Id | None
    enabled: bool


class DutyRuleChanges(DutyRuleFields, total=False):
    name: str
    conflicts: Sequence[Id]


class WebhookChanges(TypedDict, total=False):
    name: str
    url: str
    events: Sequence[str]
    application_id: Id | None
    enabled: bool


class NotificationSettingsChanges(TypedDict, total=False):
    email: Json
    slack_url: str
    teams_url: str
    kinds: Sequence[Json]
    templates: Sequence[Json]
    reminders: Json


class NotificationPreferenceChanges(TypedDict, total=False):
    zone: str
    kinds: Sequence[Json]


class SettingsChanges(TypedDict, total=False):
    custom_fields: Sequence[Json]
    approval_lead_days: int
    approval_policy: Sequence[Json]
    webhook_retention_days: int
    guard: Json
    single_handed: bool


def _get(answer: type[T], path: str, *ids: Id, **query: object) -> Call[T]:
    given = {_camel(name): str(value) for name, value in query.items() if value is not None}
    return Call(method="GET", path=_filled(path, ids), answer=answer, query=given)


def _call(method: str, answer: type[T], path: str, *ids: Id, body: Mapping[str, Any] | None = None) -> Call[T]:
    return Call(method=method, path=_filled(path, ids), answer=answer, body=None if body is None else _camels(body))


def _post(answer: type[T], path: str, *ids: Id, **body: object) -> Call[T]:
    """Describe a POST; None values are omitted."""
    given = {name: value for name, value in body.items() if value is not None}
    return Call(method="POST", path=_filled(path, ids), answer=answer, body=_camels(given) if body else None)


def _flags(given: Mapping[str, bool | None]) -> dict[str, str]:
    return {name: str(value).lower() for name, value in given.items() if value is not None}


def _filled(path: str, ids: Sequence[Id]) -> str:
    return path.format(*(quote(str(id), safe="") for id in ids))


def _camels(fields: Mapping[str, Any]) -> Json:
    return {_camel(name): value for name, value in fields.items()}


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def _identity(fields: IdentityFields) -> Json:
    plain = _camels({name: value for name, value in fields.items() if name != "custom_fields"})
    return plain | {f"customField{number}": value for number, value in fields.get("custom_fields", {}).items()}


# Applications


def list_applications() -> Call[Page[answers.ApplicationSummary]]:
    """List applications by name."""
    return _get(Page[answers.ApplicationSummary], "/api/applications")


def get_application(application_id: Id) -> Call[answers.Application]:
    """Show an application, its connector and its last import."""
    return _get(answers.Application, "/api/applications/{}", application_id)


def get_application_configuration(application_id: Id) -> Call[answers.ApplicationConfiguration]:
    """Show the configuration of an application: columns, schedule, owner, provisioners, guard."""
    return _get(answers.ApplicationConfiguration, "/api/applications/{}/configuration", application_id)


def create_application(name: str, **fields: Unpack[ApplicationFields]) -> Call[answers.Application]:
    """Create an application with its connector and schedule."""
    return _call("POST", answers.Application, "/api/applications", body={"name": name, **fields})


def change_application(application_id: Id, **fields: Unpack[ApplicationChanges]) -> Call[answers.Application]:
    """Change the given fields."""
    return _call("PATCH", answers.Application, "/api/applications/{}", application_id, body=fields)


def list_accounts(
    application_id: Id, *, match: str | None = None, as_of: When | int | None = None
) -> Call[Page[answers.Account]]:
    """List the accounts of an application, now or as of a time or an import number."""
    return _get(Page[answers.Account], "/api/applications/{}/accounts", application_id, match=match, as_of=as_of)


def list_groups(application_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.Group]]:
    """List the groups of an application."""
    return _get(Page[answers.Group], "/api/applications/{}/groups", application_id, as_of=as_of)


def list_permissions(application_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.Permission]]:
    """List the permissions of an application."""
    return _get(Page[answers.Permission], "/api/applications/{}/permissions", application_id, as_of=as_of)


def roll_back(application_id: Id, import_number: int) -> Call[answers.NewImport]:
    """Stage an import that restores the application's data as it was after an earlier import."""
    return _post(answers.NewImport, "/api/applications/{}/rollback", application_id, import_number=import_number)


def pin_account(account_id: Id, identity_id: Id | None = None, *, never: bool = False) -> Call[answers.Account]:
    """Pin an account to an identity, or pin it as never matched."""
    body = {"never": True} if never else {"identity_id": identity_id}
    return _call("PUT", answers.Account, "/api/accounts/{}/match", account_id, body=body)


def unpin_account(account_id: Id) -> Call[None]:
    """Remove the pin, so that imports match the account again."""
    return _call("DELETE", type(None), "/api/accounts/{}/match", account_id)


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
    as_of: When | int | None = None,
) -> Call[Page[answers.RosterAccount]]:
    """List accounts across applications, now or as of a time or an import number."""
    flags = {"is_active": active, "leaver": leaver, "privileged": privileged}
    return _get(
        Page[answers.RosterAccount],
        "/api/accounts",
        application_id=application_id,
        match=match,
        identity_id=identity_id,
        search=search,
        dormant_days=dormant_days,
        as_of=as_of,
        **_flags(flags),
    )


def get_account(account_id: Id) -> Call[answers.AccountDetail]:
    """Show an account as it is now, or as it last was."""
    return _get(answers.AccountDetail, "/api/accounts/{}", account_id)


def get_account_access(account_id: Id, *, as_of: When | int | None = None) -> Call[answers.AccessOfAccount]:
    """Show what an account can do, matched or not, now or as of a time or an import, and why."""
    return _get(answers.AccessOfAccount, "/api/accounts/{}/access", account_id, as_of=as_of)


# Entitlements


def list_entitlements(
    *,
    application_id: Id | None = None,
    kind: str | None = None,
    search: str | None = None,
    risk_rating: str | None = None,
    privileged: bool | None = None,
    owner_id: Id | None = None,
    tag: str | None = None,
    as_of: When | int | None = None,
) -> Call[Page[answers.Entitlement]]:
    """List groups and permissions of all applications, now or as of a time or an import number."""
    return _get(
        Page[answers.Entitlement],
        "/api/entitlements",
        application_id=application_id,
        kind=kind,
        search=search,
        risk_rating=risk_rating,
        owner_id=owner_id,
        tag=tag,
        as_of=as_of,
        **_flags({"is_privileged": privileged}),
    )


def get_entitlement(entitlement_id: Id) -> Call[answers.EntitlementDetail]:
    """Show a group or a permission."""
    return _get(answers.EntitlementDetail, "/api/entitlements/{}", entitlement_id)


def curate_entitlement(entitlement_id: Id, **changes: Unpack[EntitlementChanges]) -> Call[answers.EntitlementDetail]:
    """Change the curated fields of an entitlement, such as explanation, owner and risk; "" clears a field."""
    return _call("PATCH", answers.EntitlementDetail, "/api/entitlements/{}", entitlement_id, body=changes)


def list_holders(entitlement_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.Holding]]:
    """List who holds an entitlement, directly or through groups, and why; now or as of a time or an import."""
    return _get(Page[answers.Holding], "/api/entitlements/{}/holders", entitlement_id, as_of=as_of)


def list_holder_history(entitlement_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.Holding]]:
    """List who held an entitlement since when and until when, newest first."""
    return _get(Page[answers.Holding], "/api/entitlements/{}/history", entitlement_id, as_of=as_of)


# Imports


def list_imports(*, application_id: Id | None = None) -> Call[Page[answers.ImportItem]]:
    """List imports, newest first."""
    return _get(Page[answers.ImportItem], "/api/application-imports", application_id=application_id)


def get_import(import_id: Id) -> Call[answers.Import]:
    """Show an import with its files, metrics and log."""
    return _get(answers.Import, "/api/application-imports/{}", import_id)


def upload_import(application_id: Id, files: Sequence[tuple[Id, Path]]) -> Call[answers.NewImport]:
    """Upload files by the id of their file group; `Client.upload` does it by name."""
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
    """Start a dry run of files by file group name; `Client.dry_run` waits for the result. `connector` is a draft."""
    return Call(
        method="POST",
        path=_filled("/api/applications/{}/dry-run", [application_id]),
        answer=answers.DryRun,
        files=files,
        form={"connector": msgspec.json.encode(connector).decode()} if connector else {},
    )


def get_dry_run(dry_run_id: Id) -> Call[answers.DryRun]:
    """Show a dry run: what an import of its files would do."""
    return _get(answers.DryRun, "/api/dry-runs/{}", dry_run_id)


def list_dry_run_changes(
    dry_run_id: Id, *, kind: str | None = None, change: str | None = None
) -> Call[Page[answers.Change]]:
    """List what an import of the files of a dry run would change, with values before and after."""
    return _get(Page[answers.Change], "/api/dry-runs/{}/changes", dry_run_id, kind=kind, change=change)


def list_dry_run_rejects(dry_run_id: Id) -> Call[Page[answers.Reject]]:
    """List the rows of a dry run that cannot be read, with their reasons."""
    return _get(Page[answers.Reject], "/api/dry-runs/{}/rejects", dry_run_id)


def propose_shapes(files: Sequence[tuple[str, Path]]) -> Call[answers.Proposal]:
    """Propose a connector that reads files, with the evidence for each part of it; nothing is stored."""
    return Call(method="POST", path="/api/file-shapes/propose", answer=answers.Proposal, files=files)


def list_connector_templates() -> Call[answers.ConnectorTemplates]:
    """List connectors to start an application with: saved ones, then those that ship with the service."""
    return _get(answers.ConnectorTemplates, "/api/connector-templates")


def save_connector_template(
    application_id: Id, name: str, *, description: str | None = None
) -> Call[answers.ConnectorTemplate]:
    """Save the connector of an application as a template for other applications."""
    return _post(
        answers.ConnectorTemplate,
        "/api/connector-templates",
        application_id=application_id,
        name=name,
        description=description,
    )


def delete_connector_template(template_id: Id) -> Call[None]:
    """Delete a saved connector template; applications that were made with it keep their connectors."""
    return _call("DELETE", type(None), "/api/connector-templates/{}", template_id)


def stage_import(application_id: Id) -> Call[answers.NewImport]:
    """Run an application's import schedule once, now."""
    return _post(answers.NewImport, "/api/application-imports/stage", application_id=application_id)


def cancel_import(import_id: Id) -> Call[answers.Import]:
    """Cancel an import."""
    return _post(answers.Import, "/api/application-imports/cancel", application_import_id=import_id)


def continue_import(import_id: Id) -> Call[answers.Import]:
    """Continue an import that its guard holds."""
    return _post(answers.Import, "/api/application-imports/{}/continue", import_id)


def list_changes(import_id: Id, *, kind: str | None = None, change: str | None = None) -> Call[Page[answers.Change]]:
    """List the changes of an import, with values before and after."""
    return _get(Page[answers.Change], "/api/application-imports/{}/changes", import_id, kind=kind, change=change)


def list_rejects(import_id: Id) -> Call[Page[answers.Reject]]:
    """List the rows that an import rejected, with their reasons."""
    return _get(Page[answers.Reject], "/api/application-imports/{}/rejects", import_id)


def download_file(import_id: Id, file_id: Id) -> Call[bytes]:
    """Download a file of an import as it was uploaded."""
    return _get(bytes, "/api/application-imports/{}/files/{}", import_id, file_id)


# Identities


def list_identities() -> Call[Page[answers.Identity]]:
    """List identities by name."""
    return _get(Page[answers.Identity], "/api/identities")


def search_identities(
    text: str | None = None,
    *,
    whole: bool = False,
    status: str | None = None,
    type: str | None = None,
    department: str | None = None,
) -> Call[Page[answers.Identity]]:
    """Find people by name or e-mail prefix, employee ID or id, or by status, type and department.

    `whole` matches complete names only.
    """
    given = {"q": text, "whole": "true" if whole else None, "status": status, "type": type, "department": department}
    return _get(Page[answers.Identity], "/api/identities/search", **given)


def get_identity(identity_id: Id) -> Call[answers.Identity]:
    """Show an identity."""
    return _get(answers.Identity, "/api/identities/{}", identity_id)


def get_access(identity_id: Id, *, as_of: When | int | None = None) -> Call[answers.EffectiveAccess]:
    """Show what an identity can do, now or as of a time or an import, and why."""
    return _get(answers.EffectiveAccess, "/api/identities/{}/access", identity_id, as_of=as_of)


# Personnel events


def list_events(
    *, identity_id: Id | None = None, type: str | None = None, status: str | None = None
) -> Call[Page[answers.EventItem]]:
    """List personnel events by effective date, newest first."""
    return _get(Page[answers.EventItem], "/api/personnel-events", identity_id=identity_id, type=type, status=status)


def get_event(event_id: Id) -> Call[answers.Event]:
    """Show a personnel event with its stages."""
    return _get(answers.Event, "/api/personnel-events/{}", event_id)


def onboard(
    *, effective_date: When, comment: str | None = None, **identity: Unpack[IdentityFields]
) -> Call[answers.Event]:
    """Onboard a person."""
    return _post(
        answers.Event,
        "/api/personnel-events/onboard",
        identity=_identity(identity),
        effective_date=effective_date,
        comment=comment,
    )


def offboard(identity_id: Id, *, effective_date: When, comment: str | None = None) -> Call[answers.Event]:
    """Offboard a person."""
    return _post(
        answers.Event,
        "/api/personnel-events/offboard",
        identity_id=identity_id,
        effective_date=effective_date,
        comment=comment,
    )


def transition_role(
    identity_id: Id,
    *,
    effective_date: When,
    end_date: When | None = None,
    comment: str | None = None,
    **identity: Unpack[IdentityFields],
) -> Call[answers.Event]:
    """Move a person to another role; with an end date they keep the old role's access until then."""
    return _post(
        answers.Event,
        "/api/personnel-events/role-transition",
        identity_id=identity_id,
        effective_date=effective_date,
        end_date=end_date,
        comment=comment,
        identity=_identity(identity) or None,
    )


def begin_absence(
    identity_id: Id, *, effective_date: When, end_date: When | None = None, comment: str | None = None
) -> Call[answers.Event]:
    """Begin a leave of absence."""
    return _post(
        answers.Event,
        "/api/personnel-events/leave-of-absence",
        identity_id=identity_id,
        effective_date=effective_date,
        end_date=end_date,
        comment=comment,
    )


def preview_event(
    type: str,
    *,
    identity_id: Id | None = None,
    effective_date: When,
    end_date: When | None = None,
    **identity: Unpack[IdentityFields],
) -> Call[answers.EventPreview]:
    """Preview the stages and requests of an event without storing anything."""
    return _post(
        answers.EventPreview,
        "/api/personnel-events/preview",
        type=type,
        identity_id=identity_id,
        effective_date=effective_date,
        end_date=end_date,
        identity=_identity(identity) or None,
    )


def assign_event(event_id: Id, assignee_id: Id) -> Call[answers.Event]:
    """Assign a personnel event to an identity."""
    return _post(answers.Event, "/api/personnel-events/{}/assign", event_id, assignee_id=assignee_id)


def set_return_date(event_id: Id, end_date: When) -> Call[answers.Event]:
    """Set the end of a leave of absence."""
    return _post(answers.Event, "/api/personnel-events/{}/return-date", event_id, end_date=end_date)


def cancel_event(event_id: Id, *, comment: str | None = None) -> Call[answers.Event]:
    """Cancel a personnel event and its unfinished requests."""
    return _post(answers.Event, "/api/personnel-events/{}/cancel", event_id, comment=comment)


def comment_on_event(event_id: Id, content: str) -> Call[answers.Event]:
    """Comment on a personnel event."""
    return _post(answers.Event, "/api/personnel-events/{}/comment", event_id, content=content)


# Access requests


def list_requests(
    *,
    identity_id: Id | None = None,
    application_id: Id | None = None,
    status: str | None = None,
    type: str | None = None,
) -> Call[Page[answers.AccessRequestItem]]:
    """List access requests, newest first."""
    return _get(
        Page[answers.AccessRequestItem],
        "/api/access-requests",
        identity_id=identity_id,
        application_id=application_id,
        status=status,
        type=type,
    )


def list_stalled_requests() -> Call[Page[answers.StalledRequest]]:
    """List requests that wait for people: for whom, how long and why."""
    return _get(Page[answers.StalledRequest], "/api/access-requests/stalled")


def list_leftovers() -> Call[Page[answers.Leftover]]:
    """List active accounts of leavers without an open Remove request."""
    return _get(Page[answers.Leftover], "/api/access-requests/leftovers")


def get_request(request_id: Id) -> Call[answers.AccessRequest]:
    """Show an access request with its privileges, requirements, activity and comments."""
    return _get(answers.AccessRequest, "/api/access-requests/{}", request_id)


def create_request(
    action: str,
    application_id: Id,
    *,
    identity_id: Id | None = None,
    group: str | None = None,
    target_name: str | None = None,
    privileges: Sequence[Access] | None = None,
    scheduled_start: When | None = None,
    comment: str | None = None,
) -> Call[answers.AccessRequest]:
    """Request to Add, Change, Remove, Suspend or Restore access of an identity or a group."""
    return _post(
        answers.AccessRequest,
        "/api/access-requests",
        action=action,
        application_id=application_id,
        identity_id=identity_id,
        group=group,
        target_name=target_name,
        privileges=privileges,
        scheduled_start=scheduled_start,
        comment=comment,
    )


def get_request_conflicts(request_id: Id) -> Call[answers.RequestConflicts]:
    """Show the conflicts of duties that an access request would create."""
    return _get(answers.RequestConflicts, "/api/access-requests/{}/conflicts", request_id)


def respond(
    request_id: Id,
    response: str,
    *,
    type: str = "Approve",
    reviewer_id: Id | None = None,
    approved_access: Sequence[Access] | None = None,
    comment: str | None = None,
) -> Call[answers.AccessRequest]:
    """Record a reviewer's response, Approved or Rejected, to a requirement of type Approve, Resolve or Verify."""
    return _post(
        answers.AccessRequest,
        "/api/access-requests/{}/respond",
        request_id,
        type=type,
        response=response,
        reviewer_id=reviewer_id,
        approved_access=approved_access,
        comment=comment,
    )


def assign_request(request_id: Id, assignee_id: Id, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Assign an access request to an identity."""
    return _post(
        answers.AccessRequest,
        "/api/access-requests/{}/assign",
        request_id,
        assignee_id=assignee_id,
        comment=comment,
    )


def resolve_request(request_id: Id, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Mark the access as provisioned."""
    return _post(answers.AccessRequest, "/api/access-requests/{}/resolve", request_id, comment=comment)


def verify_request(request_id: Id, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Mark the access as verified, which completes the request."""
    return _post(answers.AccessRequest, "/api/access-requests/{}/verify", request_id, comment=comment)


def reopen_request(request_id: Id, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Reopen a resolved request for provisioning."""
    return _post(answers.AccessRequest, "/api/access-requests/{}/reopen", request_id, comment=comment)


def snooze_request(request_id: Id, until: When, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Snooze an open request until a time."""
    return _post(answers.AccessRequest, "/api/access-requests/{}/snooze", request_id, until=until, comment=comment)


def resume_request(request_id: Id, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Resume a snoozed request."""
    return _post(answers.AccessRequest, "/api/access-requests/{}/resume", request_id, comment=comment)


def cancel_request(request_id: Id, *, comment: str | None = None) -> Call[answers.AccessRequest]:
    """Cancel an access request."""
    return _post(answers.AccessRequest, "/api/access-requests/{}/cancel", request_id, comment=comment)


def comment_on_request(request_id: Id, content: str) -> Call[answers.AccessRequest]:
    """Comment on an access request."""
    return _post(answers.AccessRequest, "/api/access-requests/{}/comment", request_id, content=content)


# Access models


def list_models() -> Call[Page[answers.AccessModelItem]]:
    """List access models by name."""
    return _get(Page[answers.AccessModelItem], "/api/access-models")


def get_model(model_id: Id) -> Call[answers.AccessModel]:
    """Show an access model: its committed version and its draft."""
    return _get(answers.AccessModel, "/api/access-models/{}", model_id)


def create_model(name: str, **fields: Unpack[ModelFields]) -> Call[answers.AccessModel]:
    """Draft an access model; nothing takes effect before it is committed."""
    return _call("POST", answers.AccessModel, "/api/access-models", body={"name": name, **fields})


def change_model(model_id: Id, **fields: Unpack[ModelChanges]) -> Call[answers.AccessModel]:
    """Change the given fields in the draft of an access model."""
    return _call("PATCH", answers.AccessModel, "/api/access-models/{}", model_id, body=fields)


def list_members(model_id: Id) -> Call[Page[answers.Identity]]:
    """List the identities that the committed model matches."""
    return _get(Page[answers.Identity], "/api/access-models/{}/members", model_id)


def simulate_model(model_id: Id, *, page: int = 1) -> Call[answers.Simulation]:
    """Simulate committing the draft: who would gain and lose which access."""
    return _post(answers.Simulation, "/api/access-models/{}/simulate", model_id, page=page)


def commit_model(model_id: Id, *, allow_unknown: bool = False) -> Call[answers.AccessModel]:
    """Commit the draft as the next version; it takes effect at once.

    `allow_unknown` commits names of groups and permissions that the applications do not have.
    """
    return _post(answers.AccessModel, "/api/access-models/{}/commit", model_id, allow_unknown=allow_unknown)


# Separation of duties


def list_duties() -> Call[Page[answers.DutyItem]]:
    """List duties by name."""
    return _get(Page[answers.DutyItem], "/api/duties")


def get_duty(duty_id: Id) -> Call[answers.Duty]:
    """Show a duty, what its patterns match, and the rules that name it."""
    return _get(answers.Duty, "/api/duties/{}", duty_id)


def create_duty(name: str, **fields: Unpack[DutyFields]) -> Call[answers.Duty]:
    """Create a duty from patterns over entitlements."""
    return _call("POST", answers.Duty, "/api/duties", body={"name": name, **fields})


def change_duty(duty_id: Id, **fields: Unpack[DutyChanges]) -> Call[answers.Duty]:
    """Change the given fields of a duty; conflicts follow at once."""
    return _call("PATCH", answers.Duty, "/api/duties/{}", duty_id, body=fields)


def delete_duty(duty_id: Id) -> Call[None]:
    """Delete a duty that no rule names."""
    return _call("DELETE", type(None), "/api/duties/{}", duty_id)


def list_duty_holders(duty_id: Id, *, as_of: When | int | None = None) -> Call[Page[answers.DutyHolder]]:
    """List who holds a duty and by which access; now or as of a time or an import."""
    return _get(Page[answers.DutyHolder], "/api/duties/{}/holders", duty_id, as_of=as_of)


def list_duty_rules() -> Call[Page[answers.DutyRuleItem]]:
    """List rules by name, with their numbers of conflicts."""
    return _get(Page[answers.DutyRuleItem], "/api/duty-rules")


def get_duty_rule(rule_id: Id) -> Call[answers.DutyRule]:
    """Show a rule: its committed version and its draft."""
    return _get(answers.DutyRule, "/api/duty-rules/{}", rule_id)


def create_duty_rule(name: str, *, conflicts: Sequence[Id], **fields: Unpack[DutyRuleFields]) -> Call[answers.DutyRule]:
    """Draft a rule that keeps duties apart; nothing takes effect before it is committed."""
    return _call("POST", answers.DutyRule, "/api/duty-rules", body={"name": name, "conflicts": conflicts, **fields})


def change_duty_rule(rule_id: Id, **fields: Unpack[DutyRuleChanges]) -> Call[answers.DutyRule]:
    """Change the given fields in the draft of a rule."""
    return _call("PATCH", answers.DutyRule, "/api/duty-rules/{}", rule_id, body=fields)


def simulate_duty_rule(rule_id: Id, *, page: int = 1) -> Call[answers.RuleSimulation]:
    """Simulate committing the draft: who would be in conflict, since when and by what."""
    return _post(answers.RuleSimulation, "/api/duty-rules/{}/simulate", rule_id, page=page)


def commit_duty_rule(rule_id: Id) -> Call[answers.DutyRule]:
    """Commit the draft as the next version; it takes effect at once."""
    return _post(answers.DutyRule, "/api/duty-rules/{}/commit", rule_id)


def list_conflicts(
    *,
    status: str | None = None,
    rule_id: Id | None = None,
    identity_id: Id | None = None,
    as_of: When | int | None = None,
) -> Call[Page[answers.ConflictItem]]:
    """List conflicts, newest first; now, or those at a time or after an import."""
    return _get(
        Page[answers.ConflictItem],
        "/api/conflicts",
        status=status,
        rule_id=rule_id,
        identity_id=identity_id,
        as_of=as_of,
    )


def get_conflict(conflict_id: Id) -> Call[answers.ConflictDetail]:
    """Show a conflict with the access on each side."""
    return _get(answers.ConflictDetail, "/api/conflicts/{}", conflict_id)


def list_conflict_exceptions(*, status: str | None = None) -> Call[Page[answers.ConflictException]]:
    """List exceptions with their controls, newest first."""
    return _get(Page[answers.ConflictException], "/api/conflicts/exceptions", status=status)


def ask_for_exception(
    conflict_id: Id, *, reason: str, control: str, control_owner_id: Id, until: When
) -> Call[answers.ConflictDetail]:
    """Ask for an exception of a conflict, under a control and with an end."""
    return _post(
        answers.ConflictDetail,
        "/api/conflicts/{}/except",
        conflict_id,
        reason=reason,
        control=control,
        control_owner_id=control_owner_id,
        until=until,
    )


def approve_exception(
    conflict_id: Id, *, approver_id: Id | None = None, comment: str | None = None
) -> Call[answers.ConflictDetail]:
    """Approve the exception that was asked for; it needs the rule's owner and one more."""
    return _post(
        answers.ConflictDetail, "/api/conflicts/{}/approve", conflict_id, approver_id=approver_id, comment=comment
    )


def withdraw_exception(conflict_id: Id, *, comment: str | None = None) -> Call[answers.ConflictDetail]:
    """Withdraw or reject the exception that was asked for, or end the one in force."""
    return _post(answers.ConflictDetail, "/api/conflicts/{}/withdraw", conflict_id, comment=comment)


# Webhooks


def list_webhooks() -> Call[Page[answers.Webhook]]:
    """List webhooks by name."""
    return _get(Page[answers.Webhook], "/api/webhooks")


def get_webhook(webhook_id: Id) -> Call[answers.Webhook]:
    """Show a webhook."""
    return _get(answers.Webhook, "/api/webhooks/{}", webhook_id)


def create_webhook(
    name: str, url: str, *, events: Sequence[str], application_id: Id | None = None, enabled: bool = True
) -> Call[answers.WebhookWithSecret]:
    """Create a webhook. The response contains its secret, which is never shown again."""
    return _post(
        answers.WebhookWithSecret,
        "/api/webhooks",
        name=name,
        url=url,
        events=events,
        application_id=application_id,
        enabled=enabled,
    )


def change_webhook(webhook_id: Id, **fields: Unpack[WebhookChanges]) -> Call[answers.Webhook]:
    """Change the given fields; disabling a webhook parks its waiting deliveries."""
    return _call("PATCH", answers.Webhook, "/api/webhooks/{}", webhook_id, body=fields)


def delete_webhook(webhook_id: Id) -> Call[None]:
    """Delete a webhook; its deliveries can still be read."""
    return _call("DELETE", type(None), "/api/webhooks/{}", webhook_id)


def test_webhook(webhook_id: Id) -> Call[answers.WebhookDelivery]:
    """Send a sample delivery once."""
    return _post(answers.WebhookDelivery, "/api/webhooks/{}/test", webhook_id)


def rotate_secret(webhook_id: Id) -> Call[answers.WebhookWithSecret]:
    """Replace the secret; the old one also signs for 24 hours."""
    return _post(answers.WebhookWithSecret, "/api/webhooks/{}/rotate-secret", webhook_id)


def recover_webhook(webhook_id: Id, since: When) -> Call[answers.Webhook]:
    """Send again every undelivered delivery since a time."""
    return _post(answers.Webhook, "/api/webhooks/{}/recover", webhook_id, since=since)


def list_deliveries(
    *, webhook_id: Id | None = None, access_request_id: Id | None = None, status: str | None = None
) -> Call[Page[answers.WebhookDeliveryItem]]:
    """List deliveries, newest first."""
    return _get(
        Page[answers.WebhookDeliveryItem],
        "/api/webhook-deliveries",
        webhook_id=webhook_id,
        access_request_id=access_request_id,
        status=status,
    )


def get_delivery(delivery_id: Id) -> Call[answers.WebhookDelivery]:
    """Show a delivery with its body, attempts and callbacks."""
    return _get(answers.WebhookDelivery, "/api/webhook-deliveries/{}", delivery_id)


def resend_delivery(delivery_id: Id) -> Call[answers.WebhookDelivery]:
    """Send a delivery again under the same id."""
    return _post(answers.WebhookDelivery, "/api/webhook-deliveries/{}/resend", delivery_id)


# Stand-ins


def list_stand_ins(*, identity_id: Id | None = None, stand_in_id: Id | None = None) -> Call[Page[answers.StandIn]]:
    """List stand-ins that were named, newest first."""
    return _get(Page[answers.StandIn], "/api/stand-ins", identity_id=identity_id, stand_in_id=stand_in_id)


def create_stand_in(
    stand_in_id: Id,
    *,
    ends_on: When,
    starts_on: When | None = None,
    identity_id: Id | None = None,
    type: str | None = None,
    comment: str | None = None,
) -> Call[answers.StandIn]:
    """Name the person who responds for you, or for another person, for a time."""
    return _post(
        answers.StandIn,
        "/api/stand-ins",
        stand_in_id=stand_in_id,
        ends_on=ends_on,
        starts_on=starts_on,
        identity_id=identity_id,
        type=type,
        comment=comment,
    )


def end_stand_in(id: Id) -> Call[None]:
    """End a stand-in now, or delete one that has not started."""
    return _call("DELETE", type(None), "/api/stand-ins/{}", id)


# Notifications


def list_notifications(*, is_read: str | None = None) -> Call[Page[answers.Notification]]:
    """List your notifications, newest first."""
    return _get(Page[answers.Notification], "/api/notifications", is_read=is_read)


def mark_notification(notification_id: Id, *, is_read: bool = True) -> Call[None]:
    """Mark one of your notifications as read or unread."""
    return _call("PATCH", type(None), "/api/notifications/{}", notification_id, body={"is_read": is_read})


def mark_all_notifications() -> Call[None]:
    """Mark all your notifications as read."""
    return _post(type(None), "/api/notifications/read")


def get_notification_preferences() -> Call[answers.NotificationPreferences]:
    """Show your channel and rhythm for each kind of notification."""
    return _get(answers.NotificationPreferences, "/api/notification-preferences")


def change_notification_preferences(
    **fields: Unpack[NotificationPreferenceChanges],
) -> Call[answers.NotificationPreferences]:
    """Change your channels and rhythms; a kind without channel and rhythm follows the default again."""
    return _call("PATCH", answers.NotificationPreferences, "/api/notification-preferences", body=fields)


def get_notification_settings() -> Call[answers.NotificationSettings]:
    """Show the settings of notifications and the health of each channel."""
    return _get(answers.NotificationSettings, "/api/notification-settings")


def change_notification_settings(
    **fields: Unpack[NotificationSettingsChanges],
) -> Call[answers.NotificationSettings]:
    """Change the given settings of notifications."""
    return _call("PATCH", answers.NotificationSettings, "/api/notification-settings", body=fields)


def preview_notification_template(kind: str, *, subject: str, body: str) -> Call[answers.NotificationPreview]:
    """Show a template with example facts, or what is wrong with it."""
    return _post(
        answers.NotificationPreview, "/api/notification-settings/preview", kind=kind, subject=subject, body=body
    )


def try_notifications(address: str = "", *, channel: str = "Email") -> Call[answers.NotificationTest]:
    """Send a test message at once and show the response of the server."""
    return _post(answers.NotificationTest, "/api/notification-settings/test", address=address, channel=channel)


def list_notification_messages(*, outcome: str | None = None) -> Call[Page[answers.NotificationMessageItem]]:
    """List the messages that were sent, newest first."""
    return _get(Page[answers.NotificationMessageItem], "/api/notification-messages", outcome=outcome)


def get_notification_message(message_id: Id) -> Call[answers.NotificationMessage]:
    """Show one message as it was sent."""
    return _get(answers.NotificationMessage, "/api/notification-messages/{}", message_id)


# Tokens and settings


def list_tokens() -> Call[Page[answers.Token]]:
    """List tokens, newest first."""
    return _get(Page[answers.Token], "/api/tokens")


def create_token(
    name: str, *, scopes: Sequence[str] | None = None, expires_in_days: int | None = 90
) -> Call[answers.TokenWithSecret]:
    """Create a token; it never expires if `expires_in_days` is None. The response contains its secret, only here."""
    body: Json = {"name": name, "expires_in_days": expires_in_days} | ({"scopes": scopes} if scopes else {})
    return _call("POST", answers.TokenWithSecret, "/api/tokens", body=body)


def revoke_token(token_id: Id) -> Call[None]:
    """Revoke a token, with effect on the next request."""
    return _call("DELETE", type(None), "/api/tokens/{}", token_id)


def get_settings() -> Call[Json]:
    """Show the settings."""
    return _get(dict[str, Any], "/api/settings")


def change_settings(**fields: Unpack[SettingsChanges]) -> Call[Json]:
    """Change the given settings."""
    return _call("PATCH", dict[str, Any], "/api/settings", body=fields)


def get_configuration() -> Call[Json]:
    """Show the configuration of the service, as a configuration file holds it."""
    return _get(dict[str, Any], "/api/configuration")


def plan_configuration(configuration: Json) -> Call[answers.ConfigurationChanges]:
    """Show what applying a configuration would change."""
    return Call(method="POST", path="/api/configuration/plan", answer=answers.ConfigurationChanges, body=configuration)


def apply_configuration(configuration: Json) -> Call[answers.ConfigurationChanges]:
    """Apply a configuration, all or nothing."""
    return Call(method="PUT", path="/api/configuration", answer=answers.ConfigurationChanges, body=configuration)


# Audit


def list_audit_events(
    *,
    entity_id: Id | None = None,
    caller_id: Id | None = None,
    action: str | None = None,
    from_: str | None = None,
    until: str | None = None,
) -> Call[Page[answers.AuditEvent]]:
    """List who changed what, newest first."""
    filters = {"entity_id": entity_id, "caller_id": caller_id, "action": action, "from": from_, "until": until}
    return _get(Page[answers.AuditEvent], "/api/audit-events", **filters)


def verify_audit_events() -> Call[answers.AuditVerdict]:
    """Verify the audit hash chain, entry by entry."""
    return _get(answers.AuditVerdict, "/api/audit-events/verify")


# Exports


def list_exports() -> Call[Page[answers.Export]]:
    """List exports, the newest first."""
    return _get(Page[answers.Export], "/api/exports")


def get_export(export_id: Id) -> Call[answers.Export]:
    """Get the manifest of an export: who, when, filters, row count and SHA-256."""
    return _get(answers.Export, "/api/exports/{}", export_id)


# Reports


def list_reports() -> Call[Page[answers.Report]]:
    """List reports by name, each with its last run."""
    return _get(Page[answers.Report], "/api/reports")


def get_report(report_id: Id) -> Call[answers.Report]:
    """Show a report."""
    return _get(answers.Report, "/api/reports/{}", report_id)


def create_report(name: str, list: str, **fields: Unpack[ReportFields]) -> Call[answers.Report]:
    """Save a report: a list with filters, columns, a period, a format and perhaps a schedule."""
    return _call("POST", answers.Report, "/api/reports", body={"name": name, "list": list, **fields})


def change_report(report_id: Id, **fields: Unpack[ReportChanges]) -> Call[answers.Report]:
    """Change the given fields of a report."""
    return _call("PATCH", answers.Report, "/api/reports/{}", report_id, body=fields)


def delete_report(report_id: Id) -> Call[None]:
    """Delete a report; its runs can still be read."""
    return _call("DELETE", type(None), "/api/reports/{}", report_id)


def run_report(report_id: Id, *, format: str | None = None, filters: Json | None = None) -> Call[bytes]:
    """Run a report and get the file; `filters` replace those of the report."""
    given = {"format": format, "filters": filters}
    body = {name: value for name, value in given.items() if value is not None}
    return _call("POST", bytes, "/api/reports/{}/run", report_id, body=body)


def write_report(report_id: Id) -> Call[answers.Export]:
    """Write a scheduled report to its location now; a worker carries it out."""
    return _post(answers.Export, "/api/reports/{}/write", report_id)


def list_report_runs(report_id: Id) -> Call[Page[answers.Export]]:
    """List the runs of a report, the newest first."""
    return _get(Page[answers.Export], "/api/reports/{}/runs", report_id)
