"""Record changes that the service itself makes to items, with one audited row for each review and change."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute
from rolecall.work_items.actions import record_activity_of

# The ids of an item and of its review.
ChangedItem = tuple[UUID, UUID]


class ItemChange(StrEnum):
    CARRIED_OVER = "Carried Over"
    SAMPLED = "Sampled"
    REPLACED = "Reviewer Replaced"
    WITHDRAWN = "Withdrawn"
    RESTORED = "Restored"
    REMEDIATED = "Remediated"
    REOPENED = "Reopened"
    FLAGGED = "Flagged"
    NO_RESPONSE = "No Response"
    ACCEPTANCE_ENDED = "Acceptance Ended"


# SQL for the numbers of the items, their count, and a digest of the numbers.
_DIGESTED = r"""array_agg(number ORDER BY number), count(*),
    encode(sha256(convert_to(string_agg(number::text, E'\n' ORDER BY number), 'UTF8')), 'hex')"""


async def record_change(
    db: Db,
    change: ItemChange,
    items: Sequence[ChangedItem],
    reason: str,
    now: datetime,
    *,
    import_number: int | None = None,
) -> None:
    """Record the same change of several items: one row for each review, and an activity entry for each item."""
    if not items:
        return
    ids = [id for id, _ in items]
    await execute(
        db,
        f"""INSERT INTO review_changes
               (review_id, change, reason, import_number, items, item_count, digest, changed_on)
           SELECT review_id, %(change)s, %(reason)s, %(import)s, {_DIGESTED}, %(now)s
           FROM review_items WHERE id = ANY(%(ids)s) GROUP BY review_id""",
        change=change,
        reason=reason,
        # `import` is a keyword of Python, so it cannot be written as an argument name.
        **{"import": import_number},
        ids=ids,
        now=now,
    )
    await record_activity_of(db, ids, author=SYSTEM.name, action=change.value, content=reason, now=now)


async def record_opening(db: Db, review_id: UUID, now: datetime) -> None:
    """Record which items were carried over, sampled or given to another reviewer when the review was opened.

    No activity entries are written for the items, because the fields of the items show these changes.
    """
    await execute(
        db,
        f"""INSERT INTO review_changes (review_id, change, reason, items, item_count, digest, changed_on)
           SELECT %(review)s, k.change, k.reason, {_DIGESTED}, %(now)s
           FROM review_items c CROSS JOIN LATERAL (VALUES
               (c.is_carried, %(carried)s, 'Unchanged, explained and kept by hand before'),
               (c.is_sample, %(sampled)s, 'To be decided by hand, chosen at random'),
               (c.moved <> '', %(replaced)s, 'The reviewer is not the person that the stage names')
           ) AS k (is_one, change, reason)
           WHERE c.review_id = %(review)s AND (c.is_carried OR c.is_sample OR c.moved <> '') AND k.is_one
           GROUP BY k.change, k.reason ORDER BY k.change""",
        review=review_id,
        carried=ItemChange.CARRIED_OVER,
        sampled=ItemChange.SAMPLED,
        replaced=ItemChange.REPLACED,
        now=now,
    )


def reviews_of(items: Sequence[ChangedItem]) -> list[UUID]:
    return list(dict.fromkeys(review_id for _, review_id in items))
