"""Decide who may approve and withdraw an exception: the rule's owner and one more, never the person in conflict."""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.conflicts.involvement import require_uninvolved
from rolecall.conflicts.model import SECOND_APPROVERS, ApprovalPart, ExceptionStatus
from rolecall.conflicts.shapes import ApproveExceptionBody, ConflictDetail, ConflictException
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Conflict, Invalid
from rolecall.settings.policy import RequirementType
from rolecall.stand_ins.queries import acting_for, between

_APPROVE = RequirementType.APPROVE


class Approver(msgspec.Struct, frozen=True):
    """The person whose approval is recorded; `stand_in` is the person who gave it for them."""

    id: UUID
    name: str
    part: ApprovalPart
    stand_in: Caller | None = None


class Approvers(msgspec.Struct, frozen=True):
    """The active people who may take each part; administrators take that of an owner who is not available.

    Auditors take none: they check decisions and make none. `owners` own the rule or an application, so others can stand
    in for them; a stand-in of an administrator does not inherit the role.
    """

    rule_owners: dict[UUID, str]
    seconds: dict[UUID, str]
    owners: frozenset[UUID]

    def part_of(self, id: UUID, asked: ConflictException) -> Approver | None:
        """Return the part in which a person can still approve the exception, or None."""
        taken = {each.part for each in asked.approvals}
        if id in self.rule_owners and ApprovalPart.RULE_OWNER not in taken:
            return Approver(id, self.rule_owners[id], ApprovalPart.RULE_OWNER)
        if id in self.seconds and ApprovalPart.SECOND not in taken:
            return Approver(id, self.seconds[id], ApprovalPart.SECOND)
        return None

    def represented_by(self, caller: Caller) -> list[UUID]:
        """Return the owners for whom a caller decides now, first the owner of the rule."""
        owners = [id for id in dict.fromkeys([*self.rule_owners, *self.seconds]) if id in self.owners]
        return [id for id in owners if (id, _APPROVE) in caller.stands_in_for]


async def approvers_for(db: Db, conflict: ConflictDetail) -> Approvers:
    rows = await fetch_rows(
        db,
        """SELECT i.id, i.first_name || ' ' || i.last_name, i.id = (r.definition ->> 'ownerId')::uuid,
                  i.id IN (SELECT a.owner_id FROM applications a WHERE a.id = ANY(%(applications)s)),
                  EXISTS (SELECT FROM console_roles c WHERE c.identity_id = i.id AND c.role = 'Administrator')
           FROM identities i JOIN duty_rules r ON r.id = %(rule)s
           WHERE may_decide(i.id) AND i.id <> ALL(%(involved)s) AND (
               i.id = (r.definition ->> 'ownerId')::uuid
               OR i.id IN (SELECT a.owner_id FROM applications a WHERE a.id = ANY(%(applications)s))
               OR i.id IN (SELECT identity_id FROM console_roles WHERE role = 'Administrator'))
           ORDER BY i.list_key""",
        rule=conflict.rule.id,
        involved=[
            conflict.identity.id,
            *(one.asked_by.id for one in conflict.exceptions if one.status is ExceptionStatus.PENDING),
        ],
        applications=[each.access.application.id for side in conflict.sides for each in side.access],
    )
    rule_owners = {id: name for id, name, owns_rule, *_ in rows if owns_rule}
    administrators = {id: name for id, name, *_, is_administrator in rows if is_administrator}
    owners = frozenset(id for id, _, owns_rule, owns_application, _ in rows if owns_rule or owns_application)
    return Approvers(rule_owners or administrators, {id: name for id, name, *_ in rows}, owners)


def approver_among(caller: Caller, people: Approvers, asked: ConflictException) -> Approver | None:
    """Return the part that a person can take now: their own, else that of an owner for whom they stand in."""
    if caller.id in _involved(asked):
        return None
    if own := people.part_of(caller.id, asked):
        return own
    for id in people.represented_by(caller):
        if id not in _involved(asked) and (found := people.part_of(id, asked)):
            return msgspec.structs.replace(found, stand_in=caller)
    return None


async def approver_of(
    db: Db,
    caller: Caller,
    conflict: ConflictDetail,
    asked: ConflictException,
    body: ApproveExceptionBody,
    now: datetime,
) -> Approver:
    """Return who approves and in which part, or refuse."""
    people = await approvers_for(db, conflict)
    given, stand_in = body.approver_id, None
    if caller.is_person:
        found = approver_among(caller, people, asked)
        given = given or (found.id if found else caller.id)
        stand_in = None if given == caller.id else caller
        if stand_in and (given not in people.represented_by(caller) or body.stand_in_id not in (None, caller.id)):
            raise Invalid.on("approverId", "Approver ID must be yours, or that of an owner for whom you stand in now")
    elif given is None:
        raise Invalid.on("approverId", "Approver ID is required: a token records the approval of a person")
    elif body.stand_in_id:
        stand_in = await acting_for(db, body.stand_in_id, given, _APPROVE, now)
    both = {given} | ({stand_in.id} if stand_in else set())
    through = await between(db, given, stand_in, _APPROVE, now) if stand_in else set()
    await require_uninvolved(db, caller, conflict, asked, both | through)
    if (not stand_in or given in people.owners) and (found := people.part_of(given, asked)):
        return msgspec.structs.replace(found, stand_in=stand_in)
    taken = {each.part for each in asked.approvals}
    missing = "the rule's owner" if ApprovalPart.SECOND in taken else SECOND_APPROVERS
    raise Conflict(f"The missing approval must come from {missing}")


def _involved(asked: ConflictException) -> set[UUID]:
    """Return everyone who asked for the exception or approved it, for themselves or for another person."""
    return {asked.asked_by.id} | {
        id for each in asked.approvals for id in (each.approver.id, each.stand_in and each.stand_in.id) if id
    }


def may_ask(caller: Caller, conflict: ConflictDetail, people: Approvers) -> bool:
    """Return whether a caller may request an exception: the person in conflict, an approver, or by the scope."""
    return (
        Scope.DUTIES_WRITE in caller.scopes
        or caller.id == conflict.identity.id
        or caller.id in people.rule_owners
        or caller.id in people.seconds
    )


async def require_may_ask(db: Db, caller: Caller, conflict: ConflictDetail) -> None:
    if not may_ask(caller, conflict, await approvers_for(db, conflict)):
        raise Conflict(f"Only the person in conflict, the rule's owner, {SECOND_APPROVERS} can request an exception")


async def may_withdraw(db: Db, caller: Caller, conflict: ConflictDetail) -> bool:
    """Return whether a person may withdraw the exception that waits or is in force. A token acts by its scope.

    A stand-in of an owner may reject the exception that waits.
    """
    askers = {one.asked_by.id for one in conflict.exceptions}
    if not caller.is_person or caller.id in (*askers, conflict.identity.id):
        return True
    people = await approvers_for(db, conflict)
    waits = any(one.status is ExceptionStatus.PENDING for one in conflict.exceptions)
    may_reject = waits and bool(people.represented_by(caller))
    return may_reject or caller.id in people.rule_owners or caller.id in people.seconds


async def require_may_withdraw(db: Db, caller: Caller, conflict: ConflictDetail) -> None:
    if not await may_withdraw(db, caller, conflict):
        raise Conflict(f"Only people who requested it, the rule's owner, {SECOND_APPROVERS} can withdraw an exception")
