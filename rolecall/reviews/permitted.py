"""Check who may see and decide reviews: owners, reviewers and stand-ins. Nobody decides about their own access."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Invalid
from rolecall.identities import administrators
from rolecall.identities.authority import PersonRelation
from rolecall.settings.policy import RequirementType
from rolecall.stand_ins.queries import between
from rolecall.tokens.queries import own_id

_TOKEN = "Reviewer ID is required with a token: name the reviewer who decides"  # noqa: S105


class ActingFor(msgspec.Struct, frozen=True):
    """The reviewer for whom a caller decides, and the people who must all be independent.

    These are the reviewer, the caller or the owner of the token, and everyone between them in a chain of stand-ins.
    """

    reviewer_id: UUID
    people: list[UUID]


async def acting_for(db: Db, caller: Caller, given: UUID | None, now: datetime) -> ActingFor:
    """Return the reviewer for whom a caller decides.

    Refuse if the caller is not permitted to decide for that reviewer, or if the caller or the reviewer cannot decide
    at all.
    """
    reviewer_id = await _reviewer(db, caller, given)
    people = {reviewer_id, await own_id(db, caller)}
    if caller.is_person and reviewer_id not in (caller.id, ADMINISTRATORS.id):
        people |= await between(db, reviewer_id, caller, RequirementType.APPROVE, now)
    await _require_available(db, {reviewer_id, *([caller.id] if caller.is_person else [])}, now)
    return ActingFor(reviewer_id, sorted(people - {ADMINISTRATORS.id}))


async def _reviewer(db: Db, caller: Caller, given: UUID | None) -> UUID:
    if given is None:
        if not caller.is_person:
            raise Invalid.on("reviewerId", _TOKEN)
        return caller.id
    if caller.is_person and given != caller.id and not await may_act_for(db, caller, given):
        raise Conflict("You can decide only items assigned to you or to people for whom you stand in")
    return given


async def _require_available(db: Db, people: Collection[UUID], now: datetime) -> None:
    """Refuse people who left, cannot sign in or are auditors. An absent reviewer can still decide."""
    rows = await fetch_rows(
        db,
        """SELECT i.first_name || ' ' || i.last_name, review_obstacle(i.id, %(now)s) FROM identities i
           WHERE i.id = ANY(%(people)s) AND review_obstacle(i.id, %(now)s) <> 'is absent'""",
        people=list(people),
        now=now,
    )
    for name, obstacle in rows:
        raise Conflict(f"{name} {obstacle} and cannot decide. Reassign the items to another person")


def with_administrators(facts: Facts) -> Facts:
    """Allow Administrators as the reviewer in a request body."""
    return msgspec.structs.replace(facts, identities=facts.identities | {ADMINISTRATORS.id})


async def may_act_for(db: Db, caller: Caller, reviewer_id: UUID) -> bool:
    """Return whether the caller is the reviewer, a stand-in or, if the reviewer is Administrators, an administrator."""
    if reviewer_id == caller.id or (reviewer_id, RequirementType.APPROVE) in caller.stands_in_for:
        return True
    return reviewer_id == ADMINISTRATORS.id and await administrators.is_one(db, caller.id)


# SQL for the person who made decision `d`; if token `t` made it, the owner of the token or null.
DECIDER = "CASE WHEN t.id IS NULL THEN d.decided_by ELSE t.owner_id END"
# SQL for the reason why one of %(people)s must not decide about a row `c` of review_items, or null if all of them may.
# An account is their own if it belonged to them when the review was opened, or belongs to them now.
OBSTACLE = f"""CASE
    WHEN c.identity_id = ANY(%(people)s)
         OR (SELECT a.identity_id FROM accounts a WHERE a.number = c.account_number) = ANY(%(people)s)
      THEN 'It is about their own account'
    WHEN EXISTS (SELECT FROM access_requests r LEFT JOIN tokens t ON t.id = r.reporter_id
                 WHERE r.id = ANY(c.request_ids)
                   AND (r.reporter_id = ANY(%(people)s) OR t.owner_id = ANY(%(people)s)))
      THEN 'They made the request that gave the access'
    WHEN EXISTS (SELECT FROM access_requests r WHERE r.id = ANY(c.request_ids) AND r.assignee_id = ANY(%(people)s))
      OR EXISTS (SELECT FROM responses s WHERE s.request_id = ANY(c.request_ids) AND s.type <> 'Verify'
                 AND s.response = 'Approved' AND (s.reviewer_id = ANY(%(people)s) OR s.stand_in_id = ANY(%(people)s)))
      OR EXISTS (SELECT FROM unnest(c.request_ids) AS q (id)
                 WHERE with_token_owners(done_by(q.id)) && %(people)s::uuid[])
      THEN 'They approved or carried out the request that gave the access'
    WHEN c.stage > 1 AND EXISTS (
        SELECT FROM review_decisions d LEFT JOIN tokens t ON t.id = d.decided_by
        WHERE d.item_id = c.id AND d.stage < c.stage
          AND (d.reviewer_id = ANY(%(people)s) OR {DECIDER} = ANY(%(people)s)))
      THEN 'They decided it in an earlier stage'
    WHEN c.subject <> 'Model' AND c.under_id IS NULL AND EXISTS (
        SELECT FROM access_models m
        WHERE m.id = ANY(c.model_ids) AND m.definition ->> 'ownerId' = ANY(%(people)s::text[]))
      THEN 'They own the model that explains the access' END"""


async def require_independent(db: Db, item_ids: Sequence[UUID], people: Sequence[UUID]) -> None:
    """Refuse if one of these people must not decide about one of the items."""
    rows = await fetch_rows(
        db,
        f"""SELECT o.number, o.why FROM (
                SELECT c.number, {OBSTACLE} AS why FROM review_items c WHERE c.id = ANY(%(ids)s)) AS o
            WHERE o.why IS NOT NULL ORDER BY o.number LIMIT 1""",
        ids=list(item_ids),
        people=list(people),
    )
    for number, why in rows:
        raise Conflict(f"This person cannot decide item #{number}. {why}; another person must decide")


async def obstacle_to(db: Db, item_id: UUID, people: Sequence[UUID]) -> str | None:
    """Return why one of these people must not decide about an item, or None."""
    found: str | None = await fetch_value(
        db, f"SELECT {OBSTACLE} FROM review_items c WHERE c.id = %(id)s", id=item_id, people=list(people)
    )
    return found


_RELATIONS = (PersonRelation.OWNER, PersonRelation.REVIEWER, PersonRelation.STAND_IN)


def _holding(rows: Sequence[Sequence[Any]]) -> frozenset[PersonRelation]:
    return frozenset(relation for row in rows for relation, holds in zip(_RELATIONS, row, strict=True) if holds)


async def relations_to(db: Db, caller: Caller, review_id: UUID) -> frozenset[PersonRelation]:
    """Return the relations of a person to a review: its owner, a reviewer, or the stand-in of a reviewer."""
    rows = await fetch_rows(
        db,
        """SELECT r.owner_id = %(me)s,
                  EXISTS (SELECT FROM review_items c WHERE c.review_id = r.id AND c.reviewer_id = %(me)s),
                  EXISTS (SELECT FROM review_items c WHERE c.review_id = r.id AND c.reviewer_id = ANY(%(others)s))
           FROM reviews r WHERE r.id = %(id)s""",
        me=caller.id,
        others=[id for id, type in caller.stands_in_for if type == RequirementType.APPROVE],
        id=review_id,
    )
    return _holding(rows)


async def relations_to_item(db: Db, caller: Caller, item_id: UUID) -> frozenset[PersonRelation]:
    """Return the relations of a person to an item: owner of its application or review, reviewer, or stand-in."""
    rows = await fetch_rows(
        db,
        """SELECT r.owner_id = %(me)s OR o.owner_id = %(me)s, c.reviewer_id = %(me)s,
                  c.reviewer_id = ANY(%(others)s)
           FROM review_items c JOIN reviews r ON r.id = c.review_id
           LEFT JOIN applications o ON o.id = c.application_id WHERE c.id = %(id)s""",
        me=caller.id,
        others=[id for id, type in caller.stands_in_for if type == RequirementType.APPROVE],
        id=item_id,
    )
    return _holding(rows)
