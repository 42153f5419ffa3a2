"""What a stage does when it opens."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests import queries as access_requests
from rolecall.access_requests.creation import create_requests
from rolecall.access_requests.model import CANCEL, NewRequest, RelatedItem
from rolecall.access_requests.moving import hold, move, withhold_from
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute
from rolecall.identities import actions as identities
from rolecall.personnel_events import queries, restoring
from rolecall.personnel_events.model import Event, StageName
from rolecall.personnel_events.planning import Times, planned_requests
from rolecall.personnel_events.situations import situation_of
from rolecall.settings.policy import EventType
from rolecall.work_items.actions import add_comment, record_activity, record_activity_of


async def make_requests(db: Db, event: Event, now: datetime) -> None:
    situation = await situation_of(db, event.type, event.identity_id, *await queries.changes_of(db, event.id))
    times = Times(event.needed_on, event.needed_until)
    planned = planned_requests(event.type, event.identity_id, times, situation)
    await _create(db, event, StageName.APPROVAL, planned, now)


async def part_with_leaver(db: Db, event: Event, now: datetime) -> None:
    """Disable a leaver: from now on nothing is given to them, and what they got since approval began is taken too.

    The last active administrator stays active, because otherwise no one could give roles; the event says so.
    """
    if event.type is not EventType.OFFBOARD:
        return
    if await identities.disable_unless_last(db, event.identity_id, event.needed_on, now):
        await withhold_from(db, event.identity_id, now)
    else:
        await record_activity(
            db, event.id, author=SYSTEM.name, action="Identity Not Disabled", content=_LAST_ADMINISTRATOR, now=now
        )
        await add_comment(db, event.id, author=SYSTEM.name, content=_LAST_ADMINISTRATOR, now=now)
    await _remove_late_accounts(db, event, now)


_LAST_ADMINISTRATOR = (
    "The identity was not disabled: it is the last active administrator."
    " Make someone else administrator, then offboard it again"
)


async def _remove_late_accounts(db: Db, event: Event, now: datetime) -> None:
    situation = await situation_of(db, event.type, event.identity_id)
    known = await queries.targets_of(db, event.id)
    late = [held for held in situation.accounts if held.is_active and (held.application_id, held.username) not in known]
    times = Times(event.needed_on, event.needed_until)
    planned = planned_requests(event.type, event.identity_id, times, msgspec.structs.replace(situation, accounts=late))
    made = await _create(db, event, StageName.APPROVAL, planned, now)
    if not made:
        return
    why = "The account was not there when approval began"
    await record_activity_of(db, made, author=SYSTEM.name, action="Found", content=why, now=now)
    names = ", ".join(held.username for held in late)
    content = f"Accounts that were not there when approval began are removed too: {names}"
    await record_activity(db, event.id, author=SYSTEM.name, action="Accounts Found", content=content, now=now)


async def apply_changes(db: Db, event: Event, now: datetime) -> None:
    """From here on the event shows the identity as it is."""
    columns, custom = await queries.changes_of(db, event.id)
    if not columns and not custom:
        return
    await identities.change_identity(db, event.identity_id, columns, custom, now)
    await drop_changes(db, event)
    names = [name.replace("_", " ") for name in columns if not name.endswith("_key")]
    names += [f"custom field {number}" for number in custom]
    await record_activity(
        db, event.id, author=SYSTEM.name, action="Identity Changed", content=f"Changed {', '.join(names)}", now=now
    )


async def drop_changes(db: Db, event: Event) -> None:
    await execute(db, "UPDATE personnel_events SET changes = '{}', custom_fields = '{}' WHERE id = %(id)s", id=event.id)


async def restore_access(db: Db, event: Event, now: datetime) -> None:
    """Exactly what the leave suspended; what is not restored is said in a comment."""
    made = await queries.requests_of(db, event.id, StageName.APPROVAL)
    await hold(db, made)
    suspended = await access_requests.details(db, made)
    plan = await restoring.plan_of(db, event, suspended)
    # A suspension that nobody got to is no longer wanted.
    await move(db, CANCEL, plan.unneeded, SYSTEM, now, "The leave is over")
    await _create(db, event, StageName.REMOVAL, plan.requests, now)
    for difference in plan.differences:
        await add_comment(db, event.id, author=SYSTEM.name, content=difference, now=now)


async def _create(db: Db, event: Event, stage: StageName, planned: Sequence[NewRequest], now: datetime) -> list[UUID]:
    related = RelatedItem(
        id=event.id,
        kind="Personnel Event",
        number=event.number,
        status=event.status,
        stage=stage,
        event_type=event.type,
    )
    made = [msgspec.structs.replace(new, related=related) for new in planned]
    return await create_requests(db, event.reporter, made, now)
