"""Create access requests, respond to them, and move them from one status to the next.

Each action locks its request, checks that the status allows the move and that the caller may make it, and then changes
the status. `model.py` lists the moves, `moving.py` has their SQL, and `permitted.py` has the rules on who may make
them.
"""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_models.model import RANK
from rolecall.access_requests import moving, opening, queries, rechecking, separation
from rolecall.access_requests.creation import create_enriched, create_requests
from rolecall.access_requests.model import (
    ASSIGN,
    AWAITED,
    CANCEL,
    REJECT,
    REOPEN,
    RESOLVE,
    RESPONSE_VERBS,
    RESUME,
    SNOOZE,
    VERIFY,
    Move,
    NewRequest,
    Response,
)
from rolecall.access_requests.permitted import (
    ALONE,
    CHOSEN_BY_THEM,
    DECIDED,
    OF_OWNER,
    ONLY_YOURSELF,
    Standing,
    owner_refusal,
    refusal,
    require_may_request,
    response_refusal,
    standing_of,
)
from rolecall.access_requests.request_body import read_request
from rolecall.access_requests.shapes import (
    AccessRequestDetail,
    AssignRequestBody,
    NewRequestBody,
    RequestConflicts,
    RespondBody,
    SnoozeBody,
    VerbBody,
)
from rolecall.accounts.model import PermissionName, meant_among
from rolecall.applications.queries import with_mentioned_applications
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute, fetch_one, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Invalid, NotFound, Problem
from rolecall.core.ids import guid, known_guid
from rolecall.core.roles import Role
from rolecall.core.text import is_blank
from rolecall.identities import queries as identities
from rolecall.identities.model import IdentityStatus
from rolecall.settings.policy import RequirementType
from rolecall.stand_ins.queries import acting_for, as_person, between
from rolecall.work_items.actions import add_comment, record_activity
from rolecall.work_items.model import WorkStatus
from rolecall.work_items.shapes import CommentBody


async def create_request(db: Db, caller: Caller, new: NewRequest, now: datetime) -> UUID:
    (id,) = await create_requests(db, caller, [new], now)
    return id


async def request_access(db: Db, caller: Caller, raw: Json, facts: Facts) -> AccessRequestDetail:
    """Check the body of a new request, report every problem at once, and create the request."""
    await require_may_request(db, caller, guid(raw.get("identityId")))
    facts = await with_mentioned_applications(db, await identities.with_mentioned_identities(db, facts, raw), raw)
    new, problems = await read_request(db, raw, facts)
    if new and not problems:
        (found,) = await separation.conflicts_created(db, [new])
        problems = separation.refusals(new, found)
    body = check(NewRequestBody, raw, facts, problems)
    # `check` raises an error if `read_request` returned None or problems; otherwise `found` is set.
    assert new
    new = msgspec.structs.replace(new, scheduled_start=body.scheduled_start, comment=body.comment)
    (id,) = await create_enriched(db, caller, [new], facts.now, [found])
    return await queries.get(db, id)


async def preview_request(db: Db, caller: Caller, raw: Json, facts: Facts) -> RequestConflicts:
    """Create the request, return the conflicts that it would cause, and roll back."""
    async with db.transaction(force_rollback=True):
        made = await request_access(db, caller, raw, facts)
        return await queries.conflicts_of(db, made.id)


class _LockedRequest(msgspec.Struct, frozen=True):
    """A request whose row is locked while a verb changes it.

    `now` is at least the time of the last activity, because another verb may have run while this one waited for the
    lock. `owner` is the `Standing` of the person who owns the calling token, if any.
    """

    id: UUID
    status: WorkStatus
    standing: Standing
    owner: Standing | None
    now: datetime


async def _lock(db: Db, caller: Caller, id: str | UUID, now: datetime) -> _LockedRequest:
    known = known_guid("AccessRequest", str(id))
    status = await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s FOR UPDATE", id=known)
    if status is None:
        raise NotFound("AccessRequest", id)
    standing = await standing_of(db, caller.id, known)
    owner = await standing_of(db, standing.owner_id, known) if standing.owner_id else None
    return _LockedRequest(known, WorkStatus(status), standing, owner, max(now, standing.latest))


def _check_move(locked: _LockedRequest, move: Move) -> None:
    if locked.status not in move.allowed:
        raise Conflict(f"An access request that is {locked.status} cannot be {move.name.lower()}")
    if why := refusal(locked.standing, move) or owner_refusal(locked.owner, move):
        raise Conflict(why)


