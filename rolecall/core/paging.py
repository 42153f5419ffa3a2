"""Page through lists: 50 rows and an exact total.

A large table is a `Listing`, whose totals the triggers of `schema/core.sql` maintain; a list that never changes is a
`FrozenListing`, whose page starts are stored once; `fetch_page` serves small lists. `docs/lists.md` explains all three.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.core import clock
from rolecall.core.db import Db, execute, fetch_rows, fetch_value

PAGE_SIZE = 50
LAST_PAGE = 10**18 - 1
# A special page number that selects the whole list, for exports.
EVERYTHING = 0
# SQL for the greatest possible key of a list.
LAST_KEY = "chr(1114111)"
# The largest offset, so that offsets do not overflow a bigint.
_FURTHEST = 2**62

T = TypeVar("T")


class WithoutData(msgspec.Struct, frozen=True, rename="camel"):
    """An application whose first import finished after the moment for which a list was read."""

    application_id: UUID
    application: str
    no_data_before: datetime


class Page(msgspec.Struct, Generic[T], rename="camel"):
    items: list[T]
    total_count: int
    page: int
    page_size: int
    total_pages: int

    def map(self, change: Callable[[T], T]) -> "Page[T]":
        """Transform each item; the items of a `Whole` are transformed when they are read."""
        return msgspec.structs.replace(self, items=[change(item) for item in self.items])

    async def completed(self, db: Db, complete: "Complete[T]") -> "Page[T]":
        """Complete the items with further queries; the items of a `Whole` are completed when they are read."""
        return msgspec.structs.replace(self, items=await complete(db, self.items))


# A function that completes items with further queries and returns them in the same order; it must not write.
Complete = Callable[[Db, Sequence[Any]], Awaitable[list[T]]]


class Rows(msgspec.Struct, Generic[T], frozen=True):
    """A query to run later, and the functions that build an item from a row and complete a batch of items."""

    statement: str
    params: dict[str, Any]
    make: Callable[[Sequence[Any]], T]
    complete: Complete[T] | None = None


class PastPage(Page[T], Generic[T], rename="camel"):
    """A page of a list as of a past moment; `noDataBefore` lists the applications that had no data yet."""

    no_data_before: list[WithoutData] = []


class Whole(PastPage[T], Generic[T]):
    """A list to read later in batches, one part after another. Fetching the page `EVERYTHING` returns a `Whole`."""

    parts: list[Rows[T]] = []

    def map(self, change: Callable[[T], T]) -> Page[T]:
        parts = [msgspec.structs.replace(part, make=_then(part.make, change)) for part in self.parts]
        return msgspec.structs.replace(self, parts=parts)

    async def completed(self, db: Db, complete: Complete[T]) -> Page[T]:
        parts = [msgspec.structs.replace(part, complete=complete) for part in self.parts]
        return msgspec.structs.replace(self, parts=parts)


def _then(make: Callable[[Sequence[Any]], T], change: Callable[[T], T]) -> Callable[[Sequence[Any]], T]:
    return lambda row: change(make(row))


def whole(make: Callable[[Sequence[Any]], T], statement: str, **params: object) -> Whole[T]:
    return all_of([Rows(statement, params, make)])


def all_of(parts: list[Rows[T]]) -> Whole[T]:
    return Whole([], 0, EVERYTHING, PAGE_SIZE, 0, parts=parts)


def read_already(items: Sequence[T]) -> Whole[T]:
    """Return a short list that is already in memory as a `Whole`."""
    return whole(lambda row: items[row[0]], "SELECT generate_series(0, %(count)s::int - 1)", count=len(items))


class Listing(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """How to query a list.

    Filters in `facets` have stored totals. With any other filter, the matching rows are counted through an index.
    """

    table: str
    row: str
    columns: str
    make: Callable[[Sequence[Any]], T]
    joins: str = ""
    facets: tuple[str, ...] = ()
    newest_first: bool = False


async def fetch_listed(db: Db, listing: Listing[T], page: int, **filters: object) -> Page[T]:
    """Fetch a page; `filters` maps columns to values, and None means no filter."""
    given = {column: value for column, value in filters.items() if value is not None}
    if page == EVERYTHING:
        return whole(listing.make, _select_all(listing, frozenset(given)), **given)
    rows = await fetch_rows(
        db,
        _select(listing, frozenset(given)),
        offset=min((page - 1) * PAGE_SIZE, _FURTHEST),
        facet=msgspec.json.encode(given).decode(),
        **given,
    )
    return _page(rows, listing.make, page)


@cache
def _select(listing: Listing[Any], filters: frozenset[str]) -> str:
    """Build one statement that finds the first key of the page and returns the rows of the page."""
    table, row, way = listing.table, listing.row, _DOWN if listing.newest_first else _UP
    kept = [column for column in listing.facets if column in filters]
    counted = sorted(filters - set(kept))
    # The columns of one index, in order.
    lead, rest = (counted[:1], counted[1:] + kept) if counted else (kept, [])
    index = [*lead, "list_key"]
    order = ", ".join(f"{column} {way.order}" for column in index)
    given = [f", %({column})s AS {column}" for column in filters]
    place = _COUNTED if counted else _KEPT
    conditions = "".join(f" AND {column} = %({column})s" for column in filters)

    def rows_from(start: str, comparison: str) -> str:
        # Row comparison over the whole index key forces that index, regardless of the planner's statistics.
        bounds = [f"({', '.join(index)}) {comparison} ({', '.join([*(f'place.{c}' for c in lead), start])})"]
        if lead:
            bounds.append(f"({', '.join(lead)}) {way.until} ({', '.join(f'place.{c}' for c in lead)})")
        return " AND ".join([*bounds, *(f"{column} = place.{column}" for column in rest)]) + f" ORDER BY {order}"

    words = {
        "table": table,
        "conditions": conditions,
        "given": "".join(given),
        **msgspec.structs.asdict(way),
    }
    return f"""{place.format(**words)}
        SELECT place.total, item.* FROM place
        LEFT JOIN LATERAL (
            SELECT list_key FROM {table}
            WHERE place.total > %(offset)s AND {rows_from("place.key", way.seek)} LIMIT 1 OFFSET place.skip
        ) AS first ON true
        LEFT JOIN LATERAL (
            SELECT {listing.columns} FROM (
                SELECT * FROM {table} WHERE {rows_from("first.list_key", way.read)} LIMIT {PAGE_SIZE}
            ) AS {row} {listing.joins} ORDER BY {row}.list_key {way.order}
        ) AS item ON true"""


@cache
def _select_all(listing: Listing[Any], filters: frozenset[str]) -> str:
    conditions = "".join(f" AND {column} = %({column})s" for column in sorted(filters))
    order = "DESC" if listing.newest_first else "ASC"
    return f"""SELECT {listing.columns} FROM (
            SELECT * FROM {listing.table} WHERE list_key IS NOT NULL{conditions}
        ) AS {listing.row} {listing.joins} ORDER BY {listing.row}.list_key {order}"""


class _Direction(msgspec.Struct, frozen=True):
    """SQL fragments to page a list in one direction.

    `seek`, `read` and `until` are comparison operators. `nearest` is the number of the boundary key
    (`list_contents.keys`) to start from, and `before` is the number of rows before that key in this direction.
    """

    order: str
    seek: str
    read: str
    until: str
    end: str
    nearest: str
    before: str


# The first pages are counted from the start of the list, which is cheaper than reading boundary keys.
_FAR = "%(offset)s >= list_stride() / 2"
_SHIFT = "(SELECT coalesce(sum(rows), 0)::bigint FROM changes WHERE key < keys[n])"
_UP = _Direction(
    order="ASC",
    seek=">=",
    read=">=",
    until="<=",
    end="''",
    nearest=f"CASE WHEN {_FAR} THEN width_bucket(%(offset)s - gross, starts) END",
    before=f"coalesce(starts[n] + {_SHIFT}, 0)",
)
_DOWN = _Direction(
    order="DESC",
    seek="<",
    read="<=",
    until=">=",
    end=LAST_KEY,
    nearest=f"CASE WHEN {_FAR} THEN width_bucket(total + net - %(offset)s + gross - 1, starts) + 1 END",
    before=f"coalesce(total - starts[n] - {_SHIFT}, 0)",
)

# Select the boundary key to start from, and the number of rows to skip. Changes that are not folded yet shift the
# boundaries, so take the last boundary that cannot be after the first row of the page. MATERIALIZED keeps the planner
# from inlining the values, so that one generic plan is good for all of them.
_KEPT = """
    WITH changes AS MATERIALIZED (
        SELECT key, rows FROM list_changes WHERE list = '{table}' AND facets @> %(facet)s::jsonb
    ), changed AS (
        SELECT coalesce(sum(rows), 0)::bigint AS net, coalesce(sum(abs(rows)), 0)::bigint AS gross FROM changes
    ), contents AS (
        SELECT coalesce(total, 0) + net AS total, keys, starts, {nearest} AS n
        FROM changed LEFT JOIN list_contents ON list = '{table}' AND facet = %(facet)s::jsonb
    ), place AS MATERIALIZED (
        SELECT total, coalesce(keys[n], {end}) AS key, %(offset)s - {before} AS skip{given}
        FROM contents
    )"""
_COUNTED = """
    WITH place AS MATERIALIZED (
        SELECT count(*) AS total, {end} AS key, %(offset)s::bigint AS skip{given}
        FROM {table} WHERE list_key IS NOT NULL{conditions}
    )"""


class FrozenListing(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A list whose page starts are stored once for each `version`; a list that never changes needs no `version`.

    `version` is SQL for a string that differs after each change. `key` maps the columns of the sort order to types.
    """

    columns: str
    rows: str
    key: dict[str, str]
    make: Callable[[Sequence[Any]], T]
    version: str = "''"

    @property
    def order(self) -> str:
        return ", ".join(self.key)


