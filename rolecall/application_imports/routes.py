from datetime import datetime
from typing import Any

from litestar import Router
from litestar.response.base import ASGIResponse

from rolecall.application_imports import actions, changes, queries
from rolecall.application_imports.model import ChangeType, RecordKind
from rolecall.application_imports.shapes import (
    CancelImportBody,
    ChangeItem,
    ImportDetail,
    ImportItem,
    RejectItem,
    RollbackBody,
    StageBody,
    UploadBody,
)
from rolecall.applications.shapes import Import
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import NotFound
from rolecall.core.files import Upload
from rolecall.core.ids import known_guid
from rolecall.core.paging import Page
from rolecall.web.bodies import AnyRequest, a_guid, a_word_of
from rolecall.web.downloads import send_file
from rolecall.web.operations import operation
from rolecall.web.uploads import read_upload

_SPECIFIED = ("Access governance",)
_ADDED = ("Administration",)
CHANGE_FILTERS = {"kind": a_word_of(RecordKind), "change": a_word_of(ChangeType)}


@operation(
    "POST",
    "/upload",
    scope=Scope.IMPORTS_WRITE,
    status=201,
    body=UploadBody,
    read_body=read_upload,
    query={"applicationId": a_guid},
    tags=_SPECIFIED,
)
async def upload_import(
    db: Db, caller: Caller, raw: Upload, facts: Facts, request: AnyRequest, config: Config
) -> Import:
    """Upload files and stage an import.

    Name the application in the query or in the form.
    For an identity source, the scope `identities:write` is needed as well.
    """
    queried = request.query_params.getall("applicationId", [])
    return await queries.get_alone(db, await actions.upload_import(db, caller, raw, queried, facts, config.store))


@operation("POST", "/stage", scope=Scope.IMPORTS_WRITE, status=201, body=StageBody, tags=_SPECIFIED)
async def stage_import(db: Db, caller: Caller, raw: Json, facts: Facts) -> Import:
    """Stage an import from the scheduled files or the live source of an application.

    For an identity source, the scope `identities:write` is needed as well.
    """
    return await queries.get_alone(db, await actions.stage_import(db, caller, raw, facts))


@operation("POST", "/cancel", scope=Scope.IMPORTS_WRITE, body=CancelImportBody, tags=_SPECIFIED)
async def cancel_import(db: Db, caller: Caller, raw: Json, facts: Facts) -> ImportDetail:
    """Cancel an import.

    Its status is Canceling until a worker has stopped it. For an identity source, the scope `identities:write` is
    needed as well.
    """
    return await queries.get(db, await actions.cancel_import(db, caller, raw, facts))


@operation("GET", "/", scope=Scope.IMPORTS_READ, query={"applicationId": a_guid}, tags=_SPECIFIED)
async def list_imports(db: Db, query: dict[str, Any]) -> Page[ImportItem]:
    """List imports: first those that wait to start, then the others by start, newest first.

    An import that was canceled before it started is listed at the time of its cancellation.
    """
    return await queries.newest_first(db, query["page"], query.get("applicationId"))


@operation("GET", "/{id:str}", scope=Scope.IMPORTS_READ, tags=_SPECIFIED)
async def get_import(db: Db, id: str) -> ImportDetail:
    """Get one import."""
    return await queries.get(db, known_guid("ApplicationImport", id))


@operation("GET", "/{id:str}/files/{file_id:str}", scope=Scope.IMPORTS_READ, tags=_ADDED)
async def download_file(db: Db, id: str, request: AnyRequest, config: Config) -> ASGIResponse:
    """Download a file of an import as it was received."""
    file_id = known_guid("ImportFile", request.path_params["file_id"])
    file = await queries.file_of(db, known_guid("ApplicationImport", id), file_id)
    try:
        return await send_file(config.store, file.location, file.size, file.name)
    except FileNotFoundError:
        raise NotFound("ImportFile", file_id) from None


@operation("GET", "/{id:str}/changes", scope=Scope.IMPORTS_READ, query=CHANGE_FILTERS, tags=_ADDED)
async def list_changes(db: Db, id: str, query: dict[str, Any]) -> Page[ChangeItem]:
    """List the changes of an import, with the values before and after."""
    import_id = known_guid("ApplicationImport", id)
    return await changes.changes_of(db, import_id, query["page"], query.get("kind"), query.get("change"))


@operation("GET", "/{id:str}/rejects", scope=Scope.IMPORTS_READ, query={}, tags=_ADDED)
async def list_rejects(db: Db, id: str, query: dict[str, Any]) -> Page[RejectItem]:
    """List the rows that an import rejected, each with the reason."""
    return await queries.rejects_of(db, known_guid("ApplicationImport", id), query["page"])


@operation("POST", "/{id:str}/continue", scope=Scope.IMPORTS_WRITE, tags=_ADDED)
async def continue_import(db: Db, caller: Caller, id: str, now: datetime) -> ImportDetail:
    """Continue a held import: lift the guard for this import only.

    For an identity source, the scope `identities:write` is needed as well. For an import that lowers high risk ratings,
    `config:manage` is needed, and the caller must not have supplied its data.
    """
    import_id = known_guid("ApplicationImport", id)
    await actions.continue_import(db, caller, import_id, now)
    return await queries.get(db, import_id)


@operation("POST", "/{id:str}/rollback", scope=Scope.IMPORTS_WRITE, status=201, body=RollbackBody, tags=_ADDED)
async def roll_back(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> Import:
    """Stage an import that restores an application's data as it was after an earlier import.

    For an identity source, the scope `identities:write` is needed as well.
    """
    application_id = known_guid("Application", id)
    return await queries.get_alone(db, await actions.roll_back(db, caller, application_id, raw, facts))


rollbacks = Router("/api/applications", route_handlers=[roll_back])
router = Router(
    "/api/application-imports",
    route_handlers=[
        upload_import,
        stage_import,
        cancel_import,
        list_imports,
        get_import,
        download_file,
        list_changes,
        list_rejects,
        continue_import,
    ],
)
