"""Run the effects of a stage when it opens: create requests, disable a leaver, change fields, restore access."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests import queries as access_requests
from rolecall.access_requests import separation
from rolecall.access_requests.creation import create_enriched
from rolecall.access_requests.model import CANCEL, NewRequest, RelatedItem
from rolecall.access_requests.moving import lock_unfinished, lock_with_unfinished, move, withhold_from
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute
from rolecall.identities import actions as identities
from rolecall.identities.model import NOT_PEOPLE
from rolecall.identities.queries import get as get_identity
from rolecall.identities.queries import sign_in_email
from rolecall.personnel_events import queries, restoring
from rolecall.personnel_events.model import LockedEvent, StageName
from rolecall.personnel_events.planning import EventDates, planned_requests
from rolecall.personnel_events.situations import situation_of
from rolecall.settings.policy import EventType
from rolecall.work_items.actions import add_comment, record_activity, record_activity_of


async def make_requests(db: Db, event: LockedEvent, now: datetime) -> None:
    situation = await situation_of(db, event.type, event.identity_id, *await queries.changes_of(db, event.id))
    dates = EventDates(event.needed_on, event.needed_until)
    planned = planned_requests(event.type, event.identity_id, dates, situation)
    await _create(db, event, StageName.APPROVAL, planned, now)


async def disable_leaver(db: Db, event: LockedEvent, now: datetime) -> None:
    """On offboarding, disable the leaver, and cancel requests that would give them access.

    If the leaver is the last active administrator, add a comment instead, because someone must be able to assign roles.
    In both cases, request the removal of accounts that appeared after the approval began.
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
    " Make another person an administrator, then offboard this identity again"
)


async def _remove_late_accounts(db: Db, event: LockedEvent, now: datetime) -> None:
    situation = await situation_of(db, event.type, event.identity_id)
    known = await queries.targets_of(db, event.id)
    late = [held for held in situation.accounts if held.is_active and (held.application_id, held.username) not in known]
    dates = EventDates(event.needed_on, event.needed_until)
    planned = planned_requests(event.type, event.identity_id, dates, msgspec.structs.replace(situation, accounts=late))
    # Provision and Verification work on the requests of Approval (`works_on`), so the new requests belong to it too.
    made = await _create(db, event, StageName.APPROVAL, planned, now)
    if not made:
        return
    why = "The account appeared after the approval began"
    await record_activity_of(db, made, author=SYSTEM.name, action="Found", content=why, now=now)
    names = ", ".join(held.username for held in late)
    content = f"Requested the removal of accounts that appeared after the approval began: {names}"
    await record_activity(db, event.id, author=SYSTEM.name, action="Accounts Found", content=content, now=now)


async def apply_changes(db: Db, event: LockedEvent, now: datetime) -> None:
    """Apply the changes of a role transition to the identity, then delete them from the event."""
    columns, custom = await queries.changes_of(db, event.id)
    if not columns and not custom:
        return
    before = await get_identity(db, str(event.identity_id))
    # An identity that was not a person had no sign-in e-mail.
    signs_in_with = "" if before.type in NOT_PEOPLE else await sign_in_email(db, event.identity_id)
    await identities.change_identity(db, event.identity_id, columns, custom, now)
    confirms_email = await queries.confirms_email(db, event.id)
    if confirms_email and "email_address" in columns:
        await identities.confirm_email(db, event.identity_id)
    elif not confirms_email and {"email_address", "type"} & columns.keys():
        await _withhold_email(db, event, signs_in_with, str(columns.get("email_address", before.email_address)), now)
    await drop_changes(db, event)
    # Omit the sort keys, which are computed from other fields.
    names = [name.replace("_", " ") for name in columns if not name.endswith("_key")]
    names += [f"custom field {number}" for number in custom]
    await record_activity(
        db, event.id, author=SYSTEM.name, action="Identity Changed", content=f"Changed {', '.join(names)}", now=now
    )


async def _withhold_email(db: Db, event: LockedEvent, old: str, new: str, now: datetime) -> None:
    """Until the new e-mail is confirmed, let the person sign in only with the old one, if there is one."""
    if old.lower() == new.lower():
        return
    await identities.withhold_email(db, event.identity_id, old, now)
    said = f"The person {f'signs in with {old}' if old else 'cannot sign in'} until {new} is confirmed"
    await record_activity(db, event.id, author=SYSTEM.name, action="E-mail Not Confirmed", content=said, now=now)


async def drop_changes(db: Db, event: LockedEvent) -> None:
    await execute(db, "UPDATE personnel_events SET changes = '{}', custom_fields = '{}' WHERE id = %(id)s", id=event.id)


async def restore_access(db: Db, event: LockedEvent, now: datetime) -> None:
    """Restore what the leave suspended, and add a comment about everything that is not restored as it was."""
    # Of two leaves of a person that end at once, the second must see that the first has ended (`_other_leave`).
    await execute(db, "SELECT take_turns('leave', ARRAY[%(person)s::text])", person=event.identity_id)
    # All requests of the event are suspensions, because the Removal stage has created no requests yet.
    made = await queries.requests_of(db, event.id)
    # `_create` locks the person's unfinished requests, so lock them together with those of the event.
    await lock_with_unfinished(db, made, event.identity_id)
    suspended = await access_requests.details(db, made)
    plan = await restoring.plan_of(db, event, suspended)
    # Suspensions that were never provisioned are no longer needed.
    await move(db, CANCEL, plan.unneeded, SYSTEM, now, "The leave has ended")
    await _create(db, event, StageName.REMOVAL, plan.requests, now)
    for difference in plan.differences:
        await add_comment(db, event.id, author=SYSTEM.name, content=difference, now=now)


async def _create(
    db: Db, event: LockedEvent, stage: StageName, planned: Sequence[NewRequest], now: datetime
) -> list[UUID]:
    related = RelatedItem(
        id=event.id,
        kind="Personnel Event",
        number=event.number,
        status=event.status,
        stage=stage,
        event_type=event.type,
    )
    # Lock requests before the check of duties locks people, to avoid deadlocks.
    await lock_unfinished(db, event.identity_id)
    allowed = await separation.allowed_of_event(db, [msgspec.structs.replace(new, related=related) for new in planned])
    for refusal in allowed.left_out:
        await add_comment(db, event.id, author=SYSTEM.name, content=refusal, now=now)
    # The reporter of the event is also the reporter of its requests, and is therefore not asked to decide.
    return await create_enriched(db, event.reporter, allowed.requests, now, allowed.conflicts)