async def _add_comment(db: Db, locked: _LockedRequest, caller: Caller, comment: str | None) -> None:
    if comment is not None:
        await add_comment(db, locked.id, author=caller.name, content=comment, now=locked.now)


async def _perform(
    db: Db, caller: Caller, id: str, raw: Json, facts: Facts, move: Move, verb: moving.Verb
) -> AccessRequestDetail:
    locked, body = await _lock(db, caller, id, facts.now), check(VerbBody, raw, facts)
    _check_move(locked, move)
    alone = _require_reason(locked, move, body.comment)
    await _add_comment(db, locked, caller, body.comment)
    # Reopening and resuming may cancel or postpone the request instead (opening.py); the response shows this.
    await verb(db, [locked.id], caller, locked.now)
    await _record_alone(db, locked, caller, alone)
    return await queries.get(db, locked.id)


def _require_reason(
    locked: _LockedRequest, move: Move, comment: str | None, reviewer_id: UUID | None = None
) -> str | None:
    """If a person decides alone despite separation of duties, require a reason and return it; else return None."""
    standing = locked.standing
    if move not in DECIDED.values() or not standing.is_alone or standing.is_independent(reviewer_id):
        return None
    if is_blank(comment or ""):
        raise Invalid.on("comment", ALONE)
    return comment


async def _record_alone(db: Db, locked: _LockedRequest, caller: Caller, reason: str | None) -> None:
    if reason is not None:
        said = f"{caller.name} decided alone, because no other person could: {reason}"
        await record_activity(db, locked.id, author=caller.name, action="Single-Handed", content=said, now=locked.now)


