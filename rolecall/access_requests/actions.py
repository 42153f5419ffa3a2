from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_models.model import RANK
from rolecall.access_requests import moving, queries
from rolecall.access_requests.asking import read_request
from rolecall.access_requests.creation import create_completed, create_requests
from rolecall.access_requests.model import (
    ASSIGN,
    AWAITED,
    CANCEL,
    REJECT,
    REOPEN,
    RESOLVE,
    RESUME,
    SAID,
    SNOOZE,
    VERIFY,
    Move,
    NewRequest,
    Response,
)
from rolecall.access_requests.permitted import DECIDED, Standing, refusal, standing_of
from rolecall.access_requests.shapes import (
    AccessRequestDetail,
    AssignBody,
    CommentBody,
    NewRequestBody,
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
from rolecall.core.ids import known_guid
from rolecall.identities import queries as identities
from rolecall.identities.model import IdentityStatus
from rolecall.settings.policy import RequirementType
from rolecall.work_items.actions import add_comment, record_activity
from rolecall.work_items.model import WorkStatus


async def create_request(db: Db, caller: Caller, new: NewRequest, now: datetime) -> UUID:
    (id,) = await create_requests(db, caller, [new], now)
    return id


async def request_access(db: Db, caller: Caller, raw: Json, facts: Facts) -> AccessRequestDetail:
    facts = await with_mentioned_applications(db, await identities.with_mentioned_identities(db, facts, raw), raw)
    new, problems = await read_request(db, raw, facts)
    body = check(NewRequestBody, raw, facts, problems)
    assert new
    new = msgspec.structs.replace(new, scheduled_start=body.scheduled_start, comment=body.comment)
    (id,) = await create_completed(db, caller, [new], facts.now)
    return await queries.get(db, id)


class _Held(msgspec.Struct, frozen=True):
    """A request locked for a verb.

    `now` is no earlier than what happened to it last: another verb may have come between the call and the lock.
    """

    id: UUID
    status: WorkStatus
    standing: Standing
    now: datetime


async def _hold(db: Db, caller: Caller, id: str | UUID, now: datetime) -> _Held:
    known = known_guid("AccessRequest", str(id))
    status = await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s FOR UPDATE", id=known)
    if status is None:
        raise NotFound("AccessRequest", id)
    standing = await standing_of(db, caller.id, known)
    return _Held(known, WorkStatus(status), standing, max(now, standing.latest))


def _may(held: _Held, move: Move) -> None:
    if held.status not in move.allowed:
        raise Conflict(f"An access request that is {held.status} cannot be {move.name.lower()}")
    if why := refusal(held.standing, move):
        raise Conflict(why)


async def _say(db: Db, held: _Held, caller: Caller, comment: str | None) -> None:
    if comment is not None:
        await add_comment(db, held.id, author=caller.name, content=comment, now=held.now)


async def _perform(
    db: Db, caller: Caller, id: str, raw: Json, facts: Facts, move: Move, verb: moving.Verb
) -> AccessRequestDetail:
    held, body = await _hold(db, caller, id, facts.now), check(VerbBody, raw, facts)
    _may(held, move)
    await _say(db, held, caller, body.comment)
    await verb(db, [held.id], caller, held.now)
    return await queries.get(db, held.id)


async def resolve(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    return await _perform(db, caller, id, raw, facts, RESOLVE, moving.resolve)


async def verify(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    return await _perform(db, caller, id, raw, facts, VERIFY, moving.verify)


async def reopen(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    return await _perform(db, caller, id, raw, facts, REOPEN, moving.reopen)


async def cancel(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    return await _perform(db, caller, id, raw, facts, CANCEL, moving.cancel)


async def resume(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    return await _perform(db, caller, id, raw, facts, RESUME, moving.resume)


async def snooze(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    held, body = await _hold(db, caller, id, facts.now), check(SnoozeBody, raw, facts)
    _may(held, SNOOZE)
    await _say(db, held, caller, body.comment)
    text = f"Snoozed until {body.until.isoformat().replace('+00:00', 'Z')}"
    await moving.move(db, SNOOZE, [held.id], caller, held.now, text, snoozed_until=body.until)
    return await queries.get(db, held.id)


async def assign(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    held = await _hold(db, caller, id, facts.now)
    body = check(AssignBody, raw, await identities.with_mentioned_identities(db, facts, raw))
    assignee = await identities.get(db, str(body.assignee_id))
    if assignee.status != IdentityStatus.ACTIVE:
        raise Invalid.on("assigneeId", f"Identity is {assignee.status}")
    _may(held, ASSIGN)
    await _say(db, held, caller, body.comment)
    name = f"{assignee.first_name} {assignee.last_name}"
    text = f"Assigned to {name}"
    await moving.move(db, ASSIGN, [held.id], caller, held.now, text, assignee_id=assignee.id, assignee_name=name)
    return await queries.get(db, held.id)


async def comment(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    held, body = await _hold(db, caller, id, facts.now), check(CommentBody, raw, facts)
    await _say(db, held, caller, body.content)
    return await queries.get(db, held.id)


async def respond(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessRequestDetail:
    """Record a reviewer's answer, their own or another's; the last one that is needed moves the request."""
    held, body = await _hold(db, caller, id, facts.now), check(RespondBody, raw, facts)
    reviewer = await _asked_reviewer(db, held, body, caller)
    if held.status != AWAITED[body.type]:
        raise Conflict(f"An access request that is {held.status} awaits no response of type {body.type}")
    if why := refusal(held.standing, DECIDED[body.type], reviewer.id):
        raise Conflict(why)
    await _lower(db, held, body)
    if not await _record_response(db, held, body, reviewer.id):
        raise Conflict(f"{reviewer.name} has responded already")
    await _say(db, held, caller, body.comment)
    said = f"{reviewer.name} {SAID[body.type, body.response]}"
    said += "" if reviewer.id == caller.id else f", recorded by {caller.name}"
    await _follow(db, held, body, caller, held.now, said)
    return await queries.get(db, held.id)


class _Reviewer(msgspec.Struct, frozen=True):
    id: UUID
    name: str


async def _asked_reviewer(db: Db, held: _Held, body: RespondBody, caller: Caller) -> _Reviewer:
    reviewer = await fetch_one(
        db,
        _Reviewer,
        """SELECT reviewer_id AS id, reviewer_name AS name FROM responses
           WHERE request_id = %(id)s AND type = %(type)s AND reviewer_id = %(reviewer)s AND asked LIMIT 1""",
        id=held.id,
        type=body.type,
        reviewer=body.reviewer_id or caller.id,
    )
    if reviewer:
        return reviewer
    if body.reviewer_id is None:
        raise Invalid.on("reviewerId", "Reviewer ID is required")
    raise Invalid.on("reviewerId", f"Identity with id {body.reviewer_id} is not asked to {body.type.lower()} this")


async def _lower(db: Db, held: _Held, body: RespondBody) -> None:
    """Lower what is approved; a reviewer never raises it, and the lowest of several stands."""
    if not body.approved_access:
        return
    if (body.type, body.response) != (RequirementType.APPROVE, Response.APPROVED):
        raise Invalid.on("approvedAccess", "Approved access goes with an approval")
    rows = await fetch_rows(
        db,
        """SELECT header, section, permission, coalesce(lowered_access, requested_access), position
           FROM privileges WHERE request_id = %(id)s""",
        id=held.id,
    )
    standing = {PermissionName(*name): (access, position) for *name, access, position in rows}
    names = meant_among(standing, [lowered.key for lowered in body.approved_access])
    problems = []
    for index, (lowered, name) in enumerate(zip(body.approved_access, names, strict=True)):
        field = f"approvedAccess.{index}"
        if name not in standing:
            problems.append(Problem(field, "The request has no such privilege"))
        elif name in names[:index]:
            problems.append(Problem(field, "Approved access must name each permission once"))
        elif lowered.access is None:
            problems.append(Problem(f"{field}.access", "Access is required"))
        elif lowered.access != standing[name][0] and RANK[lowered.access] >= RANK[standing[name][0]]:
            problems.append(Problem(f"{field}.access", f"Access must be lower than {standing[name][0]}"))
    if problems:
        raise Invalid(*problems)
    await execute(
        db,
        """UPDATE privileges p SET lowered_access = l.access
           FROM unnest(%(positions)s::int[], %(access)s::text[]) AS l (position, access)
           WHERE p.request_id = %(id)s AND p.position = l.position""",
        id=held.id,
        positions=[standing[name][1] for name in names],
        access=[lowered.access for lowered in body.approved_access],
    )


async def _record_response(db: Db, held: _Held, body: RespondBody, reviewer_id: UUID) -> int:
    """To every rule of the type that asks this reviewer."""
    return await execute(
        db,
        """UPDATE responses SET response = %(response)s
           WHERE request_id = %(id)s AND type = %(type)s AND reviewer_id = %(reviewer)s AND response = 'Pending'""",
        id=held.id,
        type=body.type,
        reviewer=reviewer_id,
        response=body.response,
    )


async def _follow(db: Db, held: _Held, body: RespondBody, caller: Caller, now: datetime, said: str) -> None:
    """What a response leads to. A rule is met by any one of its reviewers; a type by all of its rules."""
    match body.type, body.response:
        case RequirementType.APPROVE, Response.REJECTED:
            await moving.move(db, REJECT, [held.id], caller, now, said)
        case RequirementType.VERIFY, Response.REJECTED:
            await moving.reopen(db, [held.id], caller, now, said)
        case _ if await queries.is_unmet(db, held.id, body.type):
            await record_activity(db, held.id, author=caller.name, action="Response", content=said, now=now)
        case RequirementType.APPROVE, _:
            await moving.approve(db, [held.id], caller, now, said)
        case RequirementType.RESOLVE, _:
            await moving.resolve(db, [held.id], caller, now, said)
        case RequirementType.VERIFY, _:
            await moving.verify(db, [held.id], caller, now, said)