async def fetch_frozen(db: Db, listing: FrozenListing[T], name: str, page: int, **params: object) -> Page[T]:
    """Fetch a page of a frozen listing; `name` and the `version` of the listing identify the stored pages."""
    if page == EVERYTHING:
        return all_of([frozen_rows(listing, **params)])
    total, items = await fetch_stretch(db, listing, name, (page - 1) * PAGE_SIZE, PAGE_SIZE, **params)
    return Page(items, total, page, PAGE_SIZE, -(-total // PAGE_SIZE))


def frozen_rows(listing: FrozenListing[T], **params: object) -> Rows[T]:
    statement = f"SELECT {listing.columns} {listing.rows} ORDER BY {listing.order}"
    return Rows(statement, params, listing.make)


async def fetch_stretch(
    db: Db, listing: FrozenListing[T], name: str, skip: int, take: int, **params: object
) -> tuple[int, list[T]]:
    """Return the total, and at most `take` rows after the first `skip` rows."""
    start = ", ".join(f"place.key[{n}]::{type}" for n, type in enumerate(listing.key.values(), 1))
    page, within = divmod(skip, PAGE_SIZE)
    sql = f"""
        SELECT place.total, item.* FROM (
            SELECT total, key FROM stored_pages
            WHERE list = {_full_name(listing)} AND page IN (0, %(page)s) ORDER BY page DESC LIMIT 1
        ) AS place LEFT JOIN LATERAL (
            SELECT {listing.columns} {listing.rows} AND ({listing.order}) >= ({start})
            ORDER BY {listing.order} LIMIT {take:d} OFFSET {within:d}
        ) AS item ON true"""
    # The column `page` is a four-byte integer: a larger number would cause an error.
    given = {**params, "list": name, "page": min(page + 1, 2**31 - 1)}
    rows = await fetch_rows(db, sql, **given)
    if not rows:
        await _find_pages(db, listing, name, **params)
        rows = await fetch_rows(db, sql, **given)
    return rows[0][0], [listing.make(row[1:]) for row in rows if row[1] is not None]


def _full_name(listing: FrozenListing[Any]) -> str:
    return f"%(list)s::text || {listing.version}"


async def _find_pages(db: Db, listing: FrozenListing[Any], list: str, **params: object) -> None:
    key, name = ", ".join(f"{column}::text" for column in listing.key), _full_name(listing)
    await execute(
        db,
        f"""WITH numbered AS MATERIALIZED (
                SELECT ARRAY[{key}] AS key, row_number() OVER (ORDER BY {listing.order}) - 1 AS place {listing.rows}
            ), counted AS (SELECT count(*) AS total FROM numbered)
            INSERT INTO stored_pages (list, page, total, key, found_on)
            SELECT {name}, 0, total, NULL::text[], %(now)s::timestamptz FROM counted
            UNION ALL
            SELECT {name}, place / {PAGE_SIZE} + 1, total, key, %(now)s
            FROM numbered, counted WHERE place %% {PAGE_SIZE} = 0
            ON CONFLICT DO NOTHING""",
        **params,
        list=list,
        now=clock.now(),
    )


async def evict_frozen_pages(db: Db, now: datetime) -> None:
    await execute(
        db,
        """DELETE FROM stored_pages WHERE list IN (
               SELECT list FROM stored_pages WHERE page = 0 AND found_on < %(oldest)s)""",
        oldest=now - _KEPT_FOR,
    )


_KEPT_FOR = timedelta(days=7)


async def tidy_lists(db: Db) -> None:
    """Fold the pending changes of every list, and vacuum `list_changes` if it has grown."""
    await execute(db, "SELECT fold_lists()")
    if await fetch_value(db, "SELECT pg_relation_size('list_changes') > 512 * 1024"):
        await execute(db, "VACUUM (SKIP_LOCKED) list_changes")


async def totals_by(db: Db, table: str, column: str, values: Sequence[str], **others: str) -> dict[str, int]:
    """Return the exact total for each value of a facet, with the given values of other facets."""
    totals = await totals_of(db, table, [{column: value, **others} for value in values])
    return dict(zip(values, totals, strict=True))


async def totals_of(db: Db, table: str, facets: Sequence[dict[str, str]]) -> list[int]:
    """Return the exact total of each combination of facets, from stored totals and pending changes."""
    rows = await fetch_rows(
        db,
        """SELECT (coalesce((SELECT total FROM list_contents WHERE list = %(list)s AND facet = own.facet), 0)
                   + coalesce((SELECT sum(rows) FROM list_changes WHERE list = %(list)s AND facets @> own.facet), 0)
                  )::bigint
           FROM jsonb_array_elements(%(facets)s) WITH ORDINALITY AS own (facet, n) ORDER BY own.n""",
        list=table,
        facets=Jsonb(list(facets)),
    )
    return [total for (total,) in rows]


async def fetch_page(
    db: Db,
    make: Callable[[Sequence[Any]], T],
    page: int,
    *,
    total: str,
    items: str,
    given: str = "",
    **params: object,
) -> Page[T]:
    """Fetch a page of a small list by OFFSET.

    `total` selects the number of rows. `items` selects the rows in order; their first column must not be null. Both may
    use the WITH clause `given`.
    """
    if page == EVERYTHING:
        return whole(make, f"{given} {items}", **params)
    rows = await fetch_rows(
        db,
        f"{given} SELECT t.total, p.* FROM ({total}) AS t(total)"
        f" LEFT JOIN LATERAL ({items} LIMIT {PAGE_SIZE} OFFSET %(offset)s) AS p ON true",
        offset=min((page - 1) * PAGE_SIZE, _FURTHEST),
        **params,
    )
    return _page(rows, make, page)


async def fetch_small(
    db: Db, make: Callable[[Sequence[Any]], T], page: int, *, columns: str, rows: str, order: str, **params: object
) -> Page[T]:
    """Fetch a page of a small list; `rows` is a FROM clause with its condition, and the total counts its rows."""
    total, items = f"SELECT count(*) {rows}", f"SELECT {columns} {rows} ORDER BY {order}"
    return await fetch_page(db, make, page, total=total, items=items, given="", **params)


def _page(rows: Sequence[Sequence[Any]], make: Callable[[Sequence[Any]], T], page: int) -> Page[T]:
    """Build the page; the total is column 0, and the items are the columns after it."""
    count = rows[0][0]
    return Page(
        items=[make(row[1:]) for row in rows if row[1] is not None],
        total_count=count,
        page=page,
        page_size=PAGE_SIZE,
        total_pages=-(-count // PAGE_SIZE),
    )
