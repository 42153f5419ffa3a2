from typing import Any

from litestar import Router

from rolecall.application_imports.dry_runs import actions, queries
from rolecall.application_imports.dry_runs.shapes import DryRunDetail
from rolecall.application_imports.routes import CHANGE_FILTERS
from rolecall.application_imports.shapes import ChangeItem, RejectItem, TryBody
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.files import Upload
from rolecall.core.ids import known_guid
from rolecall.core.paging import Page
from rolecall.web.operations import operation
from rolecall.web.uploads import read_upload

_TAGS = ("Administration",)


@operation(
    "POST",
    "/{id:str}/dry-run",
    scope=Scope.IMPORTS_WRITE,
    status=201,
    body=TryBody,
    read_body=read_upload,
    tags=_TAGS,
)
async def start_dry_run(db: Db, caller: Caller, id: str, raw: Upload, facts: Facts, config: Config) -> DryRunDetail:
    """Start a dry run: find out what an import of files would do, without changing anything.

    Send files as for an upload, in form fields with the ID or the name of a file group. The form field `connector`, a
    JSON object, is used instead of the application's connector; the scope `config:manage` is needed to send it. For an
    identity source, `identities:write` is needed as well. Poll the dry run until its status is Finished or Failed; it
    is removed after a day.
    """
    application_id = known_guid("Application", id)
    dry_run = await actions.start_dry_run(db, caller, application_id, raw, facts, config.store)
    return await queries.get(db, dry_run, caller)


@operation("GET", "/{id:str}", scope=Scope.IMPORTS_READ, tags=_TAGS)
async def get_dry_run(db: Db, caller: Caller, id: str) -> DryRunDetail:
    """Get one of your dry runs: its progress and, when it has finished, what an import would do."""
    return await queries.get(db, known_guid("DryRun", id), caller)


@operation("GET", "/{id:str}/changes", scope=Scope.IMPORTS_READ, query=CHANGE_FILTERS, tags=_TAGS)
async def list_dry_run_changes(db: Db, caller: Caller, id: str, query: dict[str, Any]) -> Page[ChangeItem]:
    """List the changes that an import of the files would make, with the values before and after."""
    dry_run = known_guid("DryRun", id)
    return await queries.changes_of(db, dry_run, caller, query["page"], query.get("kind"), query.get("change"))


@operation("GET", "/{id:str}/rejects", scope=Scope.IMPORTS_READ, query={}, tags=_TAGS)
async def list_dry_run_rejects(db: Db, caller: Caller, id: str, query: dict[str, Any]) -> Page[RejectItem]:
    """List the rows that the dry run rejected, each with the reason."""
    return await queries.rejects_of(db, known_guid("DryRun", id), caller, query["page"])


dry_runs_of_applications = Router("/api/applications", route_handlers=[start_dry_run])
router = Router("/api/dry-runs", route_handlers=[get_dry_run, list_dry_run_changes, list_dry_run_rejects])
