"""Create personnel events and act on them: assign, set the return date, cancel and comment.

Each verb locks the event first. `stages.py` advances events over time; `permitted.py` says who may act on them.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.access_requests.model import CANCEL
from rolecall.access_requests.moving import lock_with_unfinished, move, withhold_from
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute
from rolecall.core.errors import Conflict, Invalid
from rolecall.core.ids import guid, new_id
from rolecall.identities import actions as identities
from rolecall.identities import administrators
from rolecall.identities.model import IdentityStatus
from rolecall.identities.queries import active_with_email, with_mentioned_identities
from rolecall.identities.queries import get as get_identity
from rolecall.identities.shapes import IdentityChanges
from rolecall.personnel_events import permitted, queries
from rolecall.personnel_events.model import FINISHED, LockedEvent, Period, StageName, plan
from rolecall.personnel_events.permitted import EventVerb
from rolecall.personnel_events.shapes import (
    AbsenceBody,
    AssignEventBody,
    CancelBody,
    EventBody,
    OffboardBody,
    OnboardBody,
    ReturnDateBody,
    RoleTransitionBody,
)
from rolecall.personnel_events.stages import cancel_stages, record, update_status
from rolecall.settings import queries as settings
from rolecall.settings.policy import EventType
from rolecall.tokens.queries import own_id
from rolecall.work_items.actions import add_comment
from rolecall.work_items.model import WorkStatus
from rolecall.work_items.shapes import CommentBody


async def onboard(db: Db, caller: Caller, raw: Json, facts: Facts) -> UUID:
    facts = await gather_facts(db, raw, facts)
    body = check(OnboardBody, raw, facts)
    email = body.identity.email or ""
    if email:
        # Of two people who get the same e-mail at once, the second must see that it is taken.
        await execute(db, "SELECT take_turns('email', ARRAY[lower(%(email)s)])", email=email)
    await permitted.require_own_people(db, caller, None, body.identity)
    # Search before creating the identity; afterwards the search would find the new person too.
    is_taken = bool(email and await active_with_email(db, email))
    identity_id = await identities.create_identity(db, body.identity, facts.now)
    # Withhold the e-mail until it is confirmed: if two people shared it, neither could sign in, and a caller who
    # entered an address of their own could sign in as the new person.
    if Scope.IDENTITIES_WRITE not in caller.scopes and (is_taken or (email and caller.is_person)):
        await identities.withhold_email(db, identity_id, "", facts.now)
    return await _create_event(db, caller, facts, EventType.ONBOARD, identity_id, body)


async def offboard(db: Db, caller: Caller, raw: Json, facts: Facts) -> UUID:
    facts = await gather_facts(db, raw, facts)
    body = check(OffboardBody, raw, facts)
    await permitted.require_own_people(db, caller, body.identity_id)
    await permitted.require_may_be_offboarded(db, body.identity_id)
    return await _create_event(db, caller, facts, EventType.OFFBOARD, body.identity_id, body)


async def transition_role(db: Db, caller: Caller, raw: Json, facts: Facts) -> UUID:
    """Create a role transition. The event stores the new fields until its Transition stage starts."""
    facts = await gather_facts(db, raw, facts)
    body = check(RoleTransitionBody, raw, facts)
    await permitted.require_own_people(db, caller, body.identity_id, body.identity)
    await permitted.require_no_own_supervision(db, caller, body.identity_id, body.identity)
    return await _create_event(db, caller, facts, EventType.ROLE_TRANSITION, body.identity_id, body, body.identity)


async def begin_absence(db: Db, caller: Caller, raw: Json, facts: Facts) -> UUID:
    facts = await gather_facts(db, raw, facts)
    body = check(AbsenceBody, raw, facts)
    await permitted.require_own_people(db, caller, body.identity_id)
    return await _create_event(db, caller, facts, EventType.ABSENCE, body.identity_id, body)


async def assign_event(db: Db, caller: Caller, id: UUID, raw: Json, facts: Facts) -> None:
    event = await queries.lock(db, id)
    body = check(AssignEventBody, raw, await with_mentioned_identities(db, facts, raw))
    assignee = await get_identity(db, str(body.assignee_id))
    name = f"{assignee.first_name} {assignee.last_name}"
    if assignee.status != IdentityStatus.ACTIVE:
        raise Invalid.on("assigneeId", f"{name} is {assignee.status}; assign an active person")
    _require_unfinished(event)
    # Fires the trigger notify_of_assigned_event in schema/notifications.sql.
    await execute(
        db,
        "UPDATE personnel_events SET assignee_id = %(assignee)s, assignee_name = %(name)s WHERE id = %(id)s",
        id=id,
        assignee=body.assignee_id,
        name=name,
    )
    await record(db, event, caller, "Assigned", f"Assigned to {name}", facts.now)


async def set_return_date(db: Db, caller: Caller, id: UUID, raw: Json, facts: Facts) -> None:
    """Set the return date of a leave of absence whose Removal stage has not started."""
    event = await queries.lock(db, id)
    body = check(ReturnDateBody, raw, facts)
    await permitted.require(
        db, EventVerb.RETURN_DATE, caller, identity_id=event.identity_id, reporter_id=event.reporter.id
    )
    if event.type is not EventType.ABSENCE:
        raise Conflict("Only a leave of absence has a return date")
    if body.end_date <= event.needed_on:
        raise Invalid.on("endDate", "End date must be after effective date")
    _require_unfinished(event)
    [removal] = [stage for stage in event.stages if stage.name is StageName.REMOVAL]
    # While the return date is not known, the Removal stage is snoozed.
    if removal.status not in (WorkStatus.SCHEDULED, WorkStatus.SNOOZED):
        raise Conflict("The return has already started, so its date cannot be changed")
    # Change the stage in memory too, because `update_status` derives the status of the event from it.
    removal.status, removal.scheduled_start = WorkStatus.SCHEDULED, body.end_date
    # Fires notify_of_return_date (schema/notifications.sql) and keep_absences (schema/personnel_events.sql).
    await execute(db, "UPDATE personnel_events SET needed_until = %(end)s WHERE id = %(id)s", id=id, end=body.end_date)
    await execute(
        db,
        """UPDATE stages SET status = 'Scheduled', scheduled_start = %(end)s
           WHERE event_id = %(id)s AND sequence = %(sequence)s""",
        id=id,
        sequence=removal.sequence,
        end=body.end_date,
    )
    if event.needed_until and body.end_date > event.needed_until:
        await _note_prolonged(db, caller, id)
    content = f"Return date set to {body.end_date.astimezone(facts.zone).date()}"
    await record(db, event, caller, "Return Date", content, facts.now)
    await update_status(db, event, caller, facts.now)


async def _note_prolonged(db: Db, caller: Caller, id: UUID) -> None:
    """Record who extended a leave. Supervisors who did so do not stand in automatically during the leave."""
    await execute(
        db,
        "UPDATE absences SET prolonged_by = prolonged_by || %(own)s::uuid WHERE event_id = %(id)s",
        id=id,
        own=await own_id(db, caller),
    )


async def cancel_event(db: Db, caller: Caller, id: UUID, raw: Json, facts: Facts) -> None:
    """Cancel an event and its unfinished requests. Changes that have taken effect stay.

    Canceling an onboarding that has not taken effect disables the identity that it created.
    """
    event = await queries.lock(db, id)
    body = check(CancelBody, raw, facts)
    _require_unfinished(event)
    await permitted.require(db, EventVerb.CANCEL, caller, identity_id=event.identity_id, reporter_id=event.reporter.id)
    # Read the stages before `cancel_stages` changes them.
    never_joined = event.type is EventType.ONBOARD and not _has_taken_effect(event)
    await cancel_stages(db, event)
    await record(db, event, caller, "Canceled", f"{event.type} canceled", facts.now)
    if body.comment:
        await add_comment(db, id, author=caller.name, content=body.comment, now=facts.now)
    await update_status(db, event, caller, facts.now)
    requests = await queries.requests_of(db, id)
    if never_joined:
        # Disable the newcomer before locking requests, as an offboarding does, to avoid deadlocks.
        await _disable_newcomer(db, event, caller, facts)
        await lock_with_unfinished(db, requests, event.identity_id)
    await move(db, CANCEL, requests, caller, facts.now, f"Personnel event {event.number} was canceled")
    if never_joined:
        await withhold_from(db, event.identity_id, facts.now)


def _has_taken_effect(event: LockedEvent) -> bool:
    [provision] = [stage for stage in event.stages if stage.name is StageName.PROVISION]
    return provision.status is not WorkStatus.SCHEDULED


async def _disable_newcomer(db: Db, event: LockedEvent, caller: Caller, facts: Facts) -> None:
    if not await identities.disable_unless_last(db, event.identity_id, facts.now, facts.now):
        raise Conflict(administrators.LAST)
    await record(db, event, caller, "Identity Disabled", "The onboarding was canceled before it took effect", facts.now)


async def comment_on_event(db: Db, caller: Caller, id: UUID, raw: Json, facts: Facts) -> None:
    await queries.lock(db, id)
    body = check(CommentBody, raw, facts)
    await add_comment(db, id, author=caller.name, content=body.content, now=facts.now)


def _require_unfinished(event: LockedEvent) -> None:
    if event.status in FINISHED:
        raise Conflict(f"Personnel event is already {event.status}")


async def gather_facts(db: Db, raw: Json, facts: Facts) -> Facts:
    """Add to the facts what the validation of an event needs: settings, and the identities that the body mentions."""
    current = await settings.get(db)
    facts = msgspec.structs.replace(
        facts,
        enabled_custom_fields=current.enabled_custom_fields(),
        approval_lead_days=current.approval_lead_days,
        subject=guid(raw.get("identityId")),
    )
    return await with_mentioned_identities(db, facts, raw)


# Insert all rows in one statement, because a round trip takes longer than inserting a row.
# Fires notify_of_new_event (schema/notifications.sql) and keep_absences (schema/personnel_events.sql).
_CREATE = """
    WITH event AS (
        INSERT INTO personnel_events
            (id, type, reporter_id, reporter_name, identity_id, needed_on, needed_until, changes, custom_fields,
             confirms_email)
        VALUES (%(id)s, %(type)s, %(reporter_id)s, %(reporter_name)s, %(identity_id)s, %(needed_on)s,
                %(needed_until)s, %(changes)s, %(custom_fields)s, %(confirms_email)s)
    ), planned AS (
        INSERT INTO stages (event_id, sequence, name, status, scheduled_start)
        SELECT %(id)s, sequence, name, status, scheduled_start
        FROM unnest(%(names)s::text[], %(statuses)s::text[], %(starts)s::timestamptz[])
             WITH ORDINALITY AS stage (name, status, scheduled_start, sequence)
    ), commented AS (
        INSERT INTO comments (item_id, created_date, author, content)
        SELECT %(id)s, %(now)s, %(reporter_name)s, %(comment)s::text WHERE %(comment)s::text <> ''
    )
    INSERT INTO activity (item_id, created_date, author, action, content)
    VALUES (%(id)s, %(now)s, %(reporter_name)s, 'Created', %(said)s)"""


async def _create_event(
    db: Db,
    caller: Caller,
    facts: Facts,
    type: EventType,
    identity_id: UUID,
    body: EventBody,
    changes: IdentityChanges | None = None,
) -> UUID:
    id = new_id()
    end_date = body.end_date if isinstance(body, AbsenceBody) else None
    period = Period(body.effective_date, end_date, facts.zone)
    stages = plan(type, period, facts.approval_lead_days)
    await execute(
        db,
        _CREATE,
        id=id,
        type=type,
        reporter_id=caller.id,
        reporter_name=caller.name,
        identity_id=identity_id,
        changes=_json(identities.columns_of(changes) if changes else {}),
        custom_fields=_json(identities.custom_fields(changes) if changes else {}),
        needed_on=period.needed_on,
        needed_until=period.needed_until,
        # Store whether the caller may confirm an e-mail, because the scopes of the caller are not known when the event
        # changes the identity.
        confirms_email=Scope.IDENTITIES_WRITE in caller.scopes,
        names=[stage.name for stage in stages],
        statuses=[stage.status for stage in stages],
        starts=[stage.scheduled_start for stage in stages],
        now=facts.now,
        comment=body.comment or "",
        said=f"{type} with effect from {body.effective_date.astimezone(facts.zone).date()}",
    )
    return id


def _json(columns: Mapping[str, Any]) -> Jsonb:
    return Jsonb(columns, dumps=msgspec.json.encode)
