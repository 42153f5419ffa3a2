"""Close, complete and cancel reviews. Closing an overdue review may decide the items that have no decision."""

from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Conflict
from rolecall.reviews import queries
from rolecall.reviews.actions import move_review
from rolecall.reviews.changes import ItemChange, record_change
from rolecall.reviews.events import record_item_events, record_review_event
from rolecall.reviews.model import MOST_FLAGGED, Decision, Explained, OnSilence, ReviewEvent, ReviewStatus
from rolecall.reviews.moving import release_obstructed, replace_parties
from rolecall.reviews.remediating import request_removals
from rolecall.reviews.shapes import ReviewDetail
from rolecall.reviews.steps import NO_PERSON, ReviewStep, is_by_person, record_step

_NO_RESPONSE = "No decision by {:%Y-%m-%d}. {}, as the review specifies"


async def close_review(
    db: Db, caller: Caller, id: str | UUID, confirm: bool, now: datetime, zone: ZoneInfo
) -> ReviewDetail:
    """Close a review if all items are submitted, or if it is overdue and its settings decide the remaining items.

    If closing an overdue review would flag too many accounts, keep it open and store the reason in `held`. With
    `confirm`, close a held review, unless the reason has changed since.
    """
    review = await queries.plan_of(db, id, lock=True)
    if review.status is not ReviewStatus.OPEN:
        raise Conflict(f"A review that is {review.status} cannot be closed")
    left = await _left(db, review.id)
    if left and review.due_on > now:
        raise Conflict(f"{_unsubmitted(left)}, and the due date has not passed. Remind the reviewers, or wait")
    if left and review.on_silence is OnSilence.ESCALATE:
        raise Conflict(f"{_unsubmitted(left)}. Remind the reviewers, or reassign the items")
    if left:
        # Replacing reviewers discards decisions, so do it before counting the accounts that would be flagged.
        await _replace_parties(db, review, now)
        held = await _too_many(db, review)
        # A confirmation is valid only for the message that was shown.
        if held and not (confirm and review.held == held):
            await execute(db, "UPDATE reviews SET held = %(held)s WHERE id = %(id)s", held=held, id=review.id)
            return await queries.get(db, review.id)
        await _record_close(db, caller, review, held, now)
        await _decide_unanswered(db, caller, review, now, zone)
    return await _close(db, review, now)


async def _record_close(db: Db, caller: Caller, review: ReviewDetail, held: str | None, now: datetime) -> None:
    """Record who closed a review with unsubmitted items. Only a person may close a review that is `held`."""
    if held and not await is_by_person(db, caller):
        raise Conflict(NO_PERSON)
    step = ReviewStep.HOLD_CONFIRMED if held else ReviewStep.CLOSED
    await record_step(db, caller, review.id, step, held or "", now)


async def _replace_parties(db: Db, review: ReviewDetail, now: datetime) -> None:
    """Reassign items whose reviewers are no longer independent; the decisions about these items are discarded."""
    await replace_parties(db, review.id, now)
    if review.explained is Explained.BY_MODEL:
        await release_obstructed(db, SYSTEM, review.id, None, now)


def _unsubmitted(left: int) -> str:
    return "1 item is not submitted yet" if left == 1 else f"{left:,} items are not submitted yet"


async def _left(db: Db, review_id: UUID) -> int:
    """Count the items that are not submitted, except withdrawn items."""
    count: int = await fetch_value(
        db,
        """SELECT count(*) FROM review_items
           WHERE review_id = %(id)s AND submission_id IS NULL AND status <> 'Withdrawn'""",
        id=review_id,
    )
    return count


async def _too_many(db: Db, review: ReviewDetail) -> str | None:
    """Return a message if closing would flag too many accounts of an application; otherwise return None.

    Only items that were not submitted count. An item about a group counts for every account in the group, directly or
    through other groups.
    """
    rows = await fetch_rows(
        db,
        """WITH flagged AS MATERIALIZED (
               SELECT DISTINCT c.application_id, c.account_number, c.group_number FROM review_items c
               WHERE c.review_id = %(id)s AND c.application_id IS NOT NULL AND c.submission_id IS NULL
                 AND (c.status = 'Flagged' OR %(flag)s AND c.status = 'Pending')
           ), affected AS (
               SELECT application_id, account_number FROM flagged WHERE account_number IS NOT NULL
               UNION
               SELECT f.application_id, m.account_number FROM flagged f
               CROSS JOIN LATERAL groups_below(f.group_number, NULL) AS g
               JOIN memberships m ON m.group_number = g.number AND m.until_import IS NULL
               WHERE f.group_number IS NOT NULL AND upper_inf(g.during))
           SELECT a.name, count(*), p.accounts FROM affected c JOIN applications a ON a.id = c.application_id
           JOIN review_populations p ON p.review_id = %(id)s AND p.application_id = c.application_id
           GROUP BY a.id, p.accounts HAVING count(*) > p.accounts * %(most)s ORDER BY a.name_key""",
        id=review.id,
        most=MOST_FLAGGED,
        flag=review.on_silence is OnSilence.FLAG,
    )
    said = [f"{flagged} of {accounts} accounts of {name}" for name, flagged, accounts in rows]
    return f"Closing would flag {', '.join(said)}. Confirm to close the review anyway" if said else None


