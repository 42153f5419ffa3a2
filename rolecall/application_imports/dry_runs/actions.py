"""Create, queue and delete dry runs. A worker runs them."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.application_imports import actions as imports
from rolecall.application_imports import queries as import_queries
from rolecall.application_imports.dry_runs.model import CHANNEL, DryRunStatus
from rolecall.applications import actions as applications
from rolecall.applications.model import NO_FILES
from rolecall.applications.permitted import require_import_right
from rolecall.applications.shapes import FileGroup
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.errors import Conflict, Forbidden, Invalid, NotFound, Problem
from rolecall.core.files import Store, Upload, UploadedFile
from rolecall.core.ids import new_id
from rolecall.core.nudge import nudge

_LASTS = timedelta(days=1)


async def start_dry_run(
    db: Db, caller: Caller, application_id: UUID, upload: Upload, facts: Facts, store: Store
) -> UUID:
    """Start a dry run of uploaded files; return its id. A `connector` in the form replaces the stored one."""
    target = await import_queries.target(db, application_id)
    if target is None:
        raise NotFound("Application", application_id)
    require_import_right(caller, is_identity_source=target.is_identity_source)
    if target.is_archived:
        raise Conflict("Application is archived")
    draft = _draft_in(upload)
    if draft:
        if Scope.CONFIG_MANAGE not in caller.scopes:
            raise Forbidden(Scope.CONFIG_MANAGE)
        await check_draft(db, caller, application_id, draft, facts)
        target = msgspec.structs.replace(target, file_groups=_groups_in(draft))
    groups = target.file_groups or []
    names = {group.name.casefold(): group for group in groups}
    for file in upload.files:
        if group := names.get(file.field.casefold()):
            file.field = str(group.file_group_id)
    problems = list(imports.file_problems(upload, target, lambda group: group.name))
    if target.file_groups is None:
        problems.append(Problem("applicationId", NO_FILES))
    if problems:
        raise Invalid(*problems)
    id = await create_draft(db, caller, application_id, draft, facts.now)
    by_id = target.groups_by_id()
    files = [(by_id[UUID(file.field)].name, file) for file in imports.chosen(upload)]
    await add_files(db, id, files, store, facts.now)
    await run_draft(db, id)
    return id


def _draft_in(upload: Upload) -> Json:
    """Return the form field `connector` as the body of a change to the application; empty if there is no such field."""
    if not (given := upload.values("connector")):
        return {}
    try:
        return {"connector": msgspec.json.decode(given[-1], type=dict)}
    except msgspec.DecodeError:
        raise Invalid.on("connector", "Connector must be a JSON object, as in the body of an application") from None


def _groups_in(draft: Json) -> list[FileGroup]:
    """Return the file groups of a validated draft, with temporary ids."""
    files = draft["connector"].get("files") or []
    return [
        FileGroup(new_id(), file["name"], file.get("isOptional", False), file.get("isMultiple", False))
        for file in files
    ]


async def check_draft(db: Db, caller: Caller, application_id: UUID | None, draft: Json, facts: Facts) -> None:
    """Raise Invalid if the draft has problems. The check writes the draft and rolls it back."""
    async with db.transaction(force_rollback=True):
        await _write(db, caller, application_id, draft, facts)


async def _write(db: Db, caller: Caller, application_id: UUID | None, draft: Json, facts: Facts) -> UUID:
    if application_id is None:
        return await applications.create_application(db, draft, facts, caller)
    if draft:
        await applications.change_application(db, application_id, draft, facts, caller)
    return application_id


async def create_draft(db: Db, caller: Caller, application_id: UUID | None, draft: Json, now: datetime) -> UUID:
    id = new_id()
    await execute(
        db,
        """INSERT INTO dry_runs (id, application_id, draft, status, created_by, created_at, caller_id)
           VALUES (%(id)s, %(application_id)s, %(draft)s, %(status)s, %(created_by)s, %(now)s, %(caller_id)s)""",
        id=id,
        application_id=application_id,
        draft=Jsonb(draft),
        status=DryRunStatus.DRAFT,
        created_by=caller.name,
        now=now,
        caller_id=caller.id,
    )
    return id


async def add_files(db: Db, id: UUID, files: Sequence[tuple[str, UploadedFile]], store: Store, now: datetime) -> None:
    """Store files of a draft, each with the name of its file group."""
    for position, (group, file) in enumerate(files):
        file_id = new_id()
        await execute(
            db,
            """INSERT INTO dry_run_files (id, dry_run_id, position, file_group, name, sha256, size, location)
               VALUES (%(id)s, %(dry_run)s, %(position)s, %(group)s, %(name)s, %(sha256)s, %(size)s, %(location)s)""",
            id=file_id,
            dry_run=id,
            position=position,
            group=group,
            name=file.name,
            sha256=file.sha256,
            size=file.size,
            location=await file.keep(store, file_id, now),
        )


async def run_draft(db: Db, id: UUID) -> None:
    """Queue the dry run for a worker; delete the result of an earlier run."""
    await execute(
        db,
        """UPDATE dry_runs SET status = 'Pending', started_at = NULL, ended_at = NULL, attempts = 0, log = '{}',
                  failure = NULL, result = NULL WHERE id = %(id)s""",
        id=id,
    )
    await execute(db, "DELETE FROM previews WHERE id = %(id)s", id=id)
    await execute(db, "DELETE FROM dry_run_rejects WHERE dry_run_id = %(id)s", id=id)
    await nudge(db, CHANNEL)


async def discard_draft(db: Db, caller: Caller, id: UUID) -> None:
    """Delete a draft of the caller; `sweep_files` deletes its files later."""
    removed = await execute(
        db, "DELETE FROM dry_runs WHERE id = %(id)s AND caller_id = %(caller)s", id=id, caller=caller.id
    )
    if not removed:
        raise NotFound("DryRun", id)
    await execute(db, "DELETE FROM previews WHERE id = %(id)s", id=id)


async def delete_old_dry_runs(db: Db, store: Store, now: datetime) -> None:
    """Delete dry runs older than a day with their files. Keep queued and running dry runs, and files that imports use.

    Also delete previews of imports that are no longer held.
    """
    async with db.transaction():
        rows = await fetch_rows(
            db,
            """WITH old AS (DELETE FROM dry_runs WHERE created_at < %(before)s
                            AND status NOT IN ('Pending', 'Running') RETURNING id)
               SELECT f.location FROM dry_run_files f JOIN old ON old.id = f.dry_run_id
               WHERE NOT EXISTS (SELECT FROM import_files i WHERE i.location = f.location)""",
            before=now - _LASTS,
        )
        await execute(
            db,
            """DELETE FROM previews p WHERE NOT EXISTS (SELECT FROM dry_runs d WHERE d.id = p.id)
               AND NOT EXISTS (SELECT FROM import_runs r JOIN application_imports i ON i.id = r.import_id
                               WHERE i.id = p.id AND i.status = 'Running' AND r.held IS NOT NULL)""",
        )
    for (location,) in rows:
        await asyncio.to_thread(store.remove, location)
