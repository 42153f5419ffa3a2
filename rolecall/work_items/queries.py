from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from rolecall.core.db import Db, fetch_rows
from rolecall.work_items.shapes import ActivityEntry, Comment

T = TypeVar("T")


class History(NamedTuple):
    activity: list[ActivityEntry]
    comments: list[Comment]


async def history_of(db: Db, item_ids: Sequence[UUID]) -> dict[UUID, History]:
    """What happened to each item and what was said of it, oldest first."""
    rows = await fetch_rows(
        db,
        """SELECT item_id, false AS is_comment, number, created_date, author, action, content
           FROM activity WHERE item_id = ANY(%(ids)s)
           UNION ALL SELECT item_id, true, number, created_date, author, NULL, content
           FROM comments WHERE item_id = ANY(%(ids)s) ORDER BY number""",
        ids=list(item_ids),
    )
    by_item = defaultdict[UUID, History](lambda: History([], []))
    for item_id, is_comment, _, created_date, author, action, content in rows:
        if is_comment:
            by_item[item_id].comments.append(Comment(created_date, author, content))
        else:
            by_item[item_id].activity.append(ActivityEntry(created_date, author, action, content))
    return by_item


def grouped(rows: Iterable[Sequence[Any]], make: Callable[..., T]) -> dict[Any, list[T]]:
    """Rows by the item in their first column, each made of the rest; an item without rows has an empty list."""
    by_item = defaultdict[Any, list[T]](list)
    for item_id, *values in rows:
        by_item[item_id].append(make(*values))
    return by_item
