import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.audit.model import Head, Row, Walk, seal_of
from rolecall.audit.shapes import AuditEventItem, Entry, Verdict
from rolecall.core.db import Db, fetch_all, fetch_rows, stream_rows
from rolecall.core.errors import NotFound
from rolecall.core.paging import Listing, Page, fetch_listed

_COLUMNS = "number, chain, entry, previous, hash"
_AT_ONCE = 1000
_DECODE = msgspec.json.Decoder(Entry).decode


def item_of(row: Row) -> AuditEventItem:
    entry = _DECODE(row.entry)
    return AuditEventItem(
        number=row.number,
        created_date=entry.created_date,
        caller=entry.caller,
        action=entry.action,
        entity=entry.entity,
        before=entry.before,
        after=entry.after,
        correlation_id=entry.correlation_id,
        chain=row.chain,
        previous_hash=row.previous.hex(),
        hash=row.hash.hex(),
    )


def _item(values: Sequence[Any]) -> AuditEventItem:
    return item_of(Row(*values))


EVENTS = Listing(table="audit_events", row="a", columns=_COLUMNS, make=_item, newest_first=True)


async def newest_first(
    db: Db, page: int, *, entity_id: UUID | None = None, caller_id: UUID | None = None, action: str | None = None
) -> Page[AuditEventItem]:
    return await fetch_listed(db, EVENTS, page, entity_id=entity_id, caller_id=caller_id, action=action)


async def get(db: Db, number: str) -> AuditEventItem:
    asked = int(number[:18]) if number.isascii() and number.isdecimal() else 0
    rows = await fetch_rows(db, f"SELECT {_COLUMNS} FROM audit_events WHERE number = %(number)s", number=asked)
    if not rows:
        raise NotFound("AuditEvent", number)
    return _item(rows[0])


async def heads(db: Db) -> list[Head]:
    sql = "SELECT chain, number, count, encode(hash, 'hex') AS hash FROM audit_heads ORDER BY chain"
    return await fetch_all(db, Head, sql)


async def rows(db: Db, condition: str = "true", **params: object) -> AsyncIterator[Row]:
    """By number."""
    sql = f"SELECT {_COLUMNS} FROM audit_events WHERE {condition} ORDER BY number"
    async for values in stream_rows(db, sql, **params):
        yield Row(*values)


async def verify(db: Db, known: Sequence[Head] = ()) -> Verdict:
    """Along every chain, to its head and to the heads that somebody has kept."""
    # The heads first: an entry that is written meanwhile comes after them.
    now = await heads(db)
    walks = [Walk(now), Walk(known)]
    async for row in rows(db):
        for walk in walks:
            walk.step(row)
        if row.number % _AT_ONCE == 0:
            await asyncio.sleep(0)
    for walk in walks:
        walk.end()
    broken = min((walk.broken for walk in walks if walk.broken), key=lambda found: found.number, default=None)
    return Verdict(broken is None, walks[0].count, seal_of(now), now, broken)


def as_line(row: Row) -> bytes:
    """A line of an export; the entry stands there as it is hashed."""
    said = (
        f'{{"chain":{row.chain},"number":{row.number},"previousHash":"{row.previous.hex()}","hash":"{row.hash.hex()}"'
    )
    return f'{said},"entry":{row.entry}}}\n'.encode()
