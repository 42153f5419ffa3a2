"""Create imports for schedules and SCIM pushes that are due. `fetching.py` reads the data when an import runs."""

from datetime import datetime, timedelta
from uuid import UUID

import structlog
from psycopg.rows import TupleRow

from rolecall.application_imports import actions
from rolecall.application_imports.model import ImportType
from rolecall.core.authors import by_system, written_by
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.cron import is_due
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.scim_server.actions import lock_push, take_changes
from rolecall.scim_server.queries import due_pushes

log = structlog.get_logger("rolecall.imports")

# The delay before the retry of a failed import, if it reads a SCIM push or verifies the changes of a carrier.
RETRY_PAUSE = timedelta(hours=1)


async def fire_schedules(db: Db, config: Config, now: datetime) -> None:
    """Create one import for each schedule that is due, unless a scheduled import of the application is unfinished."""
    rows = await fetch_rows(
        db,
        """SELECT s.application_id, s.cron, f.fired_at FROM schedules s
           JOIN applications a ON a.id = s.application_id AND NOT a.is_archived
           LEFT JOIN schedule_firings f ON f.application_id = s.application_id""",
    )
    for application_id, cron, fired_at in rows:
        if is_due(cron, fired_at, now, config.timezone):
            async with written_by(db, "schedule", by_system("fire_schedule", now)):
                await _fire(db, application_id, fired_at, now)


async def import_pushes(db: Db, config: Config, now: datetime) -> None:
    """Create an import for each due SCIM push without an unfinished scheduled import; retry failed imports."""
    for application_id in await due_pushes(db, config, now):
        async with written_by(db, "pushes", by_system("import_push", now)):
            if not await _unfinished(db, application_id) and await take_changes(db, application_id):
                await actions.create_import(db, application_id, SYSTEM, type=ImportType.SCHEDULED, now=now)
    for application_id in await _failed_pushes(db, now):
        async with written_by(db, "pushes", by_system("import_push", now)):
            await lock_push(db, application_id)
            # Another worker may have created the import meanwhile.
            if application_id in await _failed_pushes(db, now):
                await actions.create_import(db, application_id, SYSTEM, type=ImportType.SCHEDULED, now=now)


async def _failed_pushes(db: Db, now: datetime) -> list[UUID]:
    """Return applications whose last import read a push and failed over an hour ago, and that have no new changes.

    The push must be imported again, because identity providers do not resend its changes.
    """
    rows = await fetch_rows(
        db,
        """SELECT p.application_id FROM scim_pushes p
           JOIN applications a ON a.id = p.application_id AND NOT a.is_archived
           JOIN LATERAL (SELECT i.status, i.type, i.build_end FROM application_imports i
                         WHERE i.application_id = p.application_id ORDER BY i.number DESC LIMIT 1) last ON true
           WHERE p.waiting_since IS NULL AND last.status = 'Failed' AND last.type = 'Scheduled'
             AND last.build_end < %(before)s""",
        before=now - RETRY_PAUSE,
    )
    return [id for (id,) in rows]


async def _fire(db: Db, application_id: UUID, fired_at: datetime | None, now: datetime) -> None:
    """Fire a schedule once, even if several workers try. A new schedule does not fire now, but when it is next due."""
    fired = await execute(
        db,
        """INSERT INTO schedule_firings AS f (application_id, fired_at) VALUES (%(id)s, %(now)s)
           ON CONFLICT (application_id) DO UPDATE SET fired_at = EXCLUDED.fired_at WHERE f.fired_at = %(last)s""",
        id=application_id,
        now=now,
        last=fired_at,
    )
    if fired_at is None or not fired:
        return
    unfinished = await _unfinished(db, application_id)
    if not unfinished:
        await actions.create_import(db, application_id, SYSTEM, type=ImportType.SCHEDULED, now=now)
    for id, number, status in unfinished:
        await _skip(db, application_id, id, now)
        log.warning("schedule skipped", application=str(application_id), run=number, status=status)


async def _unfinished(db: Db, application_id: UUID) -> list[TupleRow]:
    return await fetch_rows(
        db,
        """SELECT id, number, status FROM application_imports
           WHERE application_id = %(id)s AND status IN ('Pending', 'Running', 'Canceling') AND type = 'Scheduled'
           ORDER BY number LIMIT 1""",
        id=application_id,
    )


async def _skip(db: Db, application_id: UUID, import_id: UUID, now: datetime) -> None:
    """Count a skipped run of a schedule, and add a line to the log of the unfinished import that was the reason."""
    await actions.log_line(db, import_id, "The schedule was due again and was skipped: this import is unfinished", now)
    await execute(
        db, "UPDATE schedule_firings SET skipped = skipped + 1 WHERE application_id = %(id)s", id=application_id
    )
