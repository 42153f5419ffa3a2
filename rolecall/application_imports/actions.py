"""Create, cancel, continue and roll back imports. A worker runs the imports (`run/next_import.py`)."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from uuid import UUID

from rolecall.application_imports import queries
from rolecall.application_imports.model import MOVES, ImportStatus, ImportTarget, ImportType
from rolecall.application_imports.shapes import CancelImportBody, RollbackBody, StageBody, UploadBody
from rolecall.applications.model import NO_FILES, no_such_group
from rolecall.applications.permitted import require_import_right
from rolecall.applications.shapes import FileGroup
from rolecall.core import ids
from rolecall.core.authors import by_system, written_by
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json, check
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, execute, fetch_rows
from rolecall.core.errors import Conflict, Forbidden, Invalid, NotFound, Problem
from rolecall.core.files import Store, Upload, UploadedFile
from rolecall.core.ids import new_id
from rolecall.core.nudge import nudge
from rolecall.core.text import in_one_line

CHANNEL = "imports"
OWN_RATINGS = "Someone other than the person who supplied the data must continue an import that lowers risk ratings"
_NOT_HELD = "Application import is not held, so it cannot be continued"
_LONGEST_NAME = 255


async def upload_import(
    db: Db,
    caller: Caller,
    upload: Upload,
    queried: Sequence[str],
    facts: Facts,
    store: Store,
    type: ImportType = ImportType.API,
) -> UUID:
    """Create an import from uploaded files; return its id. The query (`queried`) or the form names the application."""
    given = {text.lower() for text in (*queried, *upload.values("applicationId")) if text}
    if len(given) > 1:
        differs = Problem("applicationId", "Application ID must be the same in the query and the form")
        raise Invalid(differs, *file_problems(upload, None))
    raw = {"applicationId": "".join(given)}
    target = await _target(db, raw)
    _require_right(caller, target is not None and target.is_identity_source)
    problems = [*_target_problems(raw, target), *file_problems(upload, target)]
    if target and target.file_groups is None:
        problems.append(Problem("applicationId", NO_FILES))
    body = check(UploadBody, raw, facts, problems)
    id = await create_import(db, body.application_id, caller, type=type, now=facts.now, supplied=True)
    groups = target.groups_by_id() if target else {}
    for position, file in enumerate(chosen(upload)):
        await add_file(db, id, position, groups[UUID(file.field)], file, store, facts.now)
    return id


async def stage_import(db: Db, caller: Caller, raw: Json, facts: Facts, type: ImportType = ImportType.API) -> UUID:
    """Create an import from the scheduled files or the live source of an application, and return its id."""
    target = await _target(db, raw)
    _require_right(caller, target is not None and target.is_identity_source)
    problems = _target_problems(raw, target)
    if target and not target.has_schedule:
        problems.append(Problem("applicationId", "Application has no import schedule; add a schedule or a live source"))
    body = check(StageBody, raw, facts, problems)
    return await create_import(db, body.application_id, caller, type=type, now=facts.now)


async def cancel_import(db: Db, caller: Caller, raw: Json, facts: Facts) -> UUID:
    """Request cancellation; a worker then stops the import and sets its status to Canceled."""
    id = check(CancelImportBody, raw, facts).application_import_id
    _require_right(caller, await queries.is_of_identity_source(db, id))
    if not await move_import(db, id, ImportStatus.CANCELING):
        status = await queries.status_of(db, id)
        message = f"Application import is already {status}" if status else f"ApplicationImport with id {id} not found"
        raise Invalid.on("applicationImportId", message)
    await nudge(db, CHANNEL)
    return id


async def move_import(db: Db, id: UUID, to: ImportStatus, **columns: object) -> bool:
    """Set the status and `columns` of an import if MOVES allows this change of status; return whether they were set."""
    changes = ", ".join(f"{name} = %({name})s" for name in ("status", *columns))
    # Fires key_row (schema/application_imports.sql). Finished also fires show_entitlements (schema/entitlements.sql),
    # watch_duties (schema/duties.sql), recheck_requests (schema/access_requests.sql) and note_import_to_review
    # (schema/reviews.sql). Failed also fires notify_of_failed_import (schema/notifications.sql).
    moved = await execute(
        db,
        f"UPDATE application_imports SET {changes} WHERE id = %(id)s AND status = ANY(%(allowed)s)",
        id=id,
        status=to,
        allowed=[status for status, targets in MOVES.items() if to in targets],
        **columns,
    )
    return moved == 1


async def continue_import(db: Db, caller: Caller, id: UUID, now: datetime) -> None:
    """Continue a held import: lift the guard for this import only."""
    _require_right(caller, await queries.is_of_identity_source(db, id))
    hold = await queries.hold_of(db, id, caller.id)
    if hold is None:
        await queries.get(db, id)
        raise Conflict(_NOT_HELD)
    if hold.lowers_risk:
        if Scope.CONFIG_MANAGE not in caller.scopes:
            raise Forbidden(Scope.CONFIG_MANAGE)
        if hold.is_own:
            raise Conflict(OWN_RATINGS)
    continued = await execute(
        db,
        """UPDATE import_runs r SET held = NULL, is_unguarded = true FROM application_imports i
           WHERE r.import_id = %(id)s AND i.id = r.import_id AND i.status = 'Running' AND r.held IS NOT NULL
             AND r.lowers_risk = %(lowers_risk)s""",
        id=id,
        # Lift only the hold that was checked above; the guard may have set another one since.
        lowers_risk=hold.lowers_risk,
    )
    if not continued:
        raise Conflict(_NOT_HELD)
    await log_line(db, id, "Continued; the guard is lifted for this import", now)
    await nudge(db, CHANNEL)


async def roll_back(
    db: Db, caller: Caller, application_id: UUID, raw: Json, facts: Facts, type: ImportType = ImportType.API
) -> UUID:
    """Create an import that restores the data as it was after an earlier import."""
    target = await queries.target(db, application_id)
    if target is None:
        raise NotFound("Application", application_id)
    _require_right(caller, target.is_identity_source)
    if target.is_archived:
        raise Conflict("Application is archived")
    number = check(RollbackBody, raw, facts).import_number
    if not await queries.is_finished(db, application_id, number):
        raise Invalid.on(
            "importNumber", f"Import {number} is not a finished import of this application; choose one that is"
        )
    id = await create_import(db, application_id, caller, type=type, now=facts.now, supplied=True)
    await execute(
        db,
        "INSERT INTO import_runs (import_id, rollback_to) VALUES (%(id)s, %(number)s)",
        id=id,
        number=number,
    )
    return id


def _require_right(caller: Caller, is_identity_source: bool) -> None:
    require_import_right(caller, is_identity_source=is_identity_source)


async def create_import(
    db: Db, application_id: UUID, caller: Caller, *, type: ImportType, now: datetime, supplied: bool = False
) -> UUID:
    """Create a pending import. `supplied` means that the caller chose the data, with an upload or a rollback."""
    id = new_id()
    # Fires the trigger key_row in schema/application_imports.sql.
    await execute(
        db,
        """INSERT INTO application_imports (id, application_id, type, created_by, created_at, supplied_by)
           VALUES (%(id)s, %(application_id)s, %(type)s, %(created_by)s, %(now)s, %(supplied_by)s)""",
        id=id,
        application_id=application_id,
        type=type,
        created_by=caller.name,
        now=now,
        supplied_by=caller.id if supplied else None,
    )
    await nudge(db, CHANNEL)
    return id


async def add_file(
    db: Db, import_id: UUID, position: int, group: FileGroup, file: UploadedFile, store: Store, now: datetime
) -> UUID:
    """Store a file, then insert its row. If this is interrupted in between, `sweep_files` later removes the file."""
    id = new_id()
    await execute(
        db,
        """INSERT INTO import_files (id, import_id, position, file_group_id, file_group, name, sha256, size, location)
           VALUES (%(id)s, %(import_id)s, %(position)s, %(group_id)s, %(group)s, %(name)s, %(sha256)s, %(size)s,
                   %(location)s)""",
        id=id,
        import_id=import_id,
        position=position,
        group_id=group.file_group_id,
        group=group.name,
        name=file.name,
        sha256=file.sha256,
        size=file.size,
        location=await file.keep(store, id, now),
    )
    return id


async def log_line(db: Db, import_id: UUID, message: str, now: datetime) -> None:
    await execute(
        db,
        "INSERT INTO import_log (import_id, line) VALUES (%(id)s, %(line)s)",
        id=import_id,
        line=f"{now:%Y-%m-%dT%H:%M:%SZ} {in_one_line(message)}",
    )


async def finish_canceling(pool: Pool, _: Config, now: datetime) -> bool:
    """Mark imports as Canceled if they were canceled before they started. A running import is ended by its worker."""
    async with pool.connection() as db, written_by(db, "canceling", by_system("finish_canceling", now)):
        rows = await fetch_rows(
            db,
            "SELECT id FROM application_imports WHERE status = 'Canceling' AND build_start IS NULL ORDER BY number",
        )
        for (id,) in rows:
            if await move_import(db, id, ImportStatus.CANCELED, build_end=now):
                await log_line(db, id, "Canceled before it started", now)
    return False


async def sweep_files(db: Db, store: Store, now: datetime) -> None:
    """Remove files stored two to eight days ago that belong to no import or dry run, and partial files after a day."""
    locations = await asyncio.to_thread(store.sweepable, now)
    rows = await fetch_rows(
        db,
        """SELECT location FROM import_files WHERE location = ANY(%(all)s)
           UNION SELECT location FROM dry_run_files WHERE location = ANY(%(all)s)""",
        all=locations,
    )
    for location in set(locations) - {row[0] for row in rows}:
        await asyncio.to_thread(store.remove, location)
    for path in store.unfinished(now):
        path.unlink(missing_ok=True)


async def _target(db: Db, raw: Json) -> ImportTarget | None:
    id = ids.guid(raw.get("applicationId"))
    return await queries.target(db, id) if id else None


def _target_problems(raw: Json, target: ImportTarget | None) -> list[Problem]:
    id = ids.guid(raw.get("applicationId"))
    if id and target is None:
        return [Problem("applicationId", f"Application with id {id} not found")]
    if target and target.is_archived:
        return [Problem("applicationId", "Application is archived")]
    return []


def chosen(upload: Upload) -> list[UploadedFile]:
    """Return the files of an upload, without the empty file that browsers send for a blank file field."""
    return [file for file in upload.files if file.name or file.size]


def name_problems(file: UploadedFile, field: str) -> Iterator[Problem]:
    if not file.name:
        yield Problem(field, "File name is required")
    if len(file.name) > _LONGEST_NAME:
        yield Problem(field, f"File name must be at most {_LONGEST_NAME} characters")


def _name_and_id(group: FileGroup) -> str:
    return f"{group.name} ({group.file_group_id})"


def file_problems(
    upload: Upload, target: ImportTarget | None, named: Callable[[FileGroup], str] = _name_and_id
) -> Iterator[Problem]:
    """Yield all problems of all files; if `target` is None, only problems that do not depend on the application.

    `named` returns the name of a file group in messages.
    """
    groups = target.groups_by_id() if target else {}
    knows_groups = target is not None and target.file_groups is not None
    sent = Counter[UUID | None]()
    for name, _ in upload.fields:
        # A file that is sent without a file name arrives as a text field.
        if ids.guid(name):
            yield Problem(name, "File name is required")
    for file in chosen(upload):
        group_id = ids.guid(file.field)
        sent[group_id] += 1
        if group_id is None or (knows_groups and group_id not in groups):
            yield Problem(file.field, no_such_group(file.field, map(named, groups.values())))
        if file.size == 0:
            yield Problem(file.field, "File is empty")
        yield from name_problems(file, file.field)
    for id, group in groups.items():
        if sent[id] > 1 and not group.is_multiple:
            yield Problem(str(id), f"{group.name} accepts one file")
        if sent[id] == 0 and not group.is_optional:
            yield Problem(str(id), f"Required file missing: {group.name}")
    if knows_groups and not sent and all(group.is_optional for group in groups.values()):
        yield Problem("body", "At least one file is required")
