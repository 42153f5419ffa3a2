from uuid import UUID

from rolecall.core.db import Db, fetch_all
from rolecall.work_items.shapes import ActivityEntry, Comment


async def activity_of(db: Db, item_id: UUID) -> list[ActivityEntry]:
    return await fetch_all(
        db,
        ActivityEntry,
        "SELECT created_date, author, action, content FROM activity WHERE item_id = %(id)s"
        " ORDER BY created_date, number",
        id=item_id,
    )


async def comments_of(db: Db, item_id: UUID) -> list[Comment]:
    return await fetch_all(
        db,
        Comment,
        "SELECT created_date, author, content FROM comments WHERE item_id = %(id)s ORDER BY created_date, number",
        id=item_id,
    )
