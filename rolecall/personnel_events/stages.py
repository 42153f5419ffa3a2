"""Advance personnel events: open stages that are due, complete those whose requests are finished, update the status."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID

from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.personnel_events import queries
from rolecall.personnel_events.effects import (
    apply_changes,
    disable_leaver,
    drop_changes,
    make_requests,
    restore_access,
)
from rolecall.personnel_events.model import LockedEvent, Stage, StageName, status_of
from rolecall.work_items.actions import record_activity
from rolecall.work_items.model import WorkStatus


async def follow_event(db: Db, id: UUID, now: datetime) -> None:
    """Open and complete the stages that are ready.

    One pass is enough, because a stage depends only on the previous one.
    """
    event = await queries.lock(db, id)
    # Delete the rows of event_news before reading the requests, so that each later change queues the event again.
    caller = await _consume_news(db, id)
    previous = None
    for stage in event.stages:
        if stage.is_due(now, previous):
            await _open(db, event, stage, now)
        if stage.status is WorkStatus.OPEN and not await queries.waits_for_requests(db, event, stage.name):
            await _complete(db, event, stage, caller, now)
        previous = stage
    await update_status(db, event, caller, now)


async def update_status(db: Db, event: LockedEvent, caller: Caller, now: datetime) -> None:
    """Store the status that follows from the stages, in the event and in the access requests that refer to it."""
    status = status_of(event.stages)
    if status is event.status:
        return
    event.status = status
    completed = status is WorkStatus.COMPLETED
    # Fires notify_of_canceled_event (schema/notifications.sql) and keep_absences (schema/personnel_events.sql).
    await execute(
        db,
        "UPDATE personnel_events SET status = %(status)s, completed_on = %(completed_on)s WHERE id = %(id)s",
        id=event.id,
        status=status,
        completed_on=now if completed else None,
    )
    await execute(db, "UPDATE related_items SET status = %(status)s WHERE item_id = %(id)s", id=event.id, status=status)
    if completed:
        await record(db, event, caller, "Completed", f"{event.type} completed", now)


async def cancel_stages(db: Db, event: LockedEvent) -> None:
    """Cancel the unfinished stages and discard the pending changes to the identity."""
    for stage in event.stages:
        if stage.status is not WorkStatus.COMPLETED:
            stage.status = WorkStatus.CANCELED
    await execute(
        db, "UPDATE stages SET status = 'Canceled' WHERE event_id = %(id)s AND status <> 'Completed'", id=event.id
    )
    await drop_changes(db, event)


async def record(db: Db, event: LockedEvent, caller: Caller, action: str, content: str, now: datetime) -> None:
    await record_activity(db, event.id, author=caller.name, action=action, content=content, now=now)


async def _consume_news(db: Db, event_id: UUID) -> Caller:
    """Delete the rows that note_event_news (schema/personnel_events.sql) queued; return the last caller, or SYSTEM."""
    rows = await fetch_rows(
        db,
        "DELETE FROM event_news WHERE event_id = %(id)s RETURNING number, caller_id, caller_name",
        id=event_id,
    )
    if not rows:
        return SYSTEM
    _, id, name = max(rows)
    return Caller(id, name, frozenset())


async def _nothing(_: Db, __: LockedEvent, ___: datetime) -> None:
    pass


# For each stage, the function to call when it opens.
_EFFECTS: dict[StageName, Callable[[Db, LockedEvent, datetime], Awaitable[None]]] = {
    StageName.APPROVAL: make_requests,
    StageName.PROVISION: disable_leaver,
    StageName.TRANSITION: apply_changes,
    StageName.VERIFICATION: _nothing,
    StageName.REMOVAL: restore_access,
}


async def _open(db: Db, event: LockedEvent, stage: Stage, now: datetime) -> None:
    stage.status = WorkStatus.OPEN
    # Store the status before the effects, because the end of a leave reads it (`_other_leave` in restoring.py).
    await execute(
        db,
        "UPDATE stages SET status = 'Open', started_on = %(now)s WHERE event_id = %(id)s AND sequence = %(sequence)s",
        id=event.id,
        sequence=stage.sequence,
        now=now,
    )
    await record(db, event, SYSTEM, f"{stage.name} Started", f"{stage.name} started", now)
    await _EFFECTS[stage.name](db, event, now)


async def _complete(db: Db, event: LockedEvent, stage: Stage, caller: Caller, now: datetime) -> None:
    stage.status = WorkStatus.COMPLETED
    await execute(
        db,
        """UPDATE stages SET status = 'Completed', completed_on = %(now)s,
                  completed_by_id = %(caller_id)s, completed_by_name = %(caller_name)s
           WHERE event_id = %(id)s AND sequence = %(sequence)s""",
        id=event.id,
        sequence=stage.sequence,
        now=now,
        caller_id=caller.id,
        caller_name=caller.name,
    )
    await record(db, event, caller, f"{stage.name} Completed", f"{stage.name} completed", now)
