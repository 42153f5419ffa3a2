"""Check who may request, approve or withdraw an exception.

Two people approve: the rule's owner (or an administrator if the owner cannot approve), and a second person.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.conflicts.involvement import Parties, parties_of, require_uninvolved
from rolecall.conflicts.model import SECOND_APPROVERS, ApprovalPart, ExceptionStatus
from rolecall.conflicts.shapes import ApproveExceptionBody, ConflictDetail, ConflictException
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Conflict, Invalid
from rolecall.settings.policy import RequirementType
from rolecall.stand_ins.queries import acting_for, between

_APPROVE = RequirementType.APPROVE
# Who can give each of the two approvals of an exception.
_APPROVERS = {
    ApprovalPart.RULE_OWNER: "the rule's owner, or an administrator if the owner cannot approve",
    ApprovalPart.SECOND: SECOND_APPROVERS,
}


class Approver(msgspec.Struct, frozen=True):
    """The person whose approval is recorded, and the stand-in, if any, who approved for them.

    `through` are the people between the two in a chain of stand-ins.
    """

    id: UUID
    name: str
    part: ApprovalPart
    stand_in: Caller | None = None
    through: frozenset[UUID] = frozenset()


class Approvers(msgspec.Struct, frozen=True):
    """The active people who may give each of the two approvals.

    `rule_owners` is the rule's owner. If there is none, or the owner must not approve, it contains the administrators.
    Auditors may give neither approval, because they check decisions. `owners` own the rule or an application on either
    side; a stand-in may approve for them, but not for an administrator. `involved` are the people who requested the
    pending exception or took part in its approvals.
    """

    rule_owners: dict[UUID, str]
    seconds: dict[UUID, str]
    owners: frozenset[UUID]
    involved: frozenset[UUID]

    def part_of(self, id: UUID, requested: ConflictException) -> Approver | None:
        """Return the missing approval that the person may give, or None."""
        taken = {each.part for each in requested.approvals}
        if id in self.rule_owners and ApprovalPart.RULE_OWNER not in taken:
            return Approver(id, self.rule_owners[id], ApprovalPart.RULE_OWNER)
        if id in self.seconds and ApprovalPart.SECOND not in taken:
            return Approver(id, self.seconds[id], ApprovalPart.SECOND)
        return None

    def may_take(self, id: UUID, part: ApprovalPart) -> bool:
        """Return whether the person is still allowed to give this approval."""
        return id in (self.rule_owners if part is ApprovalPart.RULE_OWNER else self.seconds)

    def represented_by(self, caller: Caller) -> list[UUID]:
        """Return the owners for whom the caller stands in now, the owner of the rule first."""
        owners = [id for id in dict.fromkeys([*self.rule_owners, *self.seconds]) if id in self.owners]
        return [id for id in owners if (id, _APPROVE) in caller.stands_in_for]


class _Subject(msgspec.Struct, frozen=True):
    """The conflict that approvers decide on; `moment` is its last moment if it has ended."""

    rule_id: UUID
    identity_id: UUID
    moment: datetime | None
    requested: ConflictException | None


async def approvers_for(db: Db, conflict: ConflictDetail) -> Approvers:
    """Return who may decide on exceptions for a conflict."""
    subject = _Subject(conflict.rule.id, conflict.identity.id, conflict.last_moment, conflict.pending)
    (found,) = await _approvers(db, [subject])
    return found


async def approvers_of(db: Db, pending: Sequence[ConflictException]) -> list[Approvers]:
    return await _approvers(db, [_Subject(each.rule.id, each.identity.id, None, each) for each in pending])


async def _approvers(db: Db, subjects: Sequence[_Subject]) -> list[Approvers]:
    requested = [each.requested for each in subjects if each.requested]
    parties = {one.id: each for one, each in zip(requested, await parties_of(db, requested), strict=True)}
    involved = [parties[each.requested.id] if each.requested else None for each in subjects]
    rows = await fetch_rows(
        db,
        # The requester is excluded: if they own the rule, an administrator approves in place of the owner.
        """SELECT n, i.id, i.first_name || ' ' || i.last_name, coalesce(i.id = owner.id, false),
                  i.id = ANY(owners.ids),
                  EXISTS (SELECT FROM console_roles c WHERE c.identity_id = i.id AND c.role = 'Administrator')
           FROM unnest(%(rules)s::uuid[], %(people)s::uuid[], %(moments)s::timestamptz[], %(requesters)s::uuid[])
                WITH ORDINALITY AS s (rule_id, identity_id, moment, requester_id, n)
           JOIN duty_rules r ON r.id = s.rule_id
           CROSS JOIN LATERAL (SELECT (r.definition ->> 'ownerId')::uuid AS id) AS owner
           CROSS JOIN LATERAL (SELECT ARRAY(
               SELECT o.owner_id FROM duty_access(
                   ARRAY(SELECT d::uuid FROM jsonb_array_elements_text(r.definition -> 'conflicts') AS d),
                   ARRAY[s.identity_id], s.moment) AS h
               JOIN accounts a ON a.number = h.account JOIN applications o ON o.id = a.application_id) AS ids) AS owners
           CROSS JOIN LATERAL (SELECT owner.id UNION SELECT unnest(owners.ids)
                               UNION SELECT identity_id FROM console_roles WHERE role = 'Administrator') AS c (id)
           JOIN identities i ON i.id = c.id
           WHERE may_decide(i.id) AND i.id <> s.identity_id AND i.id IS DISTINCT FROM s.requester_id
           ORDER BY n, i.list_key""",
        rules=[each.rule_id for each in subjects],
        people=[each.identity_id for each in subjects],
        moments=[each.moment for each in subjects],
        requesters=[each.requester if each else None for each in involved],
    )
    found = defaultdict[int, list[Sequence[Any]]](list)
    for n, *row in rows:
        found[n - 1].append(row)
    return [_from_rows(found[n], each) for n, each in enumerate(involved)]


def _from_rows(rows: Sequence[Sequence[Any]], parties: Parties | None) -> Approvers:
    rule_owners = {id: name for id, name, owns_rule, *_ in rows if owns_rule}
    administrators = {id: name for id, name, *_, is_administrator in rows if is_administrator}
    owners = frozenset(id for id, _, owns_rule, owns_application, _ in rows if owns_rule or owns_application)
    involved = parties.everyone if parties else frozenset[UUID]()
    return Approvers(rule_owners or administrators, {id: name for id, name, *_ in rows}, owners, involved)


def approver_among(caller: Caller, people: Approvers, requested: ConflictException) -> Approver | None:
    """Return the approval that a person can give now, in their own name or for an owner; None if there is none."""
    if caller.id in people.involved:
        return None
    if own := people.part_of(caller.id, requested):
        return own
    for id in people.represented_by(caller):
        if id not in people.involved and (found := people.part_of(id, requested)):
            return msgspec.structs.replace(found, stand_in=caller)
    return None


async def approver_of(
    db: Db,
    caller: Caller,
    conflict: ConflictDetail,
    requested: ConflictException,
    body: ApproveExceptionBody,
    now: datetime,
) -> Approver:
    """Return the approver, and whether they approve as the rule's owner or as the second approver.

    Raise Invalid or Conflict if the caller must not approve.
    """
    people = await approvers_for(db, conflict)
    given, stand_in = body.approver_id, None
    if caller.is_person:
        found = approver_among(caller, people, requested)
        given = given or (found.id if found else caller.id)
        stand_in = None if given == caller.id else caller
        if stand_in and (given not in people.represented_by(caller) or body.stand_in_id not in (None, caller.id)):
            raise Invalid.on("approverId", "Approver ID must be your own, or that of an owner for whom you stand in")
    elif given is None:
        raise Invalid.on("approverId", "Approver ID is required with a token: name the person who approves")
    elif body.stand_in_id:
        stand_in = await acting_for(db, body.stand_in_id, given, _APPROVE, now)
    both = {given} | ({stand_in.id} if stand_in else set())
    through = frozenset(await between(db, given, stand_in, _APPROVE, now) if stand_in else ())
    await require_uninvolved(db, caller, conflict, requested, both | through)
    # A role is not inherited: a stand-in approves for an owner, but not for an administrator.
    if (not stand_in or given in people.owners) and (found := people.part_of(given, requested)):
        return msgspec.structs.replace(found, stand_in=stand_in, through=through)
    raise Conflict(f"The missing approval must come from {missing_approvers(requested)[-1]}")


def missing_approvers(requested: ConflictException) -> list[str]:
    """Describe, for each approval that a requested exception still needs, who can give it."""
    given = {each.part for each in requested.approvals}
    return [words for part, words in _APPROVERS.items() if part not in given]


def may_request(caller: Caller, conflict: ConflictDetail, people: Approvers) -> bool:
    """Return whether a caller may request an exception.

    The person in conflict and the approvers may, and every caller with `duties:write`.
    """
    return (
        Scope.DUTIES_WRITE in caller.scopes
        or caller.id == conflict.identity.id
        or caller.id in people.rule_owners
        or caller.id in people.seconds
    )


async def require_may_request(db: Db, caller: Caller, conflict: ConflictDetail) -> None:
    if not may_request(caller, conflict, await approvers_for(db, conflict)):
        raise Conflict(f"Only the person in conflict, the rule's owner, {SECOND_APPROVERS} can request an exception")


async def may_withdraw(
    db: Db, caller: Caller, conflict: ConflictDetail, exception: ConflictException, people: Approvers
) -> bool:
    """Return whether a caller may withdraw a pending exception or one in force. A token needs only its scope.

    A stand-in of an owner may withdraw (reject) only a pending exception.
    """
    (parties,) = await parties_of(db, [exception])
    if not caller.is_person or caller.id in (parties.requester, conflict.identity.id):
        return True
    may_reject = exception.status is ExceptionStatus.PENDING and bool(people.represented_by(caller))
    return may_reject or caller.id in people.rule_owners or caller.id in people.seconds


async def require_may_withdraw(db: Db, caller: Caller, conflict: ConflictDetail, exception: ConflictException) -> None:
    if not await may_withdraw(db, caller, conflict, exception, await approvers_for(db, conflict)):
        raise Conflict(
            "Only the person in conflict, the person who requested the exception,"
            f" the rule's owner, {SECOND_APPROVERS} can withdraw the exception"
        )
