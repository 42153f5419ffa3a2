from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from rolecall.core.db import json_rows
from rolecall.work_items.shapes import ActivityEntry, Comment

T = TypeVar("T")


class History(msgspec.Struct, rename="camel"):
    """The activity and comments of an item, oldest first."""

    activity: list[ActivityEntry]
    comments: list[Comment]


def history_of(item_id: str) -> str:
    """Return SQL for the fields of a `History`, as arguments of `json_build_object`."""
    activity = 'created_date AS "createdDate", author, action, content FROM activity'
    comments = 'created_date AS "createdDate", author, content FROM comments'
    # Entries of one transaction have the same time, so order them by number.
    own = f"WHERE item_id = {item_id} ORDER BY number"
    return f"'activity', {json_rows(f'{activity} {own}')}, 'comments', {json_rows(f'{comments} {own}')}"


def grouped(rows: Iterable[Sequence[Any]], make: Callable[..., T]) -> dict[Any, list[T]]:
    """Group rows by their first column and convert the others with `make`; a missing key gives an empty list."""
    by_item = defaultdict[Any, list[T]](list)
    for item_id, *values in rows:
        by_item[item_id].append(make(*values))
    return by_item
