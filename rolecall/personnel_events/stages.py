"""How an event goes on: a stage opens when its time comes and is done when its requests are; the status follows."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID

from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.personnel_events import queries
from rolecall.personnel_events.effects import (
    apply_changes,
    drop_changes,
    make_requests,
    part_with_leaver,
    restore_access,
)
from rolecall.personnel_events.model import Event, Stage, StageName, status_of
from rolecall.work_items.actions import record_activity
from rolecall.work_items.model import WorkStatus


async def follow_event(db: Db, id: UUID, now: datetime) -> None:
    """Whatever may happen now. One pass is enough: a stage waits for nothing but the one before it."""
    event = await queries.lock(db, id)
    caller = await _take_news(db, id)
    previous = None
    for stage in event.stages:
        if stage.is_due(now, previous):
            await _open(db, event, stage, now)
        if stage.status is WorkStatus.OPEN and not await queries.waits_for_requests(db, event, stage.name):
            await _complete(db, event, stage, caller, now)
        previous = stage
    await settle(db, event, caller, now)


async def settle(db: Db, event: Event, caller: Caller, now: datetime) -> None:
    """Let the event's status follow its stages."""
    status = status_of(event.stages)
    if status is event.status:
        return
    event.status = status
    completed = status is WorkStatus.COMPLETED
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


async def cancel_stages(db: Db, event: Event) -> None:
    """Those that are not done; changes that were not applied never will be."""
    for stage in event.stages:
        if stage.status is not WorkStatus.COMPLETED:
            stage.status = WorkStatus.CANCELED
    await execute(
        db, "UPDATE stages SET status = 'Canceled' WHERE event_id = %(id)s AND status <> 'Completed'", id=event.id
    )
    await drop_changes(db, event)


async def record(db: Db, event: Event, caller: Caller, action: str, content: str, now: datetime) -> None:
    await record_activity(db, event.id, author=caller.name, action=action, content=content, now=now)


async def _take_news(db: Db, event_id: UUID) -> Caller:
    """Take what note_event_news (schema/personnel_events.sql) queued; return the last caller, else the system."""
    rows = await fetch_rows(
        db,
        "DELETE FROM event_news WHERE event_id = %(id)s RETURNING number, caller_id, caller_name",
        id=event_id,
    )
    if not rows:
        return SYSTEM
    _, id, name = max(rows)
    return Caller(id, name, frozenset())


async def _nothing(_: Db, __: Event, ___: datetime) -> None:
    pass


# What a stage does when it opens.
_OPENING: dict[StageName, Callable[[Db, Event, datetime], Awaitable[None]]] = {
    StageName.APPROVAL: make_requests,
    StageName.PROVISION: part_with_leaver,
    StageName.TRANSITION: apply_changes,
    StageName.VERIFICATION: _nothing,
    StageName.REMOVAL: restore_access,
}


async def _open(db: Db, event: Event, stage: Stage, now: datetime) -> None:
    stage.status = WorkStatus.OPEN
    await execute(
        db,
        "UPDATE stages SET status = 'Open', started_on = %(now)s WHERE event_id = %(id)s AND sequence = %(sequence)s",
        id=event.id,
        sequence=stage.sequence,
        now=now,
    )
    await record(db, event, SYSTEM, f"{stage.name} Started", f"{stage.name} started", now)
    await _OPENING[stage.name](db, event, now)


async def _complete(db: Db, event: Event, stage: Stage, caller: Caller, now: datetime) -> None:
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
