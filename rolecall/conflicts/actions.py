"""Simulate rules and duties, and request, approve and withdraw exceptions for conflicts."""

from datetime import datetime
from uuid import UUID

import msgspec
from psycopg import Rollback

from rolecall.accounts.matching import take_turn
from rolecall.conflicts import approving, queries, shapes
from rolecall.conflicts.model import EXCEPTION_MOVES, ApprovalPart, ExceptionStatus
from rolecall.conflicts.shapes import ConflictDetail, ConflictException
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check, valid_fields
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.errors import Conflict, Problem
from rolecall.core.ids import new_id
from rolecall.core.paging import Page
from rolecall.duties import actions as duties
from rolecall.duties import queries as duty_queries
from rolecall.duties.model import CONFLICT_MOVES, ConflictStatus
from rolecall.identities.queries import with_mentioned_identities
from rolecall.tokens.queries import own_id
from rolecall.work_items.actions import record_activity


async def simulate_rule(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> shapes.RuleSimulation:
    """Return how many conflicts would begin, end and remain if the draft were committed.

    Also return a page of the resulting conflicts. Commit the draft to count and read them, then roll back.
    """
    body = check(shapes.RuleSimulationBody, raw, facts)
    rule = await duty_queries.get_rule(db, id)
    duties.draft_of(rule)
    before = await queries.people_in_conflict(db, rule.id)
    after = before
    found = Page[shapes.ConflictItem]([], 0, body.page, 0, 0)
    async with db.transaction() as simulated:
        await duties.commit_rule(db, caller, id, facts.now)
        after = await queries.people_in_conflict(db, rule.id)
        found = await queries.of_rule(db, rule.id, body.page)
        # Undo the commit and leave the block without an error, so that what was read in it can be returned.
        raise Rollback(simulated)
    return shapes.RuleSimulation(
        len(after - before),
        len(before - after),
        len(before & after),
        found.items,
        found.total_count,
        found.page,
        found.page_size,
        found.total_pages,
    )


async def simulate_duty(db: Db, id: str, raw: Json, facts: Facts) -> shapes.DutySimulation:
    """Return how many conflicts of each rule would begin, end and remain if the duty were changed; change nothing."""
    duty = await duty_queries.get(db, id)
    before = await queries.people_by_rule(db, duty.id)
    after = before
    async with db.transaction() as simulated:
        duty = await duties.change_duty(db, id, raw, facts)
        after = await queries.people_by_rule(db, duty.id)
        raise Rollback(simulated)
    rules = [
        shapes.SimulatedRule(
            rule.id,
            rule.name,
            len(after[rule] - people),
            len(people - after[rule]),
            len(people & after[rule]),
        )
        for rule, people in before.items()
    ]
    counts = [sum(getattr(rule, name) for rule in rules) for name in ("beginning", "ending", "staying")]
    return shapes.DutySimulation(duty.holders, *counts, rules, duty.warnings)


async def request_exception(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ConflictDetail:
    """Request to keep a conflict until a date, under a compensating control. Two people must approve."""
    conflict = await _locked(db, id, facts.now)
    facts = await with_mentioned_identities(db, facts, raw)
    # Look up the owner of the control before the body is checked, so that one response reports all problems.
    owner = valid_fields(shapes.NewException, raw, facts).get("control_owner_id")
    body = check(shapes.NewException, raw, facts, await _problems_of_control(db, conflict, owner))
    _require_current(conflict)
    await approving.require_may_request(db, caller, conflict)
    if conflict.pending:
        raise Conflict("An exception for this conflict is already waiting for approval; withdraw it first")
    # Fires the trigger notify_of_new_exception in schema/notifications.sql.
    await execute(
        db,
        """INSERT INTO conflict_exceptions (id, conflict_id, rule_id, identity_id, reason, control, control_owner_id,
                                            until, status, requested_by, requested_by_name, created_at, requester_id,
                                            duties)
           VALUES (%(id)s, %(conflict)s, %(rule)s, %(identity)s, %(reason)s, %(control)s, %(control_owner)s,
                   %(until)s, 'Pending', %(caller_id)s, %(caller_name)s, %(now)s, %(requester)s, %(duties)s)""",
        id=new_id(),
        conflict=conflict.id,
        rule=conflict.rule.id,
        identity=conflict.identity.id,
        reason=body.reason,
        control=body.control,
        control_owner=body.control_owner_id,
        until=body.until,
        caller_id=caller.id,
        caller_name=caller.name,
        now=facts.now,
        # A token counts as its owner, so that the owner cannot approve what they requested with it.
        requester=await own_id(db, caller),
        # The exception covers only these duties: it ends as Outgrown if the person gains another duty of the rule.
        duties=[side.duty.id for side in conflict.sides],
    )
    said = f"Requested an exception until {body.until:%Y-%m-%d}"
    await record_activity(db, conflict.id, author=caller.name, action="Exception", content=said, now=facts.now)
    return await queries.get(db, conflict.id, facts.now)


async def _problems_of_control(db: Db, conflict: ConflictDetail, owner: UUID | None) -> list[Problem]:
    if owner == conflict.identity.id:
        return [Problem("controlOwnerId", "Control owner must be a person other than the one in conflict")]
    is_valid = owner is None or await queries.is_active(db, owner)
    return [] if is_valid else [Problem("controlOwnerId", "Control owner must be an active person")]


async def approve_exception(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ConflictDetail:
    """Record an approval. The second one puts the exception in force."""
    conflict = await _locked(db, id, facts.now)
    body = check(shapes.ApproveExceptionBody, raw, await with_mentioned_identities(db, facts, raw))
    requested = conflict.pending
    if not requested:
        raise Conflict("No exception for this conflict is waiting for approval; request one first")
    _require_current(conflict)
    # The tick that ends expired exceptions might not have run yet.
    if requested.until <= facts.now:
        raise Conflict("The exception has expired; request it again with a later end date")
    await _require_control_owner(db, requested)
    requested = await _without_invalid_approvals(db, conflict, requested, facts.now)
    approver = await approving.approver_of(db, caller, conflict, requested, body, facts.now)
    # Fires the trigger notify_of_approval in schema/notifications.sql.
    await execute(
        db,
        """INSERT INTO exception_approvals (exception_id, position, part, approver_id, approver_name, approved_on,
                                            stand_in_id, stand_in_name, recorder_id, through_ids)
           VALUES (%(id)s, %(position)s, %(part)s, %(approver)s, %(name)s, %(now)s, %(stand_in)s, %(stand_in_name)s,
                   %(recorder)s, %(through)s)""",
        through=sorted(approver.through),
        recorder=await own_id(db, caller),
        id=requested.id,
        position=len(requested.approvals),
        part=approver.part,
        approver=approver.id,
        name=approver.name,
        now=facts.now,
        stand_in=approver.stand_in.id if approver.stand_in else None,
        stand_in_name=approver.stand_in.name if approver.stand_in else None,
    )
    # If there was an approval before, this is the second one.
    if requested.approvals:
        await _put_in_force(db, conflict, requested, facts.now)
    await _record(db, conflict.id, caller, _approved(approver, caller), body.comment, facts.now)
    return await queries.get(db, conflict.id, facts.now)


async def _require_control_owner(db: Db, requested: ConflictException) -> None:
    if not await queries.is_active(db, requested.control_owner.id):
        raise Conflict(
            f"{requested.control_owner.name}, who owns the control, is not active:"
            " withdraw the exception and request it again with another owner of the control"
        )


async def _without_invalid_approvals(
    db: Db, conflict: ConflictDetail, requested: ConflictException, now: datetime
) -> ConflictException:
    """Delete approvals of people who may no longer give them; return the exception with the remaining approvals."""
    people = await approving.approvers_for(db, conflict)
    invalid = [each for each in requested.approvals if not people.may_take(each.approver.id, each.part)]
    if not invalid:
        return requested
    # Fires the trigger notify_of_removed_approval in schema/notifications.sql.
    await execute(
        db,
        "DELETE FROM exception_approvals WHERE exception_id = %(id)s AND part = ANY(%(parts)s)",
        id=requested.id,
        parts=[each.part for each in invalid],
    )
    for each in invalid:
        said = f"The approval by {each.approver.name} no longer counts, because this person can no longer give it"
        await record_activity(db, conflict.id, author="System", action="Exception", content=said, now=now)
    kept = [each for each in requested.approvals if each not in invalid]
    return msgspec.structs.replace(requested, approvals=kept)


_PARTS = {ApprovalPart.RULE_OWNER: "the rule's owner", ApprovalPart.SECOND: "the second approver"}


def _approved(approver: approving.Approver, caller: Caller) -> str:
    """Return the text of the activity entry; it names the approver and the stand-in or caller who acted for them."""
    part, stand_in = _PARTS[approver.part], approver.stand_in
    said = f"{(stand_in or approver).name} approved the exception as {part}"
    said += f", standing in for {approver.name}" if stand_in else ""
    return said if caller.id == (stand_in or approver).id else f"{said}, recorded by {caller.name}"


async def _put_in_force(db: Db, conflict: ConflictDetail, requested: ConflictException, now: datetime) -> None:
    """Put the requested exception in force, in place of any earlier one, and mark the conflict as excepted."""
    # End the earlier exception first, because a person may have only one in force for a rule.
    if conflict.in_force:
        await _move(db, conflict.in_force, ExceptionStatus.WITHDRAWN, now)
    await _move(db, requested, ExceptionStatus.APPROVED, now)
    await _set_excepted(db, conflict.id)


async def withdraw_exception(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ConflictDetail:
    conflict = await _locked(db, id, facts.now)
    body = check(shapes.WithdrawExceptionBody, raw, facts)
    found = conflict.withdrawable
    if not found:
        raise Conflict("The conflict has no exception to withdraw")
    await approving.require_may_withdraw(db, caller, conflict, found)
    await _move(db, found, ExceptionStatus.WITHDRAWN, facts.now)
    # If this conflict has ended, the person may have a newer conflict with the rule, which is then reopened instead.
    opened = await fetch_value(db, "SELECT reopen_conflicts(%(ids)s)", ids=[found.id])
    # If the exception was pending, or if the conflict has ended and not begun again, nothing is reopened. In this case,
    # record the withdrawal on this conflict.
    for each in opened or [conflict.id]:
        await _record(db, each, caller, "Withdrew the exception", body.comment, facts.now)
    return await queries.get(db, conflict.id, facts.now)


async def expire_exceptions(db: Db, now: datetime) -> None:
    """End the exceptions whose end date has passed, and reopen the conflicts that they covered."""
    expired = "SELECT id FROM conflict_exceptions WHERE status IN ('Pending', 'Approved') AND until <= %(now)s"
    # This runs with every tick, so return before the lock if no exception has expired.
    if not await fetch_value(db, f"SELECT EXISTS ({expired})", now=now):
        return
    await take_turn(db)
    await execute(
        db,
        f"SELECT end_exceptions(ARRAY({expired}), %(status)s, 'The exception expired', %(now)s)",
        status=ExceptionStatus.EXPIRED,
        now=now,
    )


async def _locked(db: Db, id: str, now: datetime) -> ConflictDetail:
    """Take the lock that all writers of conflicts and exceptions take, and return a conflict."""
    await take_turn(db)
    return await queries.get(db, id, now)


def _require_current(conflict: ConflictDetail) -> None:
    if conflict.status is ConflictStatus.ENDED:
        raise Conflict("The conflict has ended, so it needs no exception")


async def _move(db: Db, exception: ConflictException, to: ExceptionStatus, now: datetime) -> None:
    moment = "approved_on" if to is ExceptionStatus.APPROVED else "ended_on"
    # Fires the trigger notify_of_decided_exception in schema/notifications.sql.
    moved = await execute(
        db,
        f"""UPDATE conflict_exceptions SET status = %(to)s, {moment} = %(now)s
            WHERE id = %(id)s AND status = ANY(%(allowed)s)""",
        id=exception.id,
        to=to,
        now=now,
        allowed=[status for status, moves in EXCEPTION_MOVES.items() if to in moves],
    )
    if not moved:
        raise Conflict(f"An exception that is {exception.status} cannot become {to}")


async def _set_excepted(db: Db, id: UUID) -> None:
    # It is no error if no row is updated: because of an earlier exception, the conflict may be Excepted already.
    await execute(
        db,
        "UPDATE conflicts SET status = %(to)s WHERE id = %(id)s AND status = ANY(%(allowed)s)",
        id=id,
        to=ConflictStatus.EXCEPTED,
        allowed=[status for status, moves in CONFLICT_MOVES.items() if ConflictStatus.EXCEPTED in moves],
    )


async def _record(db: Db, id: UUID, caller: Caller, said: str, comment: str | None, now: datetime) -> None:
    await record_activity(db, id, author=caller.name, action="Exception", content=said, now=now)
    if comment is not None:
        await record_activity(db, id, author=caller.name, action="Comment", content=comment, now=now)
