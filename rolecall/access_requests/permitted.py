"""Check who may see and move an access request. Actions and console both use `refusal`.

The scope of an API token decides what it may do; a token of a person who is not an administrator may do only what that
person may do. What a person may do depends on their role and on their relation to the request: reporter, reviewer,
assignee or provisioner of the application. Separation of duties applies to all people and to tokens that they own. With
the setting `singleHanded`, the only active administrator may still decide if no other active person is asked to respond
(`Standing.is_alone`).
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
from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_one, fetch_rows
from rolecall.core.errors import Invalid
from rolecall.core.roles import Role
from rolecall.identities import authority
from rolecall.identities.authority import GovernedRecord, PersonRelation, RecordType
from rolecall.settings.policy import RequirementType

OWN_REQUEST = "You made this request or it is about you, so another person must decide"
REPORTED_BY_OTHERS = "Another person made this request about you, so you cannot cancel or snooze it"
PARTY = "This reviewer made the request or is affected by it, so another person must decide"
IN_GROUP = "You are in this group, so another person must approve what changes its access"
REVIEWER_IN_GROUP = "This reviewer is in the group, so another person must approve what changes its access"
PROVISIONED_IT = "The person who provisioned the access cannot verify it; another reviewer or the next import can"
ALONE = "Give the reason why you decide alone: it is recorded in the activity"
OF_OWNER = "This token may do only what its owner may do: {}"
NOT_STANDING_IN = "You do not stand in for this reviewer now"
CHOSEN_BY_THEM = (
    "You stand in, perhaps through others, for someone who must not decide on this request; another person must decide"
)
SECOND_RESPONSE = (
    "You are a reviewer of this request or responded for another reviewer, so another person must give this response"
)
ONLY_YOURSELF = "Stand-in ID must be your own: only a token can record the response of another person"
NOT_INVOLVED = (
    "You are not allowed to do this. Ask the reporter of the request, or a person with the role Administrator, People"
    " or Operator"
)

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
# For each type of response, the move that such responses decide.
DECIDED = {RequirementType.APPROVE: APPROVE, RequirementType.RESOLVE: RESOLVE, RequirementType.VERIFY: VERIFY}


class Standing(msgspec.Struct, frozen=True):
    """The relation of a caller to a request."""

    caller_id: UUID
    is_person: bool
    role: str | None
    # The caller made the request, in person or through a token of theirs.
    is_reporter: bool
    # The request is about the caller, or would put the caller in conflict.
    is_affected: bool
    # The types of response that the caller is asked for.
    asked: list[str]
    is_assignee: bool
    is_provisioner: bool
    # Everyone who resolved the request in any round, its assignees at those times, and the owners of the tokens among
    # them. Empty unless the request is Resolved now.
    carried_out_by: list[UUID]
    # The caller is a token whose owner carried out the request in person.
    owner_carried_out: bool
    # The time of the last activity.
    latest: datetime
    # The setting `singleHanded` is on, the caller is the only active administrator, and no other active person is asked
    # to respond now.
    is_alone: bool = False
    # Everyone who made the request or is affected by it.
    parties: list[UUID] = []
    # The reviewers for whom the caller gives responses of the awaited type: the caller, if asked to respond, and people
    # for whom the caller has already responded as a stand-in.
    responds_as: list[UUID] = []
    # The caller is a token whose owner made the request in person or is affected by it.
    owner_is_party: bool = False
    # The owner of the calling token.
    owner_id: UUID | None = None
    # The members of the group that the request is about who must not approve it.
    barred_members: list[UUID] = []

    @property
    def relations(self) -> frozenset[PersonRelation]:
        """Return the relations of the caller that allow moves."""
        held = {
            PersonRelation.REPORTER: self.is_reporter,
            PersonRelation.ASSIGNEE: self.is_assignee,
            PersonRelation.PROVISIONER: self.is_provisioner,
        }
        return frozenset(each for each, holds in held.items() if holds) | {
            _ASKED[RequirementType(type)] for type in self.asked
        }

    def is_independent(self, reviewer_id: UUID | None) -> bool:
        """Return whether a decision of the caller for this reviewer is independent.

        A calling person must not be a party to the request. The calling person, the owner of the calling token and the
        reviewer must not have carried out the request.
        """
        people = {reviewer_id} | ({self.caller_id} if self.is_person else set())
        is_own = self.is_person and (self.is_reporter or self.is_affected)
        return not is_own and not self.owner_carried_out and not people & {*self.carried_out_by}

    def responds_for_others(self, reviewer_id: UUID) -> bool:
        """Return whether the caller already responds as another reviewer: one person must not satisfy two rules.

        An administrator who may decide alone (`is_alone`) may satisfy several rules.
        """
        return not self.is_alone and bool({*self.responds_as} - {reviewer_id})

    @property
    def reach(self) -> frozenset[str]:
        """Return the verbs that the role and the relations allow, before separation of duties is checked."""
        if self.role == Role.AUDITOR:
            return frozenset({VERBS[CANCEL]}) if self.is_reporter else frozenset()
        role = [Role(self.role)] if self.role else []
        return authority.allowed(RecordType.REQUEST, [*self.relations, *role])


def response_refusal(standing: Standing, caller: Caller, type: RequirementType, reviewer_id: UUID) -> str | None:
    """Return why a caller must not record the response of a reviewer, or None.

    A person responds as themselves, as an administrator for `Administrators`, or as a stand-in. Separation of duties
    applies to the person and to the reviewer. A token may record the responses of any reviewer.
    """
    if standing.role == Role.AUDITOR:
        return NOT_INVOLVED
    stands_in = (reviewer_id, type) in caller.stands_in_for
    is_administrator = standing.role == Role.ADMINISTRATOR and reviewer_id == ADMINISTRATORS.id
    if caller.is_person and reviewer_id != caller.id and not is_administrator and not stands_in:
        return NOT_STANDING_IN
    # One person may provision for several reviewers: only approvals and verifications must be independent.
    if type is not RequirementType.RESOLVE and not is_administrator and standing.responds_for_others(reviewer_id):
        return SECOND_RESPONSE
    return refusal(standing, DECIDED[type], reviewer_id, stands_in=stands_in)


def refusal(standing: Standing, move: Move, reviewer_id: UUID | None = None, *, stands_in: bool = False) -> str | None:
    """Return why a caller must not make a move, or None.

    `reviewer_id` is the person whose response is recorded; `stands_in` is true if the caller responds for that person.
    """
    if standing.is_alone and move in DECIDED.values():
        return None
    is_own = standing.is_person and (standing.is_reporter or standing.is_affected)
    if (is_own or standing.owner_is_party) and move in DECIDED.values():
        return OWN_REQUEST
    if reviewer_id in standing.parties:
        return PARTY
    if move is APPROVE and {standing.caller_id, standing.owner_id} & {*standing.barred_members}:
        return IN_GROUP
    if move is APPROVE and reviewer_id in standing.barred_members:
        return REVIEWER_IN_GROUP
    if move is VERIFY and not standing.is_independent(reviewer_id):
        return PROVISIONED_IT
    if move in (CANCEL, SNOOZE) and standing.is_affected and not standing.is_reporter:
        return REPORTED_BY_OTHERS
    # Treat every approver as asked, because `respond` checks that a rule of the request asks them.
    is_asked = stands_in or move is APPROVE
    if standing.is_person and not is_asked and VERBS[move] not in standing.reach:
        return NOT_INVOLVED
    return None


def owner_refusal(owner: Standing | None, move: Move) -> str | None:
    """Return why the owner of the calling token must not make a move, or None.

    A token without an owner is limited only by its scope. So is a token of an administrator when it records a decision.
    """
    if owner is None or (owner.role == Role.ADMINISTRATOR and move in DECIDED.values()):
        return None
    why = refusal(owner, move)
    return why and OF_OWNER.format(why)


# SQL for the people who carried out request `r`; schema/access_requests.sql defines the functions.
CARRIED_OUT_BY = "carried_out_by(r.id, r.status)"
_DONE_BY = "CASE WHEN r.status = 'Resolved' THEN done_by(r.id) ELSE '{}' END"
# SQL that is true if the token %(caller)s belongs to a person who carried out request `r` in person.
_OWNER_CARRIED_OUT = f"coalesce((SELECT owner_id FROM tokens WHERE id = %(caller)s) = ANY({_DONE_BY}), false)"
_IS_PERSON = "EXISTS (SELECT FROM identities WHERE id = %(caller)s)"
# SQL that is true if the token %(caller)s belongs to a person who made request `r` in person or is affected by it.
_OWNER_IS_PARTY = """EXISTS (SELECT FROM tokens t WHERE t.id = %(caller)s
    AND t.owner_id = ANY(r.reporter_id || affected_people(r)))"""
# SQL that is true if the person %(caller)s may decide alone on request `r`, because no other person could.
_IS_ALONE = """
    coalesce((SELECT s.value = 'true' FROM settings s WHERE s.name = 'singleHanded'), false)
    AND EXISTS (SELECT FROM console_roles c WHERE c.identity_id = %(caller)s AND c.role = 'Administrator')
    AND NOT EXISTS (SELECT FROM console_roles c JOIN identities i ON i.id = c.identity_id
                    WHERE c.role = 'Administrator' AND i.status = 'Active' AND i.id <> %(caller)s)
    AND NOT EXISTS (SELECT FROM responses p JOIN identities i ON i.id = p.reviewer_id
                    WHERE p.request_id = r.id AND p.type = awaited_type(r.status) AND p.asked
                      AND i.status = 'Active' AND i.id <> %(caller)s)"""


# Equivalent to `%(own)s <> ALL(parties(r))`, but faster for lists: joins instead of a function call per row.
NOT_PARTY = """r.reporter_id <> %(own)s AND r.identity_id IS DISTINCT FROM %(own)s
    AND NOT EXISTS (SELECT FROM tokens t WHERE t.id = r.reporter_id AND t.owner_id = %(own)s)
    AND NOT EXISTS (SELECT FROM request_conflict_people c WHERE c.request_id = r.id AND c.identity_id = %(own)s)"""


async def standing_of(db: Db, caller_id: UUID, request_id: UUID) -> Standing:
    """Return a caller's relation to a request; it stays valid until the commit only if the request is locked."""
    found = await fetch_one(
        db,
        Standing,
        f"""SELECT %(caller)s::uuid AS caller_id, {_IS_PERSON} AS is_person,
                   (SELECT c.role FROM console_roles c WHERE c.identity_id = %(caller)s) AS role,
                   %(caller)s = ANY(reporters(r)) AS is_reporter,
                   %(caller)s = ANY(affected_people(r)) AS is_affected,
                   array(SELECT DISTINCT p.type FROM responses p
                         WHERE p.request_id = r.id AND p.reviewer_id = %(caller)s AND p.asked) AS asked,
                   coalesce(r.assignee_id = %(caller)s, false) AS is_assignee,
                   %(caller)s = ANY(a.provisioner_ids) AS is_provisioner,
                   {CARRIED_OUT_BY} AS carried_out_by, {_OWNER_CARRIED_OUT} AS owner_carried_out,
                   (SELECT max(t.created_date) FROM activity t WHERE t.item_id = r.id) AS latest,
                   {_IS_ALONE} AS is_alone, parties(r) AS parties,
                   array(SELECT DISTINCT p.reviewer_id FROM responses p
                         WHERE p.request_id = r.id AND p.type = awaited_type(r.status)
                           AND (p.reviewer_id = %(caller)s AND p.asked OR p.stand_in_id = %(caller)s)) AS responds_as,
                   {_OWNER_IS_PARTY} AS owner_is_party,
                   (SELECT t.owner_id FROM tokens t WHERE t.id = %(caller)s) AS owner_id,
                   barred_members(r) AS barred_members
            FROM access_requests r JOIN applications a ON a.id = r.application_id WHERE r.id = %(id)s""",
        caller=caller_id,
        id=request_id,
    )
    assert found
    return found


