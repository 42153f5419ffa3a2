"""Read the facts of notifications about access reviews."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core import clock
from rolecall.core.db import Db, fetch_all, fetch_rows
from rolecall.notifications.model import FactContext, NotificationFacts
from rolecall.reviews.events import RECORDED
from rolecall.reviews.model import OnSilence

# The notices to the owner of a review, in words.
_OWNED = {
    "ReviewItemReopened": "access that was no longer held is held again",
    "ReviewOverdue": "overdue, and decisions are missing",
    "ReviewRemovalCanceled": "a request to remove access was canceled",
    "ReviewAcceptanceEnded": "the acceptance of flagged access has ended",
    "ReviewStepByHolder": "extended, closed or canceled by a person whose own access it reviews",
    "ReviewCanceled": "canceled, and decisions to revoke access were not carried out",
}
_REMINDERS = ("ReviewDue", "ReviewReminded")
# What happens to items without a decision after the due date.
_SILENCE = {
    OnSilence.ESCALATE: "After the due date, the owner of the review is notified; the items stay undecided",
    OnSilence.FLAG: "After the due date, access without a decision is flagged for removal",
    OnSilence.APPROVE: "After the due date, access without a decision is kept",
}


class _ReviewRow(msgspec.Struct, frozen=True):
    id: UUID
    part: str
    review_id: UUID
    name: str
    due_on: datetime
    is_open: bool
    created_by: str
    on_silence: str
    is_reviewer: bool
    is_owner: bool
    left: int
    represented: str | None


async def of_reviews(db: Db, ids: Sequence[UUID], context: FactContext) -> dict[UUID, NotificationFacts]:
    """Describe the items that wait for the recipient's decisions, or what happened in the review."""
    rows = await fetch_all(
        db,
        _ReviewRow,
        """SELECT n.id, n.part, r.id AS review_id, r.name, r.due_on, r.status = 'Open' AS is_open, r.created_by,
                  r.on_silence, coalesce(held.is_reviewer, false) AS is_reviewer,
                  coalesce(r.owner_id = n.identity_id, false) AS is_owner, held.left, held.represented
           FROM notifications n JOIN reviews r ON r.id = n.item_id
           CROSS JOIN LATERAL (
               SELECT coalesce(sum(c.left), 0)::int AS left, bool_or(c.reviewer_id = n.identity_id) AS is_reviewer,
                      string_agg(p.first_name || ' ' || p.last_name, ', ' ORDER BY p.list_key)
                          FILTER (WHERE p.id <> n.identity_id) AS represented
               FROM (SELECT reviewer_id, count(*) AS left FROM review_items
                     WHERE review_id = r.id AND submission_id IS NULL AND status <> 'Withdrawn'
                     GROUP BY reviewer_id) AS c LEFT JOIN identities p ON p.id = c.reviewer_id
               WHERE n.identity_id IN (SELECT people_who_respond(c.reviewer_id, 'Approve'))) AS held
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Review'""",
        ids=list(ids),
    )
    return {row.id: _review(row, context) for row in rows}


def _review(row: _ReviewRow, context: FactContext) -> NotificationFacts:
    owned = _OWNED.get(row.part)
    day = clock.local(row.due_on, context.zone)
    if row.part == RECORDED:
        return NotificationFacts(
            what=row.name,
            asked="Review",
            result="a token submitted decisions in your name",
            why="You review access. If you did not decide this, notify the owner of the review",
            link=f"/reviews/{row.review_id}/work?tab=all",
        )
    if owned:
        return NotificationFacts(
            what=row.name,
            asked="Review",
            result=owned,
            why="You own the review"
            if row.is_owner
            else "You are an administrator; the owner of the review is inactive or took this action",
            link=f"/reviews/{row.review_id}",
            is_current=row.part != "ReviewOverdue" or row.is_open,
        )
    return NotificationFacts(
        what=row.name,
        asked="Reminder: review" if row.part in _REMINDERS else "Review",
        result=f"{row.left or 'no'} {'item waits' if row.left == 1 else 'items wait'} for your decision",
        by=row.created_by,
        why=_why(row),
        due=f"{day:%A}, {day.day} {day:%B %Y}",
        silence=_SILENCE[OnSilence(row.on_silence)],
        link=f"/reviews/{row.review_id}/work",
        is_current=row.is_open and row.left > 0,
    )


def _why(row: _ReviewRow) -> str:
    # Once no items are left, the data no longer shows whether the person reviewed or stood in.
    if row.is_reviewer or not row.left:
        return "You review access"
    return f"You stand in for {row.represented}" if row.represented else "You are an administrator"


async def of_templates(db: Db, ids: Sequence[UUID], _: FactContext) -> dict[UUID, NotificationFacts]:
    """Describe the draft that a template created, or the reason why the template could not open its review.

    `part` is the id of the draft, or the word Fault.
    """
    rows = await fetch_rows(
        db,
        """SELECT n.id, t.name, t.fault, r.id, t.body ->> 'ownerId' = n.identity_id::text,
                  CASE WHEN n.part = 'Fault' THEN t.fault <> '' ELSE r.status = 'Draft' END
           FROM notifications n JOIN review_templates t ON t.id = n.item_id
           LEFT JOIN reviews r ON r.id::text = n.part
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Review Template'""",
        ids=list(ids),
    )
    return {
        id: NotificationFacts(
            what=f"Template {name}",
            asked="Review",
            result="its draft waits to be opened" if draft_id else f"it could not open its review: {fault}",
            why="You own the reviews of the template" if is_owner else "You are an administrator",
            link=f"/reviews/{draft_id}" if draft_id else "/review-templates",
            is_current=bool(is_current),
        )
        for id, name, fault, draft_id, is_owner, is_current in rows
    }
