"""Record what the service itself changes in a review: one audited row, and the activity of each item."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute
from rolecall.work_items.actions import record_activity_of

# The id of an item, and of its review.
ChangedItem = tuple[UUID, UUID]


class ItemChange(StrEnum):
    CARRIED_OVER = "Carried Over"
    WITHDRAWN = "Withdrawn"
    RESTORED = "Restored"
    REMEDIATED = "Remediated"
    REOPENED = "Reopened"
    FLAGGED = "Flagged"
    NO_RESPONSE = "No Response"
    ACCEPTANCE_ENDED = "Acceptance Ended"


async def record_change(
    db: Db,
    change: ItemChange,
    items: Sequence[ChangedItem],
    reason: str,
    now: datetime,
    *,
    import_number: int | None = None,
) -> None:
    """Record one change of several items, with one row per review."""
    if not items:
        return
    ids = [id for id, _ in items]
    await execute(
        db,
        """INSERT INTO review_changes
               (review_id, change, reason, import_number, items, item_count, digest, changed_on)
           SELECT review_id, %(change)s, %(reason)s, %(import)s, array_agg(number ORDER BY number), count(*),
                  encode(sha256(convert_to(string_agg(number::text, E'\\n' ORDER BY number), 'UTF8')), 'hex'), %(now)s
           FROM review_items WHERE id = ANY(%(ids)s) GROUP BY review_id""",
        change=change,
        reason=reason,
        **{"import": import_number},
        ids=ids,
        now=now,
    )
    # A carried-over item says so itself, and there may be millions.
    if change is not ItemChange.CARRIED_OVER:
        await record_activity_of(db, ids, author=SYSTEM.name, action=change.value, content=reason, now=now)


def reviews_of(items: Sequence[ChangedItem]) -> list[UUID]:
    return list(dict.fromkeys(review_id for _, review_id in items))