# Why the supplier of an import must not verify a request with its data.
CARRIED_OUT, IS_PARTY = "who carried out the request", "who made the request or is affected by it"


async def barred_from_verifying(db: Db, caller_id: UUID, request_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Return the requests that a caller must not verify, each with the reason: the words after the caller's name.

    A person must not verify a request that the person or one of their tokens made or resolved, that affects the person,
    or that was assigned to the person when it was resolved. A token must not verify a request that its owner made or
    carried out in person, or that affects its owner.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT r.id, o.has_carried_out FROM access_requests r CROSS JOIN LATERAL (
                SELECT %(caller)s = ANY({CARRIED_OUT_BY}) AND {_IS_PERSON} OR {_OWNER_CARRIED_OUT} AS has_carried_out,
                       %(caller)s = ANY(parties(r)) AND {_IS_PERSON} OR {_OWNER_IS_PARTY} AS is_party) AS o
            WHERE r.id = ANY(%(ids)s) AND (o.has_carried_out OR o.is_party)""",
        caller=caller_id,
        ids=list(request_ids),
    )
    return {id: CARRIED_OUT if has_carried_out else IS_PARTY for id, has_carried_out in rows}


# SQL that is false if another person made request `r` for the offboarding of %(me)s, who must not learn of it from the
# request.
NOT_OWN_OFFBOARDING = """(r.identity_id IS DISTINCT FROM %(me)s OR r.reporter_id = %(me)s OR NOT EXISTS (
    SELECT FROM related_items o JOIN personnel_events e ON e.id = o.item_id
    WHERE o.request_id = r.id AND e.type = 'Offboard'))"""


async def relations_to(db: Db, caller: Caller, request_id: UUID) -> frozenset[PersonRelation]:
    """Return every relation of a person to a request.

    Return no relation if the request is unknown, or if another person made it for the offboarding of this person. A
    stand-in sees requests that wait for a person whom they represent now, and those to which they responded.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT r.identity_id, %(me)s = ANY(reporters(r)), coalesce(r.assignee_id = %(me)s, false),
                   array(SELECT DISTINCT p.type FROM responses p
                         WHERE p.request_id = r.id AND p.reviewer_id = %(me)s AND p.asked),
                   coalesce(a.owner_id = %(me)s, false), %(me)s = ANY(a.provisioner_ids), {NOT_OWN_OFFBOARDING},
                   EXISTS (SELECT FROM responses p WHERE p.request_id = r.id AND p.stand_in_id = %(me)s)
                   OR EXISTS (SELECT FROM responses p
                              JOIN unnest(%(represented)s::uuid[], %(types)s::text[]) AS s (id, type)
                                ON s.id = p.reviewer_id AND s.type = p.type
                              WHERE p.request_id = r.id AND p.asked AND p.response = 'Pending'
                                AND p.type = awaited_type(r.status))
            FROM access_requests r JOIN applications a ON a.id = r.application_id WHERE r.id = %(id)s""",
        me=caller.id,
        id=request_id,
        represented=[id for id, _ in caller.stands_in_for],
        types=[type for _, type in caller.stands_in_for],
    )
    if not rows:
        return frozenset()
    identity_id, reporter, assignee, asked, owner, provisioner, is_open_to_self, stands_in = rows[0]
    held = {
        PersonRelation.REPORTER: reporter,
        PersonRelation.ASSIGNEE: assignee,
        PersonRelation.OWNER: owner,
        PersonRelation.PROVISIONER: provisioner,
        PersonRelation.STAND_IN: stands_in,
    }
    found = frozenset(each for each, holds in held.items() if holds) | {_ASKED[RequirementType(type)] for type in asked}
    about = await authority.relations_to_person(db, caller.id, identity_id) if identity_id else frozenset()
    if PersonRelation.SELF in about and not is_open_to_self:
        return frozenset()
    return found | about


ONLY_OWN_PEOPLE = "You can request access only for yourself and for people who report to you"


async def require_may_request(db: Db, caller: Caller, identity_id: UUID | None) -> None:
    """If the caller `is_limited`, refuse requests for anyone but the caller and people who report to the caller."""
    if not caller.is_limited:
        return
    # A request about a group is about no person, so a limited caller cannot make it.
    relations = await authority.relations_to_person(db, caller.id, identity_id) if identity_id else frozenset()
    if not authority.may(caller, authority.REQUEST, GovernedRecord(RecordType.PERSON, relations)):
        raise Invalid.on("identityId", ONLY_OWN_PEOPLE)
