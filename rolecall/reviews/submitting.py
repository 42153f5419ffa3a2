"""Submit decisions with a signed statement, and make the requests that carry them out."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute, fetch_rows, insert_rows
from rolecall.core.errors import Conflict, Invalid
from rolecall.core.ids import new_id
from rolecall.identities import queries as identities
from rolecall.identities.queries import with_mentioned_identities
from rolecall.reviews import permitted, queries
from rolecall.reviews.bodies import SubmitBody
from rolecall.reviews.closing import close_if_done
from rolecall.reviews.events import record_item_events, record_review_event, record_submission_by_token
from rolecall.reviews.model import KEPT, Decision, ReviewEvent
from rolecall.reviews.moving import lock_open, move_items
from rolecall.reviews.remediating import request_removals
from rolecall.reviews.reviewers import REVIEWED_BEFORE, reviewers_for
from rolecall.reviews.shapes import ReviewDetail, SubmissionDetail
from rolecall.tokens.queries import own_id
from rolecall.work_items.shapes import PersonReference


class _Own(msgspec.Struct, frozen=True):
    """An item of the reviewer that is not submitted yet."""

    id: UUID
    status: str
    decision: str | None
    stage: int
    is_followed: bool
    decided_on: datetime | None


async def submit(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> SubmissionDetail:
    """Sign the decisions of a reviewer, and make requests that carry them out.

    Give items that were kept to the reviewers of the next stage, if there is one.
    """
    # Lock for update at once: two submissions that share the lock would deadlock in `close_if_done`.
    review = await queries.plan_of(db, id, lock=True)
    await lock_open(db, review.id)
    body = check(SubmitBody, raw, permitted.with_administrators(await with_mentioned_identities(db, facts, raw)))
    acting = await permitted.acting_for(db, caller, body.reviewer_id, facts.now)
    reviewer_id = acting.reviewer_id
    own = await _own_items(db, review, reviewer_id)
    pending = sum(item.decision is None for item in own)
    if pending:
        are, them = ("item is", "it") if pending == 1 else ("items are", "them")
        raise Conflict(f"{pending} {are} not decided yet. Decide {them}, then submit")
    if not own:
        raise Conflict(
            "There is nothing to submit: the reviewer has no items in this review, or has submitted all of them"
        )
    await permitted.require_independent(db, [item.id for item in own], acting.people)
    if body.statement and body.statement != review.statement:
        raise Invalid.on("statement", f"Statement must be the statement of the review: {review.statement}")
    now = await _moment(db, review.id, own, facts.now)
    submission = await _sign(db, caller, review, reviewer_id, own, now)
    ahead = [item.id for item in own if item.is_followed and item.decision in KEPT]
    await _to_next_stage(db, caller, review, ahead, now)
    final = [item.id for item in own if item.id not in set(ahead)]
    await request_removals(db, caller, review, final, now)
    flagged = [item.id for item in own if item.decision in (Decision.REVOKE, Decision.CHANGE)]
    await record_item_events(db, ReviewEvent.ITEM_FLAGGED, flagged, now)
    await record_review_event(db, ReviewEvent.SUBMITTED, await queries.get(db, review.id), now)
    await close_if_done(db, review.id, now)
    return submission


async def _moment(db: Db, review_id: UUID, own: Sequence[_Own], now: datetime) -> datetime:
    """Return the time of a statement: now or, if it is later, the time of the last decision or move."""
    rows = await fetch_rows(
        db,
        """(SELECT decided_on FROM review_decisions WHERE review_id = %(id)s ORDER BY number DESC LIMIT 1)
           UNION ALL (SELECT moved_on FROM review_moves WHERE review_id = %(id)s ORDER BY number DESC LIMIT 1)""",
        id=review_id,
    )
    # A statement must not be earlier than its decisions: evidence/verify.py finds them by comparing times.
    moments: list[datetime] = [
        now,
        *(moment for (moment,) in rows),
        *(item.decided_on for item in own if item.decided_on),
    ]
    return max(moments)


async def _own_items(db: Db, review: ReviewDetail, reviewer_id: UUID) -> list[_Own]:
    """Lock and return the reviewer's items that are neither submitted nor withdrawn, in order."""
    rows = await fetch_rows(
        db,
        """SELECT id, status, decision, stage, subject <> 'Model' AND under_id IS NULL AND stage < %(stages)s,
                  decided_on
           FROM review_items WHERE review_id = %(review)s AND reviewer_id = %(reviewer)s AND submission_id IS NULL
             AND status <> 'Withdrawn' ORDER BY list_key FOR UPDATE""",
        review=review.id,
        reviewer=reviewer_id,
        stages=len(review.stages),
    )
    return [_Own(*row) for row in rows]


async def _sign(
    db: Db, caller: Caller, review: ReviewDetail, reviewer_id: UUID, own: Sequence[_Own], now: datetime
) -> SubmissionDetail:
    """Store the statement with the counts and a digest of the decisions, which become final."""
    reviewer = await _named(db, reviewer_id)
    statement = review.statement
    if not caller.is_person:
        statement = f"Recorded by {caller.name} for {reviewer.name}: {statement}"
        if await own_id(db, caller) != reviewer_id:
            await record_submission_by_token(db, review.id, reviewer_id, now)
    lines = sorted(f"{item.id}\t{item.decision}" for item in own)
    signed = SubmissionDetail(
        new_id(),
        "Review Submission",
        review.id,
        reviewer,
        statement,
        dict(sorted(Counter(item.decision or "" for item in own).items())),
        hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        caller.name,
        now,
    )
    row = {
        "id": signed.id,
        "review_id": review.id,
        "reviewer_id": reviewer_id,
        "reviewer_name": reviewer.name,
        "statement": statement,
        "counts": signed.counts,
        "digest": signed.digest,
        "submitted_by": caller.id,
        "submitted_by_name": caller.name,
        "submitted_on": now,
    }
    # Fires the trigger note_submitted_review in schema/notifications.sql.
    await insert_rows(db, "review_submissions", [row])
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    sql = "UPDATE review_items SET submission_id = %(submission)s WHERE id = ANY(%(ids)s)"
    await execute(db, sql, submission=signed.id, ids=[item.id for item in own])
    return signed


async def _named(db: Db, reviewer_id: UUID) -> PersonReference:
    if reviewer_id == ADMINISTRATORS.id:
        return PersonReference(reviewer_id, ADMINISTRATORS.name)
    found = await identities.get(db, str(reviewer_id))
    return PersonReference(reviewer_id, f"{found.first_name} {found.last_name}")


async def _to_next_stage(db: Db, caller: Caller, review: ReviewDetail, ids: Sequence[UUID], now: datetime) -> None:
    """Give kept items to the reviewers of the next stage, who decide again."""
    rows = await fetch_rows(
        db, "SELECT stage, array_agg(id) FROM review_items WHERE id = ANY(%(ids)s) GROUP BY stage", ids=list(ids)
    )
    for stage, of_stage in rows:
        # Stages are numbered from 1, so this is the stage after `stage`.
        following = review.stages[stage]
        news = await reviewers_for(db, of_stage, following, review.fallback, now, REVIEWED_BEFORE)
        await move_items(db, caller, review, news, stage + 1, now)