async def _decide_unanswered(db: Db, caller: Caller, review: ReviewDetail, now: datetime, zone: ZoneInfo) -> None:
    """Decide pending items as the review specifies, and carry out all decisions that were not submitted."""
    flag = review.on_silence is OnSilence.FLAG
    status = "Flagged" if flag else "Approved"
    said = _NO_RESPONSE.format(review.due_on.astimezone(zone), status)
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    rows = await fetch_rows(
        db,
        """UPDATE review_items SET status = %(status)s, decision = %(decision)s, comment = %(comment)s,
                  decided_on = %(now)s, decided_by = %(system)s
           WHERE review_id = %(id)s AND status = 'Pending' RETURNING id""",
        id=review.id,
        status=status,
        decision=Decision.REVOKE if flag else Decision.KEEP,
        comment=said,
        now=now,
        system=SYSTEM.id,
    )
    unanswered = [id for (id,) in rows]
    await record_change(db, ItemChange.NO_RESPONSE, [(id, review.id) for id in unanswered], said, now)
    # Decisions that were made but not submitted take effect too.
    unsubmitted = await fetch_rows(
        db,
        """SELECT id, status = 'Flagged' FROM review_items WHERE review_id = %(id)s AND submission_id IS NULL
           AND status IN ('Approved', 'Flagged') ORDER BY list_key""",
        id=review.id,
    )
    # Include approved items, because the decision Keep Until needs a request too.
    await request_removals(db, caller, review, [id for id, _ in unsubmitted], now)
    flagged = [id for id, is_flagged in unsubmitted if is_flagged]
    await record_item_events(db, ReviewEvent.ITEM_FLAGGED, flagged, now)


async def _close(db: Db, review: ReviewDetail, now: datetime) -> ReviewDetail:
    counts = await _counts(db, review.id)
    await move_review(
        db, review, ReviewStatus.CLOSED, "closed", closed_on=now, held=None, closed_due_on=review.due_on, **counts
    )
    await complete_if_done(db, review.id, now)
    return await queries.get(db, review.id)


async def _cancel(db: Db, review: ReviewDetail, now: datetime) -> None:
    counts = await _counts(db, review.id)
    await move_review(db, review, ReviewStatus.CANCELED, "canceled", canceled_on=now, held=None, **counts)


async def _counts(db: Db, review_id: UUID) -> dict[str, int]:
    """Count decisions and reassignments. The counts are final, because the review ends."""
    [row] = await fetch_rows(
        db,
        """SELECT (SELECT count(*) FROM review_decisions WHERE review_id = %(id)s),
                  (SELECT count(*) FROM review_moves WHERE review_id = %(id)s)""",
        id=review_id,
    )
    return dict(zip(("decision_count", "move_count"), row, strict=True))


async def close_if_done(db: Db, review_id: UUID, now: datetime) -> None:
    """Close an open review if nothing is left to submit; cancel it if every item was withdrawn."""
    review = await queries.plan_of(db, review_id, lock=True)
    if review.status is not ReviewStatus.OPEN or await _left(db, review_id):
        return
    if await _has_decisions(db, review_id):
        await _close(db, review, now)
    else:
        await _cancel(db, review, now)


async def _has_decisions(db: Db, review_id: UUID) -> bool:
    sql = "SELECT EXISTS (SELECT FROM review_items WHERE review_id = %(id)s AND status <> 'Withdrawn')"
    return bool(await fetch_value(db, sql, id=review_id))


async def complete_if_done(db: Db, review_id: UUID, now: datetime) -> None:
    """Complete a closed review if no item is flagged; ignore accepted items and items of archived applications."""
    # Lock first, so that the later of two concurrent changes sees the earlier one.
    review = await queries.plan_of(db, review_id, lock=True)
    waiting = await fetch_value(
        db,
        """SELECT true FROM review_items c LEFT JOIN applications a ON a.id = c.application_id
           WHERE c.review_id = %(id)s AND c.status = 'Flagged' AND coalesce(c.accepted_until, '-infinity') <= %(now)s
             AND a.is_archived IS NOT TRUE LIMIT 1""",
        id=review_id,
        now=now,
    )
    if waiting or review.status is not ReviewStatus.CLOSED:
        return
    await move_review(db, review, ReviewStatus.COMPLETED, "completed", completed_on=now)
    await record_review_event(db, ReviewEvent.COMPLETED, await queries.get(db, review_id), now)


async def cancel_review(db: Db, caller: Caller, id: str, now: datetime) -> ReviewDetail:
    """Cancel a review and withdraw its items, decided or not. Items with a request stay; the requests continue."""
    review = await queries.plan_of(db, id, lock=True)
    await _cancel(db, review, now)
    # Count the flagged items before they are withdrawn.
    await _record_cancel(db, caller, review, now)
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    rows = await fetch_rows(
        db,
        """UPDATE review_items SET status = 'Withdrawn'
           WHERE review_id = %(id)s AND status IN ('Pending', 'Approved', 'Flagged') AND request_id IS NULL
           RETURNING id, review_id""",
        id=review.id,
    )
    await record_change(db, ItemChange.WITHDRAWN, rows, "The review was canceled", now)
    return await queries.get(db, review.id)


async def _record_cancel(db: Db, caller: Caller, review: ReviewDetail, now: datetime) -> None:
    """Record who canceled a review, and notify its owner if decisions to revoke or change access are dropped."""
    dropped: int = await fetch_value(
        db,
        """SELECT count(*) FROM review_items
           WHERE review_id = %(id)s AND status = 'Flagged' AND request_id IS NULL""",
        id=review.id,
    )
    said = f"Decisions to revoke or change access that were not carried out: {dropped:,}" if dropped else ""
    await record_step(db, caller, review.id, ReviewStep.CANCELED, said, now, is_notified=dropped > 0)
