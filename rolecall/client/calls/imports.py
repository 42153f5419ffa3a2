"""Calls about imports."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id


def list_imports(*, application_id: Id | None = None) -> Call[Page[answers.ImportItem]]:
    """List imports, newest first."""
    return describe.get(Page[answers.ImportItem], "/api/application-imports", application_id=application_id)


def get_import(import_id: Id) -> Call[answers.Import]:
    """Show an import with its files, metrics and log."""
    return describe.get(answers.Import, "/api/application-imports/{}", import_id)


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
        path=describe.filled("/api/applications/{}/dry-run", [application_id]),
        answer=answers.DryRun,
        files=files,
        form={"connector": msgspec.json.encode(connector).decode()} if connector else {},
    )


def get_dry_run(dry_run_id: Id) -> Call[answers.DryRun]:
    """Show a dry run: what an import of its files would do."""
    return describe.get(answers.DryRun, "/api/dry-runs/{}", dry_run_id)


def list_dry_run_changes(
    dry_run_id: Id, *, kind: str | None = None, change: str | None = None
) -> Call[Page[answers.Change]]:
    """List what an import of the files of a dry run would change, with values before and after."""
    return describe.get(Page[answers.Change], "/api/dry-runs/{}/changes", dry_run_id, kind=kind, change=change)


def list_dry_run_rejects(dry_run_id: Id) -> Call[Page[answers.Reject]]:
    """List the rows of a dry run that cannot be read, with their reasons."""
    return describe.get(Page[answers.Reject], "/api/dry-runs/{}/rejects", dry_run_id)


def propose_shapes(files: Sequence[tuple[str, Path]]) -> Call[answers.Proposal]:
    """Propose a connector that reads files, with the evidence for each part of it; nothing is stored."""
    return Call(method="POST", path="/api/file-shapes/propose", answer=answers.Proposal, files=files)


def list_connector_templates() -> Call[answers.ConnectorTemplates]:
    """List connectors to start an application with: saved ones, then those that ship with the service."""
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
    """Delete a saved connector template; applications that were made with it keep their connectors."""
    return describe.call("DELETE", type(None), "/api/connector-templates/{}", template_id)


def stage_import(application_id: Id) -> Call[answers.NewImport]:
    """Run an application's import schedule once, now."""
    return describe.post(answers.NewImport, "/api/application-imports/stage", application_id=application_id)


def cancel_import(import_id: Id) -> Call[answers.Import]:
    """Cancel an import."""
    return describe.post(answers.Import, "/api/application-imports/cancel", application_import_id=import_id)


def continue_import(import_id: Id) -> Call[answers.Import]:
    """Continue an import that its guard holds."""
    return describe.post(answers.Import, "/api/application-imports/{}/continue", import_id)


def list_changes(import_id: Id, *, kind: str | None = None, change: str | None = None) -> Call[Page[answers.Change]]:
    """List the changes of an import, with values before and after."""
    return describe.get(
        Page[answers.Change], "/api/application-imports/{}/changes", import_id, kind=kind, change=change
    )


def list_rejects(import_id: Id) -> Call[Page[answers.Reject]]:
    """List the rows that an import rejected, with their reasons."""
    return describe.get(Page[answers.Reject], "/api/application-imports/{}/rejects", import_id)


def download_file(import_id: Id, file_id: Id) -> Call[bytes]:
    """Download a file of an import as it was uploaded."""
    return describe.get(bytes, "/api/application-imports/{}/files/{}", import_id, file_id)
