"""Read the facts of notifications about access reviews."""

from collections.abc import Sequence
from uuid import UUID

from rolecall.core.db import Db, fetch_rows
from rolecall.notifications.model import FactContext, NotificationFacts

# What the owner of a review is notified of.
_OWNED = {
    "ReviewItemReopened": "removed access came back",
    "ReviewOverdue": "it is overdue and waits for decisions",
    "ReviewRemovalCanceled": "a request to remove access was canceled",
    "ReviewAcceptanceEnded": "the acceptance of flagged access has ended",
}


async def of_reviews(db: Db, ids: Sequence[UUID], context: FactContext) -> dict[UUID, NotificationFacts]:
    """Return what a reviewer has to decide by when, or which removed access came back."""
    rows = await fetch_rows(
        db,
        """SELECT n.id, n.part, r.id, r.name, r.due_on, r.status = 'Open', r.created_by,
                  (SELECT count(*) FROM review_items c
                   WHERE c.review_id = r.id AND c.submission_id IS NULL AND c.status <> 'Withdrawn'
                     AND c.reviewer_id IN (
                         SELECT w.reviewer_id FROM (SELECT DISTINCT x.reviewer_id FROM review_items x
                                                    WHERE x.review_id = r.id) AS w
                         WHERE n.identity_id IN (SELECT people_who_respond(w.reviewer_id, 'Approve'))))
           FROM notifications n JOIN reviews r ON r.id = n.item_id
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Review'""",
        ids=list(ids),
    )
    found = {}
    for id, part, review_id, name, due_on, is_open, by, left in rows:
        owned = _OWNED.get(part)
        day = due_on.astimezone(context.zone)
        found[id] = NotificationFacts(
            what=f"{name}: {owned or f'{left} items to review'}",
            asked="" if owned else "Review",
            by=by,
            why="You own the review" if owned else "You are a reviewer, or stand in for one",
            due="" if owned else f"{day:%A}, {day.day} {day:%B %Y}",
            link=f"/reviews/{review_id}",
            is_current=owned is not None or (is_open and left > 0),
        )
    return found
