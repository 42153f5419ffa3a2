"""Every list: 50 rows a page, an exact total, at the cost of page 1 whatever the page and the filter.

`docs/lists.md` tells how; `migrations/0001` keeps what is read here.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Generic, TypeVar

import msgspec

from rolecall.core.db import Db, fetch_rows

PAGE_SIZE = 50
LAST_PAGE = 10**18 - 1
_FURTHEST = 2**62

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], rename="camel"):
    items: list[T]
    total_count: int
    page: int
    page_size: int
    total_pages: int


class Listing(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A list as data. A filter on a column that is not among the facets is counted through its index."""

    table: str
    row: str
    columns: str
    make: Callable[[Sequence[Any]], T]
    joins: str = ""
    facets: tuple[str, ...] = ()
    newest_first: bool = False


async def fetch_listed(db: Db, listing: Listing[T], page: int, **filters: object) -> Page[T]:
    """`filters` by column; None is no filter."""
    given = {column: value for column, value in filters.items() if value is not None}
    rows = await fetch_rows(
        db,
        _select(listing, tuple(given)),
        offset=min((page - 1) * PAGE_SIZE, _FURTHEST),
        facet=msgspec.json.encode(given).decode(),
        **given,
    )
    return _page(rows, listing.make, page)


@cache
def _select(listing: Listing[Any], filters: tuple[str, ...]) -> str:
    where = "".join(f" AND {column} = %({column})s" for column in filters)
    ways = _DOWN if listing.newest_first else _UP
    order = f"ORDER BY list_key {ways['order']}"
    place = (_KEPT if set(filters) <= set(listing.facets) else _COUNTED).format(
        table=listing.table, where=where, **ways
    )
    return f"""{place}
        SELECT place.total, item.* FROM place
        LEFT JOIN LATERAL (
            SELECT list_key FROM {listing.table}
            WHERE place.total > %(offset)s AND list_key {ways["seek"]} place.key{where}
            {order} LIMIT 1 OFFSET place.skip
        ) AS first ON true
        LEFT JOIN LATERAL (
            SELECT {listing.columns} FROM (
                SELECT * FROM {listing.table}
                WHERE list_key {ways["read"]} first.list_key{where} {order} LIMIT {PAGE_SIZE}
            ) AS {listing.row} {listing.joins} ORDER BY {listing.row}.list_key {ways["order"]}
        ) AS item ON true"""


# Where to start reading, and how many rows to skip from there: from the last remembered key that surely does not stand
# behind the page, whatever the changes since have moved.
_KEPT = """
    WITH changes AS MATERIALIZED (
        SELECT key, rows FROM list_changes WHERE list = '{table}' AND facets @> %(facet)s::jsonb
    ), changed AS (
        SELECT coalesce(sum(rows), 0)::bigint AS net, coalesce(sum(abs(rows)), 0)::bigint AS gross FROM changes
    ), contents AS (
        SELECT coalesce(total, 0) + net AS total, keys, starts, {nearest} AS n
        FROM changed LEFT JOIN list_contents ON list = '{table}' AND facet = %(facet)s::jsonb
    ), place AS (
        SELECT total, coalesce(keys[n], {end}) AS key, %(offset)s - {before} AS skip
        FROM contents
    )"""
_COUNTED = """
    WITH place AS (
        SELECT count(*) AS total, {end} AS key, %(offset)s::bigint AS skip
        FROM {table} WHERE list_key IS NOT NULL{where}
    )"""
_SHIFT = "(SELECT coalesce(sum(rows), 0)::bigint FROM changes WHERE key < keys[n])"
_UP = {
    "order": "ASC",
    "seek": ">=",
    "read": ">=",
    "end": "''",
    "nearest": "width_bucket(%(offset)s - gross, starts)",
    "before": f"coalesce(starts[n] + {_SHIFT}, 0)",
}
_DOWN = {
    "order": "DESC",
    "seek": "<",
    "read": "<=",
    "end": "chr(1114111)",
    "nearest": "width_bucket(total + net - %(offset)s + gross - 1, starts) + 1",
    "before": f"coalesce(total - starts[n] - {_SHIFT}, 0)",
}


async def fetch_page(
    db: Db, make: Callable[[Sequence[Any]], T], page: int, *, total: str, items: str, **params: object
) -> Page[T]:
    """For lists that stay small. `total` selects one number; `items` ordered rows, their first column never null."""
    rows = await fetch_rows(
        db,
        f"SELECT t.total, p.* FROM ({total}) AS t(total)"
        f" LEFT JOIN LATERAL ({items} LIMIT {PAGE_SIZE} OFFSET %(offset)s) AS p ON true",
        offset=min((page - 1) * PAGE_SIZE, _FURTHEST),
        **params,
    )
    return _page(rows, make, page)


def _page(rows: Sequence[Sequence[Any]], make: Callable[[Sequence[Any]], T], page: int) -> Page[T]:
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
