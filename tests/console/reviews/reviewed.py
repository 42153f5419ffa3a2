"""Find items of a review."""

from uuid import UUID

from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, fetch_rows

CLERK = Caller(UUID(int=5), "Clerk", frozenset(Scope))


async def items_for(db: Db, review: str, name: str) -> list[str]:
    rows = await fetch_rows(
        db,
        """SELECT i.id::text FROM review_items i JOIN identities p ON p.id = i.reviewer_id
           WHERE i.review_id = %(id)s AND p.first_name = %(name)s ORDER BY i.list_key""",
        id=review,
        name=name,
    )
    return [id for (id,) in rows]
