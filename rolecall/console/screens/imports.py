import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Any
from uuid import UUID

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from rolecall.application_imports import actions, changes, queries
from rolecall.application_imports.model import (
    ChangeType,
    ImportStatus,
    ImportType,
    ReadProgress,
    RecordKind,
    Tallies,
)
from rolecall.application_imports.read.accounting import warnings_in
from rolecall.applications import queries as applications
from rolecall.applications.permitted import may_import, require_import_right
from rolecall.console import overview
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.forms import problems_by_field
from rolecall.console.frame import screen
from rolecall.console.inputs import one_among
from rolecall.console.streams import LOOK, LOOK_EVERY, RETRY, STREAM_LOOKS, stream_response
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool
from rolecall.core.errors import Invalid, NotFound
from rolecall.core.files import Upload
from rolecall.core.ids import known_guid
from rolecall.identities.authority import IMPORT, RecordType
from rolecall.sources import queries as sources
from rolecall.web.bodies import AnyRequest, a_word_of
from rolecall.web.downloads import send_file
from rolecall.web.uploads import read_upload

ENDED = {ImportStatus.FINISHED, ImportStatus.FAILED, ImportStatus.CANCELED}


@screen("GET", "/imports", scope=Scope.IMPORTS_READ, query={"only": one_among("troubled")})
async def show_imports(db: Db, query: dict[str, Any], now: datetime) -> HtmlPage:
    if query.get("only"):
        return HtmlPage("troubled_imports.html", {"imports": await overview.troubled_imports(db, now)})
    page = await queries.newest_first(db, query["page"], None)
    return HtmlPage("imports.html", {"page": page, "query": query, "held": await console.held_imports(db)})


@screen(
    "GET",
    "/imports/{id:str}",
    scope=Scope.IMPORTS_READ,
    limits=RecordType.IMPORT,
    query={"kind": a_word_of(RecordKind), "change": a_word_of(ChangeType)},
)
async def show_import(db: Db, caller: Caller, id: str, query: dict[str, Any]) -> HtmlPage:
    run = await queries.get(db, known_guid("ApplicationImport", id))
    log, lines = await console.log_after(db, run.id, 0), (run.log or "").splitlines()
    hold = await queries.hold_of(db, run.id, caller.id)
    is_source = await queries.is_of_identity_source(db, run.id)
    return HtmlPage(
        "import.html",
        {
            "run": run,
            "may_import": may_import(caller, is_identity_source=is_source),
            "is_identity_source": is_source,
            "log": log,
            "log_length": len(lines),
            "warnings": warnings_in(lines),
            "page": await changes.changes_of(db, run.id, query["page"], query.get("kind"), query.get("change")),
            "query": query,
            "kinds": list(RecordKind),
            "changes": list(ChangeType),
            "files": await console.files_of(db, run.id),
            "held": hold.reason if hold else None,
            "foreseen": await changes.previewed_counts(db, run.id) if hold else {},
            "why_not_continued": _why_not_continued(hold, caller) if hold else None,
            "is_live_source": await sources.find(db, run.application.id) is not None,
            "failure": await queries.failure_of(db, run.id),
            "is_current": await queries.is_current(db, run.id),
            "access_changes": _of_access(await changes.counts_of(db, run.id)),
            "is_over": ImportStatus(run.status) in ENDED,
            "progress": await queries.progress_of(db, run.id),
            "rejects": await queries.rejects_of(db, run.id, 1),
        },
    )


def _of_access(counts: Tallies) -> Tallies:
    """Return the changes of memberships and assignments, which the metrics of an import do not count."""
    return {kind: counts[kind] for kind in (RecordKind.MEMBERSHIP, RecordKind.ASSIGNMENT) if kind in counts}


def _why_not_continued(hold: queries.Hold, caller: Caller) -> str | None:
    """Return why this person must not continue an import that lowers risk ratings; None if they may."""
    if not hold.lowers_risk:
        return None
    if Scope.CONFIG_MANAGE not in caller.scopes:
        return "An administrator must continue this import, because it lowers risk ratings"
    return actions.OWN_RATINGS if hold.is_own else None


@screen("GET", "/imports/{id:str}/log", scope=Scope.IMPORTS_READ, limits=RecordType.IMPORT)
async def stream_log(db: Db, id: str, pool: Pool, request: AnyRequest) -> ASGIResponse:
    """Stream the log from the database as server-sent events; any process can continue a stream."""
    run = await queries.get(db, known_guid("ApplicationImport", id))
    # A browser that reconnects sends the number of the last line that it received.
    last = request.headers.get("last-event-id", request.query_params.get("after", ""))
    # Read at most 18 digits, which fit into a bigint.
    known = int(last[:18]) if last.isascii() and last.isdecimal() else 0
    shown = request.query_params.get("status", run.status)
    progress = await queries.progress_of(db, run.id)
    return stream_response(_log_events(pool, run.id, shown, known, progress))


