"""Record the plan, each step before and after it is sent, and the end of a request, each in its own transaction."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from rolecall.access_requests import moving
from rolecall.access_requests import queries as access_requests
from rolecall.access_requests.closed_loop import ask_import_to_verify
from rolecall.access_requests.model import ASSIGN
from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.carriers import queries
from rolecall.carriers.model import (
    CARRIER,
    REMOVALS,
    RETRY_PAUSES,
    CannotCarryOut,
    CarriedRequest,
    CarriedState,
    Carrier,
    CarrierMode,
    Inexpressible,
    RecordedStep,
    Step,
    StepState,
    StepVerb,
)
from rolecall.carriers.planning import plan
from rolecall.carriers.request_facts import request_facts
from rolecall.core.db import Db, execute, fetch_rows, fetch_value, insert_rows
from rolecall.core.errors import Conflict
from rolecall.core.text import counted
from rolecall.work_items.actions import record_activity
from rolecall.work_items.model import WorkStatus

CARRIED_OUT, LEFT, HELD, DRY_RUN = "Carried Out", "Left To Person", "Held", "Dry Run"
_MINUTE = timedelta(minutes=1)
_MEMBERSHIPS = frozenset({StepVerb.ADD_MEMBER, StepVerb.REMOVE_MEMBER})


class NotNow(Exception):
    """Raised to stop work on a request whose state changed meanwhile, or whose carrier was changed."""


async def lock_open(db: Db, request_id: UUID) -> datetime:
    """Lock a request and return when it was opened; raise NotNow if it is not open."""
    rows = await fetch_rows(
        db, "SELECT status, status_since FROM access_requests WHERE id = %(id)s FOR UPDATE", id=request_id
    )
    if not rows or rows[0][0] != WorkStatus.OPEN:
        raise NotNow
    since: datetime = rows[0][1]
    return since


async def lock_canceled(db: Db, request_id: UUID) -> None:
    """Lock a canceled request whose steps are not undone yet; raise NotNow if it is not such a request."""
    if not await fetch_rows(db, f"SELECT FROM {queries.CANCELED} AND r.id = %(id)s FOR UPDATE OF r", id=request_id):
        raise NotNow


async def begin(db: Db, application_id: UUID, carrier: Carrier, request_id: UUID, now: datetime) -> None:
    """Take up or continue a request: plan and record its steps, hold it, leave it to a person or record a dry run."""
    await _require_due(db, carrier, request_id, now)
    opened_on = await lock_open(db, request_id)
    known = await queries.carried(db, request_id)
    is_new = known is None or known.opened_on != opened_on
    if is_new:
        await _take_up(db, request_id, opened_on, now)
    elif known and known.planned_with:
        # Keep the plan if the settings of the carrier have not changed, or if all steps are done. In the latter case, a
        # worker died before it resolved the request.
        if known.planned_with == carrier.digest() or not await queries.unfinished_steps(db, request_id):
            return
        await drop_planned(db, request_id)
    (request,) = await access_requests.details(db, [request_id])
    try:
        # A new request must not be assigned to a person. A request that a person gave to the carrier may be assigned.
        if is_new:
            _require_free(request, known)
        steps = plan(request, carrier, await request_facts(db, request))
    except Inexpressible as why:
        await leave(db, request_id, str(why), now)
        return
    # A release does not cover a request that was reopened after it.
    is_released = known is not None and not is_new and known.is_released
    if carrier.mode is CarrierMode.DRY_RUN:
        await _record_dry_run(db, request, steps, now)
    elif is_released or not await _is_held(db, application_id, carrier, request_id, steps, now):
        await _record_plan(db, application_id, carrier, request_id, steps)


async def _require_due(db: Db, carrier: Carrier, request_id: UUID, now: datetime) -> None:
    """Lock the carrier; raise NotNow if it was changed or switched off, or if the request is no longer due.

    This is checked before each request and each step, because a batch may take a long time.
    """
    if await queries.lock_due(db, request_id, now) != carrier:
        raise NotNow


def _require_free(request: AccessRequestDetail, known: CarriedRequest | None) -> None:
    """Raise Inexpressible if a person must handle the request: it has an assignee, or was carried out and reopened."""
    if known and known.state == CarriedState.DONE:
        raise Inexpressible("it was carried out and then reopened, so a person must find out why")
    if request.assignee:
        raise Inexpressible(f"it is assigned to {request.assignee.name}")


async def take_up_again(db: Db, request_id: UUID, opened_on: datetime, now: datetime) -> None:
    """Give a request to the carrier again, even if it is assigned to a person or was carried out before.

    Raise Conflict if the request is already waiting or held.
    """
    known = await queries.carried(db, request_id)
    if known and known.opened_on == opened_on and known.state in (CarriedState.WAITING, CarriedState.HELD):
        raise Conflict(f"The carrier already has this request, in state {known.state}")
    await _take_up(db, request_id, opened_on, now)


async def _take_up(db: Db, request_id: UUID, opened_on: datetime, now: datetime) -> None:
    """Reset the progress of a request, so that its steps are planned again; delete steps that were not sent."""
    await execute(
        db,
        """INSERT INTO carried_requests (request_id, application_id, opened_on, state, next_on, changed_on, assignee_id)
           SELECT id, application_id, %(opened)s, 'Waiting', %(now)s, %(now)s, assignee_id
           FROM access_requests WHERE id = %(id)s
           ON CONFLICT (request_id) DO UPDATE SET opened_on = EXCLUDED.opened_on, state = 'Waiting', reason = '',
               attempts = 0, next_on = EXCLUDED.next_on, changed_on = EXCLUDED.changed_on, is_released = false,
               assignee_id = EXCLUDED.assignee_id, planned_with = ''""",
        id=request_id,
        opened=opened_on,
        now=now,
    )
    await drop_planned(db, request_id)


async def drop_planned(db: Db, request_id: UUID) -> None:
    """Delete the steps that were not sent. Mark sent steps without a response as done, with an unknown result."""
    await execute(db, "DELETE FROM carrier_steps WHERE request_id = %(id)s AND state = 'Planned'", id=request_id)
    await execute(
        db,
        # Sent steps are kept, so that `unfinished_steps` recognizes changes that were sent.
        "UPDATE carrier_steps SET state = 'Done', answer = 'not known' WHERE request_id = %(id)s AND state = 'Sent'",
        id=request_id,
    )


async def _record_dry_run(db: Db, request: AccessRequestDetail, steps: Sequence[Step], now: datetime) -> None:
    would = "; ".join(step.described() for step in steps)
    await set_state(db, request.id, CarriedState.DRY_RUN, would, now)
    await _say(db, request.id, DRY_RUN, f"Dry run: the carrier would {would}", now)


async def _is_held(
    db: Db, application_id: UUID, carrier: Carrier, request_id: UUID, steps: Sequence[Step], now: datetime
) -> bool:
    """Hold a request whose removals would exceed the limit of the brake; return whether it is held."""
    removals = sum(step.verb in REMOVALS for step in steps)
    before = await queries.removals_since(db, application_id, now - queries.HOUR)
    if not removals or before + removals <= carrier.removals_per_hour:
        return False
    why = (
        f"{counted(before, 'removal')} in the last hour and {removals:,} more would exceed the limit of "
        f"{carrier.removals_per_hour:,}; a person must release the request"
    )
    await set_state(db, request_id, CarriedState.HELD, why, now)
    await _say(db, request_id, HELD, f"Held by the brake of the carrier: {why}", now)
    return True


async def _record_plan(db: Db, application_id: UUID, carrier: Carrier, request_id: UUID, steps: Sequence[Step]) -> None:
    # Continue the numbers of earlier plans, whose steps are kept.
    first = await fetch_value(
        db, "SELECT coalesce(max(position) + 1, 0) FROM carrier_steps WHERE request_id = %(id)s", id=request_id
    )
    rows = [
        {
            "request_id": request_id,
            "position": position,
            "application_id": application_id,
            "step": step,
            "is_removal": step.verb in REMOVALS,
            "state": StepState.PLANNED,
        }
        for position, step in enumerate(steps, first)
    ]
    await insert_rows(db, "carrier_steps", rows)
    await execute(
        db,
        "UPDATE carried_requests SET planned_with = %(digest)s WHERE request_id = %(id)s",
        id=request_id,
        digest=carrier.digest(),
    )


async def begin_step(
    db: Db, application_id: UUID, carrier: Carrier, request_id: UUID, recorded: RecordedStep, now: datetime
) -> bool:
    """Record a step as sent before it is sent; return False and postpone the request if the rate limit is reached.

    Raise NotNow if the request is no longer open, due or waiting, or if the carrier was changed or switched off. Raise
    CannotCarryOut if a person must take over.
    """
    await _require_due(db, carrier, request_id, now)
    opened_on = await lock_open(db, request_id)
    known = await queries.carried(db, request_id)
    if known is None or known.state != CarriedState.WAITING or known.opened_on != opened_on:
        raise NotNow
    if reason := await queries.obstacle(db, request_id, recorded.step.account):
        raise CannotCarryOut(reason)
    full = await queries.nth_last_sent(db, application_id, carrier.steps_per_minute)
    if full and full + _MINUTE > now:
        await wait_until(db, request_id, full + _MINUTE, "the rate limit is reached", now)
        return False
    await execute(
        db,
        """UPDATE carrier_steps SET state = 'Sent', sent_on = %(now)s
           WHERE request_id = %(id)s AND position = %(position)s AND state <> 'Done'""",
        id=request_id,
        position=recorded.position,
        now=now,
    )
    return True


async def end_step(db: Db, request_id: UUID, recorded: RecordedStep, answer: str, now: datetime) -> None:
    """Record the result of a step, unless it is already recorded."""
    done = await execute(
        db,
        """UPDATE carrier_steps SET state = 'Done', answer = %(answer)s
           WHERE request_id = %(id)s AND position = %(position)s AND state = 'Sent'""",
        id=request_id,
        position=recorded.position,
        answer=answer,
    )
    if done:
        words = recorded.step.described()
        await _say(db, request_id, CARRIED_OUT, f"{words[:1].upper()}{words[1:]}: {answer}", now)


async def refuse_step(db: Db, request_id: UUID, recorded: RecordedStep, reason: str, now: datetime) -> None:
    """Record that the step changed nothing, so that a later attempt does not treat it as sent."""
    await execute(
        db,
        """UPDATE carrier_steps SET state = 'Planned', answer = %(reason)s
           WHERE request_id = %(id)s AND position = %(position)s AND state = 'Sent'""",
        id=request_id,
        position=recorded.position,
        reason=reason,
    )


async def finish(db: Db, application_id: UUID, request_id: UUID, now: datetime) -> None:
    """Resolve a request whose steps are done. If the live source covers the changes, an import must verify them."""
    await queries.lock(db, application_id)
    await lock_open(db, request_id)
    await set_state(db, request_id, CarriedState.DONE, "", now)
    rows = await fetch_rows(
        db, "SELECT DISTINCT step ->> 'verb' FROM carrier_steps WHERE request_id = %(id)s", id=request_id
    )
    verbs = {StepVerb(verb) for (verb,) in rows}
    if await queries.covers(db, application_id, memberships=bool(verbs & _MEMBERSHIPS)):
        # Add the requirement to verify before calling `resolve`, which completes requests without such a requirement.
        await ask_import_to_verify(db, [request_id])
        await execute(
            db,
            "UPDATE carriers SET unverified_on = %(now)s WHERE application_id = %(id)s",
            id=application_id,
            now=now,
        )
    await moving.resolve(db, [request_id], CARRIER, now, "The carrier provisioned the access")


async def leave(db: Db, request_id: UUID, reason: str, now: datetime) -> None:
    """Leave a request to a person: record why, and assign it to a provisioner if it has no assignee."""
    await lock_open(db, request_id)
    await set_state(db, request_id, CarriedState.LEFT, reason, now)
    ((finished, planned),) = await fetch_rows(
        db,
        "SELECT count(*) FILTER (WHERE state = 'Done'), count(*) FROM carrier_steps WHERE request_id = %(id)s",
        id=request_id,
    )
    progress = f"; {finished} of {planned} steps are done" if planned else ""
    await _say(db, request_id, LEFT, f"The carrier left the request to a person: {reason}{progress}", now)
    provisioners = await fetch_rows(
        db,
        """SELECT p.reviewer_id, p.reviewer_name FROM responses p JOIN identities i ON i.id = p.reviewer_id
           JOIN access_requests r ON r.id = p.request_id AND r.assignee_id IS NULL
           WHERE p.request_id = %(id)s AND p.type = 'Resolve' AND p.asked AND i.status = 'Active'
           ORDER BY p.rule, p.position LIMIT 1""",
        id=request_id,
    )
    for id, name in provisioners:
        text = f"Assigned to {name}, because the carrier left the request to a person"
        await moving.move(db, ASSIGN, [request_id], CARRIER, now, text, assignee_id=id, assignee_name=name)


async def postpone(db: Db, request_id: UUID, reason: str, now: datetime) -> None:
    """Retry a request after a pause; after the last retry, leave it to a person."""
    await lock_open(db, request_id)
    known = await queries.carried(db, request_id)
    if known is None:
        return
    if known.attempts >= len(RETRY_PAUSES):
        await leave(db, request_id, reason, now)
        return
    await execute(db, "UPDATE carried_requests SET attempts = attempts + 1 WHERE request_id = %(id)s", id=request_id)
    await wait_until(db, request_id, now + RETRY_PAUSES[known.attempts], reason, now)


async def wait_until(db: Db, request_id: UUID, moment: datetime, reason: str, now: datetime) -> None:
    await execute(
        db,
        """UPDATE carried_requests SET next_on = %(moment)s, reason = %(reason)s, changed_on = %(now)s
           WHERE request_id = %(id)s AND state = 'Waiting'""",
        id=request_id,
        moment=moment,
        reason=reason,
        now=now,
    )


async def set_state(db: Db, request_id: UUID, state: CarriedState, reason: str, now: datetime) -> None:
    await execute(
        db,
        """UPDATE carried_requests SET state = %(state)s, reason = %(reason)s, changed_on = %(now)s
           WHERE request_id = %(id)s""",
        id=request_id,
        state=state,
        reason=reason,
        now=now,
    )


async def _say(db: Db, request_id: UUID, action: str, content: str, now: datetime) -> None:
    await record_activity(db, request_id, author=CARRIER.name, action=action, content=content, now=now)
