"""Decide who may approve and withdraw an exception: the rule's owner and one more, never the person in conflict."""

from uuid import UUID

import msgspec

from rolecall.conflicts.model import SECOND_APPROVERS, ApprovalPart
from rolecall.conflicts.shapes import ConflictDetail, ConflictException
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Conflict, Invalid


class Approver(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    part: ApprovalPart


class Approvers(msgspec.Struct, frozen=True):
    """The active people who may take each part; administrators take that of an owner who is not available.

    Auditors take none: they check decisions and make none.
    """

    rule_owners: dict[UUID, str]
    seconds: dict[UUID, str]


async def approvers_for(db: Db, conflict: ConflictDetail) -> Approvers:
    rows = await fetch_rows(
        db,
        """SELECT i.id, i.first_name || ' ' || i.last_name, i.id = (r.definition ->> 'ownerId')::uuid,
                  EXISTS (SELECT FROM console_roles c WHERE c.identity_id = i.id AND c.role = 'Administrator')
           FROM identities i JOIN duty_rules r ON r.id = %(rule)s
           WHERE i.status = 'Active' AND i.id <> %(identity)s AND (
               i.id = (r.definition ->> 'ownerId')::uuid
               OR i.id IN (SELECT a.owner_id FROM applications a WHERE a.id = ANY(%(applications)s))
               OR i.id IN (SELECT identity_id FROM console_roles WHERE role = 'Administrator'))
             AND NOT EXISTS (SELECT FROM console_roles c WHERE c.identity_id = i.id AND c.role = 'Auditor')
           ORDER BY i.list_key""",
        rule=conflict.rule.id,
        identity=conflict.identity.id,
        applications=[each.access.application.id for side in conflict.sides for each in side.access],
    )
    owners = {id: name for id, name, owns_rule, _ in rows if owns_rule}
    administrators = {id: name for id, name, _, is_administrator in rows if is_administrator}
    return Approvers(owners or administrators, {id: name for id, name, *_ in rows})


async def approver_of(
    db: Db, caller: Caller, conflict: ConflictDetail, asked: ConflictException, given: UUID | None
) -> Approver:
    """Return who approves and in which part, or refuse."""
    id = given or caller.id
    if caller.is_person and id != caller.id:
        raise Invalid.on("approverId", "Approver ID must be yours: people approve for themselves alone")
    if not caller.is_person and given is None:
        raise Invalid.on("approverId", "Approver ID is required: a token records the approval of a person")
    await _refuse_own(db, caller, conflict, id)
    if any(each.approver.id == id for each in asked.approvals):
        raise Conflict("This person has approved already; the other approval must come from another person")
    people, taken = await approvers_for(db, conflict), {each.part for each in asked.approvals}
    if id in people.rule_owners and ApprovalPart.RULE_OWNER not in taken:
        return Approver(id, people.rule_owners[id], ApprovalPart.RULE_OWNER)
    if id in people.seconds and ApprovalPart.SECOND not in taken:
        return Approver(id, people.seconds[id], ApprovalPart.SECOND)
    missing = "the rule's owner" if ApprovalPart.SECOND in taken else SECOND_APPROVERS
    raise Conflict(f"The missing approval must come from {missing}")


async def _refuse_own(db: Db, caller: Caller, conflict: ConflictDetail, approver_id: UUID) -> None:
    """Refuse an approval of one's own exception, also by a token that the person made."""
    owners = await fetch_rows(db, "SELECT owner_id FROM tokens WHERE id = %(id)s", id=caller.id)
    if conflict.identity.id in (approver_id, caller.id, *(id for (id,) in owners)):
        raise Conflict("You cannot approve your own exception; another person must decide")


def may_ask(caller: Caller, conflict: ConflictDetail, people: Approvers) -> bool:
    """Return whether a caller may ask for an exception: the person in conflict, an approver, or by the scope."""
    return (
        Scope.DUTIES_WRITE in caller.scopes
        or caller.id == conflict.identity.id
        or caller.id in people.rule_owners
        or caller.id in people.seconds
    )


async def require_may_ask(db: Db, caller: Caller, conflict: ConflictDetail) -> None:
    if not may_ask(caller, conflict, await approvers_for(db, conflict)):
        raise Conflict(f"Only the person in conflict, the rule's owner, {SECOND_APPROVERS} can ask for an exception")


async def may_withdraw(db: Db, caller: Caller, conflict: ConflictDetail) -> bool:
    """Return whether a person may withdraw the exception that waits or is in force. A token acts by its scope."""
    askers = {one.asked_by.id for one in conflict.exceptions}
    if not caller.is_person or caller.id in (*askers, conflict.identity.id):
        return True
    people = await approvers_for(db, conflict)
    return caller.id in people.rule_owners or caller.id in people.seconds


async def require_may_withdraw(db: Db, caller: Caller, conflict: ConflictDetail) -> None:
    if not await may_withdraw(db, caller, conflict):
        raise Conflict(f"Only people who asked for it, the rule's owner, {SECOND_APPROVERS} can withdraw an exception")