async def _log_events(
    pool: Pool, id: UUID, shown: str, known: int, progress: ReadProgress | None
) -> AsyncGenerator[bytes]:
    """Yield each log line with its number as event id, and the event `look` if the page is out of date."""
    yield RETRY
    for _ in range(STREAM_LOOKS):
        async with pool.connection() as db:
            now = await queries.status_of(db, id)
            held = await console.why_held(db, id)
            lines = await console.log_after(db, id, known)
            read = await queries.progress_of(db, id)
        for number, line in lines:
            known = number
            # A line break would end the field `data`.
            yield f"id: {number}\ndata: {' '.join(line.splitlines())}\n\n".encode()
        if now != shown or held or read != progress:
            yield LOOK
            return
        await asyncio.sleep(LOOK_EVERY)


@screen("GET", "/imports/{id:str}/files/{file:str}", scope=Scope.IMPORTS_READ, limits=RecordType.IMPORT)
async def download(db: Db, id: str, request: AnyRequest, config: Config) -> ASGIResponse:
    file_id = request.path_params["file"]
    file = await queries.file_of(db, known_guid("ApplicationImport", id), known_guid("ImportFile", file_id))
    try:
        return await send_file(config.store, file.location, file.size, file.name)
    except FileNotFoundError:
        raise NotFound("ImportFile", file_id) from None


@screen("POST", "/imports/{id:str}/cancel", scope=Scope.IMPORTS_WRITE, limits=RecordType.IMPORT, needs=IMPORT)
async def cancel_import(db: Db, caller: Caller, id: str, facts: Facts) -> SeeOther:
    await actions.cancel_import(db, caller, {"applicationImportId": id}, facts)
    return SeeOther(f"/imports/{id}", "The import is being canceled")


@screen("POST", "/imports/{id:str}/continue", scope=Scope.IMPORTS_WRITE, limits=RecordType.IMPORT, needs=IMPORT)
async def continue_import(db: Db, caller: Caller, id: str, now: datetime) -> SeeOther:
    await actions.continue_import(db, caller, known_guid("ApplicationImport", id), now)
    return SeeOther(f"/imports/{id}", "The import continues without the guard")


@screen("POST", "/imports/{id:str}/rollback", scope=Scope.IMPORTS_WRITE, limits=RecordType.IMPORT, needs=IMPORT)
async def roll_back(db: Db, caller: Caller, id: str, facts: Facts) -> SeeOther:
    run = await queries.get(db, known_guid("ApplicationImport", id))
    raw = {"importNumber": run.number}
    new = await actions.roll_back(db, caller, run.application.id, raw, facts, ImportType.MANUAL)
    return SeeOther(f"/imports/{new}", f"This new import restores the data as it was after import #{run.number}")


@screen("GET", "/applications/{id:str}/upload", scope=Scope.IMPORTS_WRITE, limits=RecordType.APPLICATION, needs=IMPORT)
async def show_upload(db: Db, caller: Caller, id: str, config: Config) -> HtmlPage:
    target = await queries.target(db, known_guid("Application", id))
    # Refuse here too, before the person chooses files.
    require_import_right(caller, is_identity_source=target is not None and target.is_identity_source)
    return await _upload_page(db, known_guid("Application", id), config, {})


async def _upload_page(db: Db, id: UUID, config: Config, problems: dict[str, str]) -> HtmlPage:
    application = await applications.get(db, id)
    values = {
        "application": application,
        "known": await console.known_columns(db, id),
        "problems": problems,
        "base_url": config.base_url,
    }
    return HtmlPage("upload.html", values, 400 if problems else 200)


@screen(
    "POST",
    "/applications/{id:str}/upload",
    scope=Scope.IMPORTS_WRITE,
    limits=RecordType.APPLICATION,
    needs=IMPORT,
    read_body=read_upload,
)
async def upload_import(
    db: Db, caller: Caller, id: str, raw: Upload, facts: Facts, config: Config
) -> HtmlPage | SeeOther:
    application_id = known_guid("Application", id)
    try:
        async with db.transaction():
            run = await actions.upload_import(db, caller, raw, [id], facts, config.store, ImportType.MANUAL)
    except Invalid as error:
        return await _upload_page(db, application_id, config, problems_by_field(error))
    return SeeOther(f"/imports/{run}", "The files were uploaded. The import starts in a moment.")


HANDLERS: list[HTTPRouteHandler] = [
    show_imports,
    show_import,
    stream_log,
    download,
    cancel_import,
    continue_import,
    roll_back,
    show_upload,
    upload_import,
]
