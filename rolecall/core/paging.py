"""Every list: 50 rows a page, an exact total, both from one snapshot in one round trip."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from rolecall.core.db import Db, fetch_rows

PAGE_SIZE = 50
LAST_PAGE = 2**31 // PAGE_SIZE

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], rename="camel"):
    items: list[T]
    total_count: int
    page: int
    page_size: int
    total_pages: int


async def fetch_page(
    db: Db, make: Callable[[Sequence[Any]], T], page: int, *, total: str, items: str, **params: object
) -> Page[T]:
    """`total` selects one number; `items` selects ordered rows, their first column never null."""
    rows = await fetch_rows(
        db,
        f"SELECT t.total, p.* FROM ({total}) AS t(total)"
        f" LEFT JOIN LATERAL ({items} LIMIT {PAGE_SIZE} OFFSET %(offset)s) AS p ON true",
        offset=(page - 1) * PAGE_SIZE,
        **params,
    )
    count = rows[0][0]
    return Page(
        items=[make(row[1:]) for row in rows if row[1] is not None],
        total_count=count,
        page=page,
        page_size=PAGE_SIZE,
        total_pages=-(-count // PAGE_SIZE),
    )


def kept_total(list: str, *facets: str) -> str:
    """SQL for a total kept by `migrations/0001`; `facets` are its conditions, e.g. `facet[1] = %(status)s`."""
    conditions = " AND ".join((f"list = '{list}'", *facets))
    return f"SELECT coalesce(sum(rows), 0)::bigint FROM list_totals WHERE {conditions}"
