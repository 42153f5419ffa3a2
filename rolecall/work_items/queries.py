from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from rolecall.core.db import Db, fetch_all, fetch_rows
from rolecall.work_items.shapes import ActivityEntry, Comment

T = TypeVar("T")


async def activity_of(db: Db, item_id: UUID) -> list[ActivityEntry]:
    return await fetch_all(
        db,
        ActivityEntry,
        "SELECT created_date, author, action, content FROM activity WHERE item_id = %(id)s ORDER BY number",
        id=item_id,
    )


async def comments_of(db: Db, item_id: UUID) -> list[Comment]:
    return await fetch_all(
        db,
        Comment,
        "SELECT created_date, author, content FROM comments WHERE item_id = %(id)s ORDER BY number",
        id=item_id,
    )


async def activity_by_item(db: Db, item_ids: Sequence[UUID]) -> dict[UUID, list[ActivityEntry]]:
    rows = await fetch_rows(
        db,
        "SELECT item_id, created_date, author, action, content FROM activity WHERE item_id = ANY(%(ids)s)"
        " ORDER BY number",
        ids=list(item_ids),
    )
    return grouped(rows, ActivityEntry)


async def comments_by_item(db: Db, item_ids: Sequence[UUID]) -> dict[UUID, list[Comment]]:
    rows = await fetch_rows(
        db,
        "SELECT item_id, created_date, author, content FROM comments WHERE item_id = ANY(%(ids)s) ORDER BY number",
        ids=list(item_ids),
    )
    return grouped(rows, Comment)


def grouped(rows: Iterable[Sequence[Any]], make: Callable[..., T]) -> dict[Any, list[T]]:
    """Rows by the item in their first column, each made of the rest; an item without rows has an empty list."""
    by_item = defaultdict[Any, list[T]](list)
    for item_id, *values in rows:
        by_item[item_id].append(make(*values))
    return by_item
