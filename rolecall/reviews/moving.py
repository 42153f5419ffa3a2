"""Give items to other reviewers: pass them on, reassign them, or release them from the decision about a model.

An item *below* a model item (`under_id`) is access that the model explains, and follows the decision about the model.
It is released from that decision if the reviewer of the model must not decide it, or if the access returns after the
decision was submitted.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute, fetch_rows, fetch_value, insert_rows
from rolecall.core.errors import Conflict, Invalid
from rolecall.core.text import is_blank
from rolecall.identities import queries as identities
from rolecall.identities.queries import with_mentioned_identities
from rolecall.reviews import item_queries, permitted, queries
from rolecall.reviews.bodies import DecideBody, ReassignBody
from rolecall.reviews.model import LEFT_TO_DECIDE, Decision, ReviewStatus
from rolecall.reviews.reviewers import NewReviewer, reviewers_for
from rolecall.reviews.shapes import ReviewDetail, ReviewItemDetail
from rolecall.tokens.queries import own_id


async def lock_open(db: Db, review_id: UUID) -> None:
    """Lock a review, so that it is not closed or canceled while decisions are made; refuse if it is not open."""
    # The lock is shared, so that several people can decide at the same time.
    sql = "SELECT status FROM reviews WHERE id = %(id)s FOR SHARE"
    status = await fetch_value(db, sql, id=review_id)
    if status != ReviewStatus.OPEN:
        raise Conflict(f"The review is {status}; decisions can be made only while it is Open")


async def pass_on(db: Db, caller: Caller, item: ReviewItemDetail, body: DecideBody, now: datetime) -> None:
    """Give the item to the chosen person, the next stage or the fallback, and record the decision."""
    if body.decision is Decision.NOT_MINE and is_blank(body.comment):
        raise Invalid.on("comment", "A comment is required: say why the item is not yours")
    review = await queries.plan_of(db, item.review_id)
    stage = item.stage
    if body.decision is Decision.NOT_MINE and body.identity_id:
        await require_can_review(db, item, body.identity_id, now)
        await _require_not_passed_on(db, item, body.identity_id)
        moved = f"{item.reviewer.name} passed it on"
        new = NewReviewer(item.id, body.identity_id, f"{moved}: {body.comment}" if body.comment else moved)
    else:
        unsure = body.decision is Decision.UNSURE and stage < len(review.stages)
        # `unsure` counts as 1 if it is true: the item goes to the next stage.
        stage += unsure
        (new,) = await reviewers_for(db, [item.id], review.stages[stage - 1] if unsure else None, review.fallback, now)
    await _record_passing(db, caller, item, body, now)
    await move_items(db, caller, review, [new], stage, now)


async def _require_not_passed_on(db: Db, item: ReviewItemDetail, person_id: UUID) -> None:
    """Refuse a person who decided Not Mine in this stage, so that the item does not go back and forth."""
    name = await fetch_value(
        db,
        """SELECT i.first_name || ' ' || i.last_name FROM review_decisions d JOIN identities i ON i.id = d.reviewer_id
           WHERE d.item_id = %(item)s AND d.stage = %(stage)s AND d.decision = %(passed)s AND i.id = %(person)s""",
        item=item.id,
        stage=item.stage,
        passed=Decision.NOT_MINE,
        person=person_id,
    )
    if name:
        raise Invalid.on("identityId", f"{name} has already passed this item on; choose another person")


async def _record_passing(db: Db, caller: Caller, item: ReviewItemDetail, body: DecideBody, now: datetime) -> None:
    row = {
        "review_id": item.review_id,
        "item_id": item.id,
        "stage": item.stage,
        "reviewer_id": item.reviewer.id,
        "decision": body.decision,
        "comment": body.comment,
        "decided_by": caller.id,
        "decided_by_name": caller.name,
        "decided_on": now,
    }
    await insert_rows(db, "review_decisions", [row])


async def require_can_review(db: Db, item: ReviewItemDetail, person_id: UUID, now: datetime) -> None:
    """Refuse a person who is unavailable, not independent or already the reviewer."""
    person = await identities.get(db, str(person_id))
    name = f"{person.first_name} {person.last_name}"
    if person_id == item.reviewer.id:
        raise Invalid.on("identityId", f"{name} already reviews this item; choose another person")
    obstacle = await fetch_value(db, "SELECT review_obstacle(%(id)s, %(now)s)", id=person_id, now=now)
    if obstacle:
        raise Invalid.on("identityId", f"{name} {obstacle}; choose another person")
    if why := await permitted.obstacle_to(db, item.id, [person_id]):
        raise Invalid.on("identityId", f"{name} cannot decide this item. {why}; choose another person")


async def move_items(
    db: Db, caller: Caller, review: ReviewDetail, news: Sequence[NewReviewer], stage: int, now: datetime
) -> None:
    """Give items and the items below them to other reviewers, discard decisions about them, and record the moves."""
    given: dict[str, list[Any]] = {
        "ids": [new.item_id for new in news],
        "people": [new.reviewer_id for new in news],
        "reasons": [new.moved for new in news],
    }
    # Fires the trigger notify_of_moved_items in schema/notifications.sql.
    await execute(
        db,
        # Record the moves first: the update below overwrites the previous reviewers.
        """INSERT INTO review_moves (review_id, item_id, from_id, to_id, stage, reason, moved_by_name, moved_on)
           SELECT c.review_id, c.id, c.reviewer_id, n.person, %(stage)s, n.reason, %(name)s, %(now)s
           FROM unnest(%(ids)s::uuid[], %(people)s::uuid[], %(reasons)s::text[]) AS n (id, person, reason)
           JOIN review_items c ON c.id = n.id ORDER BY c.list_key""",
        stage=stage,
        name=caller.name,
        now=now,
        **given,
    )
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    await execute(
        db,
        """UPDATE review_items c SET reviewer_id = n.person, moved = n.reason, stage = %(stage)s, status = 'Pending',
                  decision = NULL, until = NULL, new_access = NULL, comment = '', decided_on = NULL, decided_by = NULL,
                  bulk_id = NULL, submission_id = NULL, read_on = NULL, is_carried = false
           FROM unnest(%(ids)s::uuid[], %(people)s::uuid[], %(reasons)s::text[]) AS n (id, person, reason)
           WHERE c.id = n.id""",
        stage=stage,
        **given,
    )
    await _move_below(db, caller, review, given["ids"], stage, now)


async def reassign(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewItemDetail:
    await lock_open(db, await item_queries.review_of(db, id))
    item = await item_queries.get_item(db, id, lock=True)
    body = check(ReassignBody, raw, await with_mentioned_identities(db, facts, raw))
    if item.is_submitted or item.status not in LEFT_TO_DECIDE:
        raise Conflict("The item is submitted, remediated or withdrawn; it cannot be given to another reviewer")
    await require_not_below(db, item.id)
    await _require_not_passed_on(db, item, body.identity_id)
    if why := await permitted.obstacle_to(db, item.id, [await own_id(db, caller)]):
        raise Conflict(f"{caller.name} cannot choose the reviewer of this item. {why}; ask another administrator")
    await require_can_review(db, item, body.identity_id, facts.now)
    new = NewReviewer(item.id, body.identity_id, f"{caller.name} reassigned it: {body.comment}")
    await move_items(db, caller, await queries.plan_of(db, item.review_id), [new], item.stage, facts.now)
    return await item_queries.get_item(db, item.id)


async def _move_below(
    db: Db, caller: Caller, review: ReviewDetail, ids: Sequence[UUID], stage: int, now: datetime
) -> None:
    """Give the items that these model items explain to the reviewers who now decide those model items.

    Release the items that these reviewers must not decide, so that others decide them separately.
    """
    rows = await fetch_rows(
        db,
        """SELECT c.id, m.reviewer_id,
                  'This reviewer decides item #' || m.number || ', the model that explains this access'
           FROM review_items c JOIN review_items m ON m.id = c.under_id
           WHERE m.id = ANY(%(ids)s) AND c.submission_id IS NULL AND c.status = ANY(%(left)s) ORDER BY c.list_key""",
        ids=list(ids),
        left=list(LEFT_TO_DECIDE),
    )
    if rows:
        await move_items(db, caller, review, [NewReviewer(*row) for row in rows], stage, now)
        await release_obstructed(db, caller, review.id, None, now)


async def require_not_below(db: Db, item_id: UUID) -> None:
    """Refuse an item that is decided together with its model."""
    above = await fetch_value(
        db,
        "SELECT m.number FROM review_items c JOIN review_items m ON m.id = c.under_id WHERE c.id = %(id)s",
        id=item_id,
    )
    if above:
        raise Conflict(f"This access is decided with the model that explains it. Decide item #{above} instead")


async def release_obstructed(
    db: Db,
    caller: Caller,
    review_id: UUID,
    people: Sequence[UUID] | None,
    now: datetime,
    model_item: UUID | None = None,
) -> None:
    """Release items from the decision about their model if one of `people` must not decide them.

    By default, `people` contains only the reviewer of the model.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT m.reviewer_id, array_agg(c.id ORDER BY c.list_key) FROM review_items c
            JOIN review_items m ON m.id = c.under_id
            CROSS JOIN LATERAL (SELECT {permitted.OBSTACLE.replace("%(people)s", "p.people")} AS why
                                FROM (SELECT coalesce(%(people)s::uuid[], ARRAY[m.reviewer_id]) AS people) AS p) AS o
            WHERE c.review_id = %(review)s AND (%(model)s::uuid IS NULL OR m.id = %(model)s)
              AND c.submission_id IS NULL AND c.status = ANY(%(left)s) AND o.why IS NOT NULL GROUP BY 1""",
        review=review_id,
        model=model_item,
        people=None if people is None else list(people),
        left=list(LEFT_TO_DECIDE),
    )
    for _, ids in rows:
        await _release(db, caller, review_id, ids, _RELEASED, now)


async def _release(db: Db, caller: Caller, review_id: UUID, ids: Sequence[UUID], reason: str, now: datetime) -> None:
    """Release items from the decision about their model, and give them to the reviewers of the first stage."""
    review = await queries.plan_of(db, review_id)
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    await execute(db, "UPDATE review_items SET under_id = NULL WHERE id = ANY(%(ids)s)", ids=list(ids))
    news = await reviewers_for(db, ids, review.stages[0], review.fallback, now, _OF_THE_MODEL)
    named = [NewReviewer(new.item_id, new.reviewer_id, new.moved or reason) for new in news]
    await move_items(db, caller, review, named, 1, now)


async def release_late(db: Db, restored: Sequence[tuple[UUID, UUID]], now: datetime) -> None:
    """Release items whose access returned after the decision about their model was submitted."""
    rows = await fetch_rows(
        db,
        """SELECT c.review_id, array_agg(c.id ORDER BY c.list_key) FROM review_items c
           JOIN review_items m ON m.id = c.under_id AND m.submission_id IS NOT NULL
           WHERE c.id = ANY(%(ids)s) GROUP BY 1 ORDER BY 1""",
        ids=[id for id, _ in restored],
    )
    for review_id, ids in rows:
        await _release(db, SYSTEM, review_id, ids, _RETURNED, now)


_OF_THE_MODEL = " decides about the model"
_RELEASED = "The reviewer of the model must not decide about this access"
_RETURNED = "The access returned after the decision about its model was submitted"

# SQL for the reviewers of one open review or, if %(review)s is null, of all open reviews. It reads one item for each
# reviewer.
REVIEWERS = """WITH RECURSIVE named (review_id, reviewer_id) AS (
        SELECT r.id, (SELECT c.reviewer_id FROM review_items c WHERE c.review_id = r.id
                      ORDER BY c.reviewer_id LIMIT 1)
        FROM reviews r WHERE r.status = 'Open' AND r.id = coalesce(%(review)s, r.id)
        UNION ALL
        SELECT n.review_id, (SELECT c.reviewer_id FROM review_items c
                             WHERE c.review_id = n.review_id AND c.reviewer_id > n.reviewer_id
                             ORDER BY c.reviewer_id LIMIT 1)
        FROM named n WHERE n.reviewer_id IS NOT NULL)"""
NOT_SUBMITTED = """c.status IN ('Pending', 'Approved', 'Flagged') AND c.submission_id IS NULL
                AND c.under_id IS NULL"""


async def replace_parties(db: Db, review_id: UUID | None, now: datetime) -> None:
    """Reassign unsubmitted items whose reviewer now holds the account or owns a model that explains the access.

    Without `review_id`, do this in all open reviews.
    """
    rows = await fetch_rows(
        db,
        f"""{REVIEWERS}, parties AS (
                SELECT c.* FROM named n JOIN accounts a ON a.identity_id = n.reviewer_id
                JOIN review_items c ON c.account_number = a.number
                     AND c.review_id = n.review_id AND c.reviewer_id = n.reviewer_id
                UNION
                SELECT c.* FROM named n JOIN access_models m ON m.definition ->> 'ownerId' = n.reviewer_id::text
                JOIN review_items c ON c.review_id = n.review_id AND c.reviewer_id = n.reviewer_id
                     AND c.subject <> 'Model' AND m.id = ANY(c.model_ids))
            SELECT c.review_id, c.stage, array_agg(c.id ORDER BY c.list_key) FROM parties c WHERE {NOT_SUBMITTED}
            GROUP BY 1, 2 ORDER BY 1, 2""",
        review=review_id,
    )
    for id, stage, ids in rows:
        review = await queries.plan_of(db, id, lock=True)
        # Another transaction may have closed the review before this one locked it.
        if review.status is ReviewStatus.OPEN:
            news = await reviewers_for(db, ids, None, review.fallback, now, _BECAME_PARTY)
            await move_items(db, SYSTEM, review, news, stage, now)


_BECAME_PARTY = " now holds the account or owns the model that explains it"
