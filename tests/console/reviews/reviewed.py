"""Find items of a review, and decide about them in the console."""

from uuid import UUID

import httpx2

from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, fetch_rows
from tests.console.test_matrix import sign_in
from tests.reviews.company import Reviewed

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


async def revoke_as_carla(visitor: httpx2.AsyncClient, db: Db, company: Reviewed, review: str) -> list[str]:
    """Sign in as Carla, revoke all of her items and submit them; return their ids."""
    await sign_in(visitor, db, company.carla)
    ids = await items_for(db, review, "Carla")
    await visitor.post(f"/reviews/{review}/decide", data={"id": ids, "decision": "Revoke", "comment": "Not needed"})
    await visitor.post(f"/reviews/{review}/submit", data={"signed": "yes"})
    return ids
