"""Decide who may see and decide reviews: reviewers, people who stand in for them, and owners; never about oneself."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Invalid
from rolecall.identities import administrators
from rolecall.identities.authority import PersonRelation
from rolecall.settings.policy import RequirementType
from rolecall.tokens.queries import own_id

_TOKEN = "Reviewer ID is required: a token records the decision of a person"  # noqa: S105


async def acting_reviewer(db: Db, caller: Caller, given: UUID | None) -> UUID:
    """Return the reviewer for whom a caller decides: themselves, a person they stand in for, or whom a token names."""
    if given is None:
        if not caller.is_person:
            raise Invalid.on("reviewerId", _TOKEN)
        return caller.id
    if caller.is_person and given != caller.id and not await may_act_for(db, caller, given):
        raise Conflict("You can decide only your own items and those of people for whom you stand in")
    return given


async def may_act_for(db: Db, caller: Caller, reviewer_id: UUID) -> bool:
    """Return whether a person may decide what another reviewer should: as their stand-in, or as an administrator."""
    if reviewer_id == caller.id or (reviewer_id, RequirementType.APPROVE) in caller.stands_in_for:
        return True
    return reviewer_id == ADMINISTRATORS.id and await administrators.is_one(db, caller.id)


# SQL for why one of the %(people)s must not decide about a row `c` of review_items; null if they all may.
OBSTACLE = """CASE
    WHEN c.identity_id = ANY(%(people)s) THEN 'It is about their own account'
    WHEN EXISTS (SELECT FROM access_requests r WHERE r.id = ANY(c.request_ids) AND r.reporter_id = ANY(%(people)s))
      THEN 'They made the request that gave the access'
    WHEN EXISTS (SELECT FROM responses s WHERE s.request_id = ANY(c.request_ids) AND s.type <> 'Verify'
                 AND s.response = 'Approved' AND (s.reviewer_id = ANY(%(people)s) OR s.stand_in_id = ANY(%(people)s)))
      THEN 'They approved or carried out the request that gave the access'
    WHEN c.subject <> 'Model' AND c.under_id IS NULL AND EXISTS (
        SELECT FROM access_models m
        WHERE m.id = ANY(c.model_ids) AND m.definition ->> 'ownerId' = ANY(%(people)s::text[]))
      THEN 'They own the model that explains the access' END"""


async def require_independent(db: Db, caller: Caller, item_id: UUID, reviewer_id: UUID) -> None:
    """Refuse a decision by a person who holds the account or gave the access, also through a token of theirs."""
    if why := await obstacle_to(db, item_id, [reviewer_id, await own_id(db, caller)]):
        raise Conflict(f"This person cannot decide the item. {why}; another person must decide")


async def obstacle_to(db: Db, item_id: UUID, people: Sequence[UUID]) -> str | None:
    """Return why one of these people must not decide about an item."""
    found: str | None = await fetch_value(
        db, f"SELECT {OBSTACLE} FROM review_items c WHERE c.id = %(id)s", id=item_id, people=list(people)
    )
    return found


_RELATIONS = (PersonRelation.OWNER, PersonRelation.REVIEWER, PersonRelation.STAND_IN)


def _holding(rows: Sequence[Sequence[Any]]) -> frozenset[PersonRelation]:
    return frozenset(relation for row in rows for relation, holds in zip(_RELATIONS, row, strict=True) if holds)


async def relations_to(db: Db, caller: Caller, review_id: UUID) -> frozenset[PersonRelation]:
    """Read how a review concerns a person: they own it, or review items of it, or stand in for a reviewer."""
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
    """Read how an item concerns a person: they review it or stand in, or own its application or its review."""
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