async def resolve(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    """Mark an open request as provisioned. This completes it, unless a rule requires that it is verified."""
    return await _perform(db, caller, id, raw, facts, RESOLVE, moving.resolve)


async def verify(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    """Confirm that the provisioned access is as requested."""
    return await _perform(db, caller, id, raw, facts, VERIFY, moving.verify)


async def reopen(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    """Send a resolved request back to provisioning."""
    return await _perform(db, caller, id, raw, facts, REOPEN, opening.reopen)


async def cancel(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    """Cancel a request that is not finished."""
    return await _perform(db, caller, id, raw, facts, CANCEL, moving.cancel)


async def resume(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    """Resume a snoozed request before its date."""
    return await _perform(db, caller, id, raw, facts, RESUME, opening.resume)


async def snooze(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    """Postpone an open request until a date."""
    locked, body = await _lock(db, caller, id, facts.now), check(SnoozeBody, raw, facts)
    _check_move(locked, SNOOZE)
    await _add_comment(db, locked, caller, body.comment)
    text = f"Snoozed until {body.until.isoformat().replace('+00:00', 'Z')}"
    await moving.move(db, SNOOZE, [locked.id], caller, locked.now, text, snoozed_until=body.until)
    return await queries.get(db, locked.id)


async def assign(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    """Assign the request to a person."""
    locked = await _lock(db, caller, id, facts.now)
    body = check(AssignRequestBody, raw, await identities.with_mentioned_identities(db, facts, raw))
    assignee = await identities.get(db, str(body.assignee_id))
    name = f"{assignee.first_name} {assignee.last_name}"
    if assignee.status != IdentityStatus.ACTIVE:
        raise Invalid.on("assigneeId", f"{name} is {assignee.status}; assign an active person")
    _check_move(locked, ASSIGN)
    await _add_comment(db, locked, caller, body.comment)
    text = f"Assigned to {name}"
    await moving.move(db, ASSIGN, [locked.id], caller, locked.now, text, assignee_id=assignee.id, assignee_name=name)
    return await queries.get(db, locked.id)


async def comment(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    """Comment on a request."""
    locked, body = await _lock(db, caller, id, facts.now), check(CommentBody, raw, facts)
    await _add_comment(db, locked, caller, body.content)
    return await queries.get(db, locked.id)


async def respond(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    """Record a reviewer's response to a requirement."""
    locked, body = await _lock(db, caller, id, facts.now), check(RespondBody, raw, facts)
    reviewer = await _asked_reviewer(db, locked, body, caller)
    if locked.status != AWAITED[body.type]:
        raise Conflict(f"An access request that is {locked.status} does not wait for a response of type {body.type}")
    if reviewer.obstacle:
        raise Conflict(f"{reviewer.name} {reviewer.obstacle} and cannot respond; another reviewer must respond")
    acting, standing = await _acting(db, locked, caller)
    if why := response_refusal(standing, acting, body.type, reviewer.id):
        raise Conflict(why if acting is caller else OF_OWNER.format(why))
    stand_in = await _stand_in(db, locked, body, reviewer.id, acting)
    if stand_in and await _is_chosen_by_party(db, locked, body.type, reviewer.id, stand_in):
        raise Conflict(CHOSEN_BY_THEM)
    alone = _require_reason(locked, DECIDED[body.type], body.comment, reviewer.id)
    await _lower_access(db, locked, body)
    if not await _record_response(db, locked, body, reviewer.id, stand_in):
        raise Conflict(f"{reviewer.name} has already responded")
    await _add_comment(db, locked, caller, body.comment)
    said = _said(body, reviewer, caller, stand_in)
    await _apply_response(db, locked, body, caller, locked.now, said)
    await _record_alone(db, locked, caller, alone)
    return await queries.get(db, locked.id)


async def _acting(db: Db, locked: _LockedRequest, caller: Caller) -> tuple[Caller, Standing]:
    """Return the caller whose permissions apply, and the standing of that caller.

    For a token whose owner is not an administrator, this is the owner of the token.
    """
    if locked.owner is None or locked.owner.role == Role.ADMINISTRATOR:
        return caller, locked.standing
    return await as_person(db, locked.owner.caller_id, locked.now), locked.owner


class _Reviewer(msgspec.Struct, frozen=True):
    """A reviewer who is asked; `obstacle` says why they must not respond."""

    id: UUID
    name: str
    obstacle: str | None


async def _stand_in(
    db: Db, locked: _LockedRequest, body: RespondBody, reviewer_id: UUID, caller: Caller
) -> Caller | None:
    """Return the stand-in who responds for the reviewer, or None. A token names the stand-in in the body."""
    if caller.is_person or body.stand_in_id is None:
        if body.stand_in_id not in (None, caller.id):
            raise Invalid.on("standInId", ONLY_YOURSELF)
        return caller if (reviewer_id, body.type) in caller.stands_in_for else None
    stand_in = await acting_for(db, body.stand_in_id, reviewer_id, body.type, locked.now)
    standing = await standing_of(db, stand_in.id, locked.id)
    if why := response_refusal(standing, stand_in, body.type, reviewer_id):
        raise Conflict(why)
    return stand_in


async def _is_chosen_by_party(
    db: Db, locked: _LockedRequest, type: RequirementType, reviewer_id: UUID, stand_in: Caller
) -> bool:
    """Return whether a person who must not decide is in the chain between the reviewer and the stand-in."""
    # A person who must not decide must not choose who decides either.
    excluded = await fetch_value(
        db,
        "SELECT excluded_stand_ins(r, %(type)s, %(reviewer)s) FROM access_requests r WHERE r.id = %(id)s",
        id=locked.id,
        type=type,
        reviewer=reviewer_id,
    )
    return bool({*excluded} & await between(db, reviewer_id, stand_in, type, locked.now))


def _said(body: RespondBody, reviewer: _Reviewer, caller: Caller, stand_in: Caller | None) -> str:
    """Return the text of the activity entry, which names the reviewer and the person who responded for them."""
    verb = RESPONSE_VERBS[body.type, body.response]
    said = f"{stand_in.name} {verb}, standing in for {reviewer.name}" if stand_in else f"{reviewer.name} {verb}"
    return said if caller.id in (reviewer.id, stand_in and stand_in.id) else f"{said}, recorded by {caller.name}"


async def _asked_reviewer(db: Db, locked: _LockedRequest, body: RespondBody, caller: Caller) -> _Reviewer:
    reviewer = await fetch_one(
        db,
        _Reviewer,
        """SELECT p.reviewer_id AS id, p.reviewer_name AS name, obstacle_of(p.reviewer_id) AS obstacle FROM responses p
           WHERE p.request_id = %(id)s AND p.type = %(type)s AND p.reviewer_id = %(reviewer)s AND p.asked LIMIT 1""",
        id=locked.id,
        type=body.type,
        reviewer=body.reviewer_id or caller.id,
    )
    if reviewer:
        return reviewer
    if body.reviewer_id is None:
        raise Invalid.on("reviewerId", "Reviewer ID is required: name the reviewer whose response this is")
    name = await identities.name_of(db, body.reviewer_id)
    asked = f"{name} is not asked to {body.type.lower()} this request"
    raise Invalid.on("reviewerId", asked if name else f"Identity with id {body.reviewer_id} not found")


async def _lower_access(db: Db, locked: _LockedRequest, body: RespondBody) -> None:
    """Lower the approved access. A reviewer can neither raise it nor undo what another reviewer lowered."""
    if not body.approved_access:
        return
    if (body.type, body.response) != (RequirementType.APPROVE, Response.APPROVED):
        raise Invalid.on("approvedAccess", "Approved access can be set only when approving the request")
    rows = await fetch_rows(
        db,
        """SELECT header, section, permission, coalesce(lowered_access, requested_access), position
           FROM privileges WHERE request_id = %(id)s""",
        id=locked.id,
    )
    standing = {PermissionName(*name): (access, position) for *name, access, position in rows}
    names = meant_among(standing, [lowered.key for lowered in body.approved_access])
    problems = []
    for index, (lowered, name) in enumerate(zip(body.approved_access, names, strict=True)):
        field = f"approvedAccess.{index}"
        if name not in standing:
            problems.append(Problem(field, "The request does not contain this privilege"))
        elif name in names[:index]:
            problems.append(Problem(field, "Approved access must not name a permission twice"))
        elif lowered.access is None:
            problems.append(Problem(f"{field}.access", "Access is required"))
        elif lowered.access != standing[name][0] and RANK[lowered.access] >= RANK[standing[name][0]]:
            problems.append(Problem(f"{field}.access", f"Access must be lower than {standing[name][0]}"))
    if problems:
        raise Invalid(*problems)
    # Lower access is refused only because of conflicts that it adds, so find the conflicts before the change too.
    before = (await rechecking.recheck(db, [locked.id])).get(locked.id)
    await execute(
        db,
        """UPDATE privileges p SET lowered_access = l.access
           FROM unnest(%(positions)s::int[], %(access)s::text[]) AS l (position, access)
           WHERE p.request_id = %(id)s AND p.position = l.position""",
        id=locked.id,
        positions=[standing[name][1] for name in names],
        access=[lowered.access for lowered in body.approved_access],
    )
    await rechecking.refuse_new_conflicts(db, locked.id, before)


async def _record_response(
    db: Db, locked: _LockedRequest, body: RespondBody, reviewer_id: UUID, stand_in: Caller | None
) -> int:
    """Store the response under every rule of this type that waits for the reviewer; return the number of rules."""
    # Fires the trigger note_met_rules in schema/notifications.sql.
    return await execute(
        db,
        """UPDATE responses SET response = %(response)s, stand_in_id = %(stand_in)s, stand_in_name = %(stand_in_name)s
           WHERE request_id = %(id)s AND type = %(type)s AND reviewer_id = %(reviewer)s AND response = 'Pending'""",
        id=locked.id,
        type=body.type,
        reviewer=reviewer_id,
        response=body.response,
        stand_in=stand_in.id if stand_in else None,
        stand_in_name=stand_in.name if stand_in else None,
    )


async def _apply_response(
    db: Db, locked: _LockedRequest, body: RespondBody, caller: Caller, now: datetime, said: str
) -> None:
    """Move the request if the response decides it.

    A rejection decides at once. Otherwise all rules of the type must be met; one approving reviewer meets a rule.
    """
    # A single rejection decides, so check for it before the rules that are not met yet.
    match body.type, body.response:
        case RequirementType.APPROVE, Response.REJECTED:
            await moving.move(db, REJECT, [locked.id], caller, now, said)
        case RequirementType.VERIFY, Response.REJECTED:
            await opening.reopen(db, [locked.id], caller, now, said)
        case _ if await queries.is_unmet(db, locked.id, body.type):
            await record_activity(db, locked.id, author=caller.name, action="Response", content=said, now=now)
        case RequirementType.APPROVE, _:
            await opening.approve(db, [locked.id], caller, now, said)
        case RequirementType.RESOLVE, _:
            await moving.resolve(db, [locked.id], caller, now, said)
        case RequirementType.VERIFY, _:
            await moving.verify(db, [locked.id], caller, now, said)
