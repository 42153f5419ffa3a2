"""Page computed lists that never change, such as the holders of an entitlement after an import.

The first request stores which rows are on which page (`stored_pages`, as for frozen lists in `core/paging.py`), so that
every page costs the same.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime

import msgspec

from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.paging import PAGE_SIZE

# The limit of an index entry is 2,704 bytes. A list name that contains a number for each application can be longer.
_LONGEST_NAME = 400


def list_name(name: str) -> str:
    """Shorten a long name to its beginning and its digest."""
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    return f"{name[:100]}… {hashlib.sha256(name.encode()).hexdigest()}"


class ComputedPage(msgspec.Struct, frozen=True):
    """The keys of the rows on one page, in order, and the total number of rows."""

    keys: list[str]
    total: int


async def fetch_computed(db: Db, name: str, rows: str, page: int, now: datetime, **params: object) -> ComputedPage:
    """Return a page of the list `name`; the SQL in `rows` selects the `key` and `place` (from 0) of each row."""
    sql = """SELECT page, total, key FROM stored_pages
             WHERE list = %(list)s AND page IN (0, %(page)s) ORDER BY page DESC"""
    name = list_name(name)
    # The column `page` is a 4-byte integer: a larger number would cause an error.
    given = {"list": name, "page": min(page, 2**31 - 1)}
    found = await fetch_rows(db, sql, **given)
    if not found:
        await _store(db, name, rows, now, **params)
        found = await fetch_rows(db, sql, **given)
    number, total, keys = found[0]
    return ComputedPage(keys if number else [], total)


async def _store(db: Db, name: str, rows: str, now: datetime, **params: object) -> None:
    await execute(
        db,
        f"""WITH computed AS MATERIALIZED ({rows}), counted AS (SELECT count(*) AS total FROM computed)
            INSERT INTO stored_pages (list, page, total, key, found_on)
            SELECT %(list)s, 0, total, NULL::text[], %(now)s::timestamptz FROM counted
            UNION ALL
            SELECT %(list)s, place / {PAGE_SIZE} + 1, total, array_agg(key ORDER BY place), %(now)s
            FROM computed, counted GROUP BY place / {PAGE_SIZE}, total
            ON CONFLICT DO NOTHING""",
        **params,
        list=name,
        now=now,
    )


async def stored_texts(db: Db, names: Sequence[str]) -> dict[str, str]:
    """Return the strings stored under these names. The calling code must shorten the names with `list_name`."""
    rows = await fetch_rows(
        db, "SELECT list, key[1] FROM stored_pages WHERE list = ANY(%(names)s) AND page = 1", names=list(names)
    )
    return dict(rows)


async def store_texts(db: Db, texts: str, now: datetime, **params: object) -> None:
    """Store the strings (`key`) that the SQL in `texts` selects, each under its name (`list`).

    Insert them in order, because two readers that store the same names in different orders could deadlock.
    """
    await execute(
        db,
        f"""INSERT INTO stored_pages (list, page, total, key, found_on)
            SELECT each.list, place.page, 1, CASE WHEN place.page = 1 THEN ARRAY[each.key] END, %(now)s::timestamptz
            FROM ({texts}) AS each CROSS JOIN (VALUES (0), (1)) AS place (page)
            ORDER BY each.list, place.page
            ON CONFLICT DO NOTHING""",
        **params,
        now=now,
    )
