"""Store which reasons each item of a review has: at once for a small review, by the worker in batches for a large one.

The rows, one per item and reason, have as many indexes as the items; writing them would double the time to open a large
review. Until the worker is done, lists by reason are read from the items.
"""

from uuid import UUID

from rolecall.core.db import Db, execute, fetch_rows, fetch_value

# The number of items in one batch; a transaction locks one batch.
_BATCH = 10_000
_INSERT = """INSERT INTO review_item_reasons (review_id, reason, status, reviewer_id, application_id, list_key)
    SELECT c.review_id, r.reason, c.status, c.reviewer_id, c.application_id, c.list_key
    FROM review_items c CROSS JOIN LATERAL unnest(c.facts) AS r (reason)
    WHERE c.review_id = %(id)s AND c.list_key > %(after)s AND c.list_key <= %(last)s
    ORDER BY r.reason COLLATE "C", c.list_key"""


async def list_or_queue(db: Db, review_id: UUID, total: int) -> None:
    """Write the reasons of a review that is being opened, or leave them to the worker if there are many items."""
    if total <= _BATCH:
        # The last character sorts after all list keys, so this writes the reasons of all items.
        await execute(db, _INSERT, id=review_id, after="", last=chr(1114111))
    else:
        await execute(db, "INSERT INTO reasons_to_list (review_id) VALUES (%(id)s)", id=review_id)


async def are_complete(db: Db, review_id: UUID) -> bool:
    return not await fetch_value(db, "SELECT true FROM reasons_to_list WHERE review_id = %(id)s", id=review_id)


async def list_next(db: Db) -> bool:
    """Write the reasons of the next batch of items; return False if none are left to write."""
    rows = await fetch_rows(
        db, "SELECT review_id, after FROM reasons_to_list ORDER BY review_id LIMIT 1 FOR UPDATE SKIP LOCKED"
    )
    for review_id, after in rows:
        # Lock the review first, then its items in order, as decisions do, to avoid deadlocks.
        await execute(db, "SELECT FROM reviews WHERE id = %(id)s FOR SHARE", id=review_id)
        [(count, last)] = await fetch_rows(
            db,
            f"""SELECT count(*), max(list_key) FROM (
                    SELECT list_key FROM review_items WHERE review_id = %(id)s AND list_key > %(after)s
                    ORDER BY list_key LIMIT {_BATCH} FOR SHARE) AS batch""",
            id=review_id,
            after=after,
        )
        if count:
            await execute(db, _INSERT, id=review_id, after=after, last=last)
            sql = "UPDATE reasons_to_list SET after = %(last)s WHERE review_id = %(id)s"
            await execute(db, sql, id=review_id, last=last)
        else:
            await execute(db, "DELETE FROM reasons_to_list WHERE review_id = %(id)s", id=review_id)
    return bool(rows)
