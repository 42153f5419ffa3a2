"""Decide who may see and move an access request. Actions and console both use `refusal`.

An API token acts by its scope. A person acts by role or by relation to the request: reporter, reviewer, assignee or
provisioner of the application. Separation of duties applies to every person, including administrators,
also through tokens that they made.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests.model import (
    APPROVE,
    ASSIGN,
    CANCEL,
    REOPEN,
    RESOLVE,
    RESUME,
    SNOOZE,
    VERIFY,
    Move,
)
from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_one, fetch_rows
from rolecall.core.errors import Invalid
from rolecall.identities import authority
from rolecall.identities.authority import GovernedRecord, PersonRelation, RecordType, Role
from rolecall.settings.policy import RequirementType

OWN_REQUEST = "You made this request or it is about you, so another person must decide"
REPORTED_BY_OTHERS = "Another person made this request about you, so you cannot cancel or snooze it"
PROVISIONED_IT = "The person who provisioned the access cannot verify it; another reviewer or the next import can"
NOT_INVOLVED = "Only people involved in this request, operators and administrators can do this"

VERBS = {
    ASSIGN: "assign",
    RESOLVE: "resolve",
    SNOOZE: "snooze",
    RESUME: "resume",
    REOPEN: "reopen",
    VERIFY: "verify",
    CANCEL: "cancel",
}
_ASKED = {
    RequirementType.APPROVE: PersonRelation.APPROVER,
    RequirementType.RESOLVE: PersonRelation.RESOLVER,
    RequirementType.VERIFY: PersonRelation.VERIFIER,
}
# The move that a response of each type decides.
DECIDED = {RequirementType.APPROVE: APPROVE, RequirementType.RESOLVE: RESOLVE, RequirementType.VERIFY: VERIFY}


class Standing(msgspec.Struct, frozen=True):
    """The relation of a caller to a request.

    `asked`: the types of response that the caller is asked for. `carried_out_by`: everyone who resolved the request, or
    was its assignee at that time, including before it was reopened, and the owners of tokens among them.
    `owner_carried_out`: the caller is a token whose owner did so in person. `latest`: the time of the last activity.
    """

    caller_id: UUID
    is_person: bool
    role: str | None
    is_reporter: bool
    is_affected: bool
    asked: list[str]
    is_assignee: bool
    is_provisioner: bool
    carried_out_by: list[UUID]
    owner_carried_out: bool
    latest: datetime

    @property
    def relations(self) -> frozenset[PersonRelation]:
        """Return the relations that allow moves."""
        held = {
            PersonRelation.REPORTER: self.is_reporter,
            PersonRelation.ASSIGNEE: self.is_assignee,
            PersonRelation.PROVISIONER: self.is_provisioner,
        }
        return frozenset(each for each, holds in held.items() if holds) | {
            _ASKED[RequirementType(type)] for type in self.asked
        }

    @property
    def reach(self) -> frozenset[str]:
        """Return the verbs that role and relations allow, before separation of duties."""
        if self.role == Role.AUDITOR:
            return frozenset()
        role = [Role(self.role)] if self.role else []
        return authority.allowed(RecordType.REQUEST, [*self.relations, *role])


def refusal(standing: Standing, move: Move, reviewer_id: UUID | None = None) -> str | None:
    """Return why a caller may not make a move, or None; `reviewer_id` is the person whose response is recorded."""
    is_own = standing.is_person and (standing.is_reporter or standing.is_affected)
    if is_own and move in DECIDED.values():
        return OWN_REQUEST
    actors = {reviewer_id} | ({standing.caller_id} if standing.is_person else set())
    if move is VERIFY and (standing.owner_carried_out or actors & {*standing.carried_out_by}):
        return PROVISIONED_IT
    if move in (CANCEL, SNOOZE) and standing.is_affected and not standing.is_reporter:
        return REPORTED_BY_OTHERS
    # `respond` checks approvers against the rules of the request.
    if standing.is_person and move is not APPROVE and VERBS[move] not in standing.reach:
        return NOT_INVOLVED
    return None


# SQL for a request `r`. Read the assignee from the event of the move, because a verifier may be assigned later.
DONE_BY = """
    array(SELECT p.reviewer_id FROM responses p
          WHERE p.request_id = r.id AND p.type = 'Resolve' AND p.response = 'Approved')
    || array(SELECT unnest(array_remove(ARRAY[e.caller_id, (e.request #>> '{assignee,id}')::uuid], NULL))
             FROM access_request_events e WHERE e.request_id = r.id AND e.name = 'AccessRequestResolved')"""
_DONE_BY = f"CASE WHEN r.status = 'Resolved' THEN {DONE_BY} ELSE '{{}}' END"


def with_owners(ids: str) -> str:
    """Return SQL that adds the owners of the tokens among an array of ids."""
    return f"""(SELECT done.by || array(SELECT t.owner_id FROM tokens t
                                     WHERE t.id = ANY(done.by) AND t.owner_id IS NOT NULL)
                FROM (SELECT {ids} AS by) AS done)"""


CARRIED_OUT_BY = f"{with_owners(_DONE_BY)}::uuid[]"
# Whether the token %(caller)s belongs to a person who carried out the request `r` in person.
_OWNER_CARRIED_OUT = f"coalesce((SELECT owner_id FROM tokens WHERE id = %(caller)s) = ANY({_DONE_BY}), false)"
_IS_PERSON = "EXISTS (SELECT FROM identities WHERE id = %(caller)s)"


async def standing_of(db: Db, caller_id: UUID, request_id: UUID) -> Standing:
    """Read a caller's relation to a request. Lock the request first, so that the result stays true until the commit."""
    found = await fetch_one(
        db,
        Standing,
        f"""SELECT %(caller)s::uuid AS caller_id, {_IS_PERSON} AS is_person,
                   (SELECT c.role FROM console_roles c WHERE c.identity_id = %(caller)s) AS role,
                   r.reporter_id = %(caller)s AS is_reporter,
                   coalesce(r.identity_id = %(caller)s, false) AS is_affected,
                   array(SELECT DISTINCT p.type FROM responses p
                         WHERE p.request_id = r.id AND p.reviewer_id = %(caller)s AND p.asked) AS asked,
                   coalesce(r.assignee_id = %(caller)s, false) AS is_assignee,
                   %(caller)s = ANY(a.provisioner_ids) AS is_provisioner,
                   {CARRIED_OUT_BY} AS carried_out_by, {_OWNER_CARRIED_OUT} AS owner_carried_out,
                   (SELECT max(t.created_date) FROM activity t WHERE t.item_id = r.id) AS latest
            FROM access_requests r JOIN applications a ON a.id = r.application_id WHERE r.id = %(id)s""",
        caller=caller_id,
        id=request_id,
    )
    assert found
    return found


async def carried_out_among(db: Db, caller_id: UUID, request_ids: Sequence[UUID]) -> set[UUID]:
    """Return the requests that the caller carried out, in person or through a token.

    A token counts as the person who owns it; one token is never compared with another.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT r.id FROM access_requests r WHERE r.id = ANY(%(ids)s)
            AND (%(caller)s = ANY({CARRIED_OUT_BY}) AND {_IS_PERSON} OR {_OWNER_CARRIED_OUT})""",
        caller=caller_id,
        ids=list(request_ids),
    )
    return {id for (id,) in rows}


# SQL for a request `r` that is not part of the offboarding of the person %(me)s, who may not know of it yet.
NOT_OWN_OFFBOARDING = """(r.identity_id IS DISTINCT FROM %(me)s OR r.reporter_id = %(me)s OR NOT EXISTS (
    SELECT FROM related_items o JOIN personnel_events e ON e.id = o.item_id
    WHERE o.request_id = r.id AND e.type = 'Offboard'))"""


async def relations_to(db: Db, caller_id: UUID, request_id: UUID) -> frozenset[PersonRelation]:
    """Read every relation of a person to a request; none if it does not exist."""
    rows = await fetch_rows(
        db,
        f"""SELECT r.identity_id, r.reporter_id = %(me)s, coalesce(r.assignee_id = %(me)s, false),
                   array(SELECT DISTINCT p.type FROM responses p
                         WHERE p.request_id = r.id AND p.reviewer_id = %(me)s AND p.asked),
                   coalesce(a.owner_id = %(me)s, false), %(me)s = ANY(a.provisioner_ids), {NOT_OWN_OFFBOARDING}
            FROM access_requests r JOIN applications a ON a.id = r.application_id WHERE r.id = %(id)s""",
        me=caller_id,
        id=request_id,
    )
    if not rows:
        return frozenset()
    identity_id, reporter, assignee, asked, owner, provisioner, is_open_to_self = rows[0]
    held = {
        PersonRelation.REPORTER: reporter,
        PersonRelation.ASSIGNEE: assignee,
        PersonRelation.OWNER: owner,
        PersonRelation.PROVISIONER: provisioner,
    }
    found = frozenset(each for each, holds in held.items() if holds) | {_ASKED[RequirementType(type)] for type in asked}
    about = await authority.relations_to_person(db, caller_id, identity_id) if identity_id else frozenset()
    if PersonRelation.SELF in about and not is_open_to_self:
        return frozenset()
    return found | about


ONLY_OWN_PEOPLE = "You can request access for yourself and for people who report to you"


async def require_may_request(db: Db, caller: Caller, identity_id: UUID | None) -> None:
    """Refuse requests by a limited person for a group, or for anyone but themselves and their reports."""
    if not caller.is_limited:
        return
    relations = await authority.relations_to_person(db, caller.id, identity_id) if identity_id else frozenset()
    if not authority.may(caller, authority.REQUEST, GovernedRecord(RecordType.PERSON, relations)):
        raise Invalid.on("identityId", ONLY_OWN_PEOPLE)
