"""Record the events of reviews; triggers create webhook deliveries and notifications from them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core.db import Db, execute, fetch_rows, insert_rows
from rolecall.reviews.item_queries import items_by_id
from rolecall.reviews.model import ReviewEvent
from rolecall.reviews.shapes import ReviewDetail

_BATCH = 500


async def record_review_event(db: Db, event: ReviewEvent, review: ReviewDetail, now: datetime) -> None:
    await _record(db, event, review.id, msgspec.json.encode(review), now)


async def record_item_events(db: Db, event: ReviewEvent, item_ids: Sequence[UUID], now: datetime) -> None:
    """Record an event for each item; the event contains the current state of the item."""
    for start in range(0, len(item_ids), _BATCH):
        found = await items_by_id(db, item_ids[start : start + _BATCH])
        rows = [
            {
                "name": event,
                "review_id": item.review_id,
                "item_id": item.id,
                "application_id": item.application.id if item.application else None,
                "created_at": now,
                "subject": item,
            }
            for item in found
        ]
        # Fires fan_out_on_review_event (schema/webhooks.sql) and notify_of_review_events
        # (schema/notifications.sql).
        await insert_rows(db, "review_events", rows)


# Events that only notifications use; webhooks cannot subscribe to them.
DUE, REMINDED, REOPENED, OVERDUE = "ReviewDue", "ReviewReminded", "ReviewItemReopened", "ReviewOverdue"
REMOVAL_CANCELED, ACCEPTANCE_ENDED = "ReviewRemovalCanceled", "ReviewAcceptanceEnded"
STEP_BY_HOLDER, CANCELED, RECORDED = "ReviewStepByHolder", "ReviewCanceled", "ReviewRecorded"


async def record_reminder(db: Db, review_id: UUID, reviewer_ids: Sequence[UUID], now: datetime) -> None:
    """Record an event that reminds reviewers of the items that they have to decide or submit."""
    subject = msgspec.json.encode({"reviewerIds": reviewer_ids})
    await _record(db, REMINDED, review_id, subject, now)


async def record_notice(db: Db, notice: str, review_id: UUID, now: datetime, by: UUID | None = None) -> None:
    """Record an event for notifications. `ReviewDue` notifies the reviewers who have items left.

    All other notices go to the owner of the review, or to administrators if the owner acted (`by`) or is not active.
    """
    await _record(db, notice, review_id, msgspec.json.encode({"byId": by} if by else {}), now)


async def record_submission_by_token(db: Db, review_id: UUID, reviewer_id: UUID, now: datetime) -> None:
    """Record an event that notifies a reviewer that a token submitted decisions in their name."""
    await _record(db, RECORDED, review_id, msgspec.json.encode({"reviewerIds": [reviewer_id]}), now)


async def to_remind(db: Db, *, due_by: datetime, silent_since: datetime) -> list[UUID]:
    """Lock and return open reviews that are due by `due_by`, and had no opening or reminder after `silent_since`."""
    rows = await fetch_rows(
        db,
        """SELECT r.id FROM reviews r
           WHERE r.status = 'Open' AND r.due_on <= %(due_by)s AND r.opened_on <= %(since)s AND NOT EXISTS (
               SELECT FROM review_events e
               WHERE e.review_id = r.id AND e.name = ANY(%(names)s) AND e.created_at > %(since)s)
           ORDER BY r.number FOR UPDATE SKIP LOCKED""",
        due_by=due_by,
        since=silent_since,
        names=[DUE, REMINDED],
    )
    return [id for (id,) in rows]


async def _record(db: Db, event: str, review_id: UUID, subject: bytes, now: datetime) -> None:
    # Fires fan_out_on_review_event (schema/webhooks.sql) and notify_of_review_events
    # (schema/notifications.sql).
    await execute(
        db,
        """INSERT INTO review_events (name, review_id, created_at, subject)
           VALUES (%(name)s, %(review)s, %(now)s, %(subject)s::json)""",
        name=event,
        review=review_id,
        now=now,
        subject=subject.decode(),
    )


async def events_of(db: Db, review_id: UUID) -> list[tuple[str, datetime]]:
    """Return the names and times of a review's events, oldest first."""
    rows = await fetch_rows(
        db, "SELECT name, created_at FROM review_events WHERE review_id = %(id)s ORDER BY number", id=review_id
    )
    return [(name, created_at) for name, created_at in rows]
