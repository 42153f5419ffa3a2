"""Read, stream and verify audit entries."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.audit.model import Checkpoint, Head, Row, Walk, heads_broken, mark_of, seal_of, sighting
from rolecall.audit.shapes import AuditEventItem, Entry, Verdict
from rolecall.core.db import Db, fetch_all, fetch_rows, stream_rows
from rolecall.core.errors import NotFound
from rolecall.core.paging import Listing, Page, fetch_listed, fetch_page

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


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of entries; None matches any value. `since` is inclusive, `until` exclusive."""

    entity_id: UUID | None = None
    caller_id: UUID | None = None
    action: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_of_a_time(self) -> bool:
        return self.since is not None or self.until is not None

    @property
    def sql(self) -> str:
        given = [condition for name, condition in _CONDITIONS.items() if getattr(self, name) is not None]
        return " AND ".join([*given, _TIME] if self.is_of_a_time else given or ["true"])

    @property
    def values(self) -> dict[str, Any]:
        return {
            "entity_id": self.entity_id,
            "caller_id": self.caller_id,
            "action": self.action,
            "first_key": _key(self.since, ""),
            "end_key": _key(self.until, "~"),
        }


_CONDITIONS = {
    "entity_id": "entity_id = %(entity_id)s",
    "caller_id": "caller_id = %(caller_id)s",
    "action": "action_key = lower(%(action)s)",
}
# Always give both bounds: with only one, the planner assumes that a third of the table matches.
_TIME = "created_key >= %(first_key)s AND created_key < %(end_key)s"


def _key(moment: datetime | None, otherwise: str) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") if moment else otherwise


async def newest_first(db: Db, page: int, which: Filter) -> Page[AuditEventItem]:
    if not which.is_of_a_time:
        key = which.action and which.action.lower()
        return await fetch_listed(
            db, EVENTS, page, entity_id=which.entity_id, caller_id=which.caller_id, action_key=key
        )
    # Scan the index of creation times, so that the cost is proportional to the number of entries in the range.
    return await fetch_page(
        db,
        _item,
        page,
        total=f"SELECT count(*) FROM audit_events WHERE {which.sql}",
        items=f"SELECT {_COLUMNS} FROM audit_events WHERE {which.sql} ORDER BY created_key DESC, number DESC",
        **which.values,
    )


async def get(db: Db, number: str) -> AuditEventItem:
    # A number with more than 18 digits can be too large for bigint.
    asked = int(number[:18]) if number.isascii() and number.isdecimal() else 0
    rows = await fetch_rows(db, f"SELECT {_COLUMNS} FROM audit_events WHERE number = %(number)s", number=asked)
    if not rows:
        raise NotFound("AuditEvent", number)
    return _item(rows[0])


async def heads(db: Db) -> list[Head]:
    sql = "SELECT chain, number, count, encode(hash, 'hex') AS hash FROM audit_heads ORDER BY chain"
    return await fetch_all(db, Head, sql)


async def rows(db: Db, condition: str = "true", order: str = "number", **params: object) -> AsyncIterator[Row]:
    sql = f"SELECT {_COLUMNS} FROM audit_events WHERE {condition} ORDER BY {order}"
    async for values in stream_rows(db, sql, **params):
        yield Row(*values)


def rows_of(db: Db, which: Filter) -> AsyncIterator[Row]:
    """Stream the entries that match the filter, ordered by number, or by time if the filter has a time range."""
    order = "created_key, number" if which.is_of_a_time else "number"
    return rows(db, which.sql, order, **which.values)


# Use one statement, so that heads, checkpoints and entries come from one snapshot during concurrent writes. Heads and
# checkpoints have the lowest `place`, because the walk needs them before the entries.
_EVERYTHING = """
    SELECT * FROM (
        SELECT '-9223372036854775808'::bigint AS place, 'head' AS what, chain, number, count,
               NULL::text AS entry, NULL::bytea AS previous, hash, NULL::int AS kept_by, NULL::text[] AS keys
        FROM audit_heads
        UNION ALL
        SELECT '-9223372036854775808'::bigint, 'checkpoint', s.chain, s.number, NULL, NULL, NULL, s.hash, c.chain, NULL
        FROM audit_checkpoints c
        LEFT JOIN LATERAL unnest(c.chains, c.numbers, c.hashes) AS s (chain, number, hash) ON true
        UNION ALL
        SELECT number, 'entry', chain, number, NULL, entry, previous, hash, NULL,
               ARRAY[action_key, created_key, caller_id::text, entity_id::text]
        FROM audit_events
    ) AS everything ORDER BY place"""


async def verify(db: Db, known: Sequence[Head] = ()) -> Verdict:
    """Verify every chain against its head, the checkpoints and the `known` heads that were kept elsewhere."""
    now: list[Head] = []
    seen: dict[int, dict[int, tuple[int, str]]] = {}
    walk: Walk | None = None
    async for _, what, chain, number, count, entry, previous, hash, kept_by, keys in stream_rows(db, _EVERYTHING):
        if what == "head":
            now.append(Head(chain, number, count, hash.hex()))
        elif what == "checkpoint":
            # A checkpoint without heads has one row, in which the chain is null.
            seen.setdefault(kept_by, {})
            if chain is not None:
                seen[kept_by][chain] = number, hash.hex()
        else:
            walk = walk or _walk(now, seen, known)
            walk.step(Row(number, chain, entry, previous, hash), tuple(keys))
            if walk.count % _AT_ONCE == 0:
                # Let other tasks of the event loop run.
                await asyncio.sleep(0)
    # All heads have the same `place`, so the statement returns them in no particular order.
    now.sort(key=lambda head: head.chain)
    walk = walk or _walk(now, seen, known)
    walk.end()
    checkpoints = [Checkpoint(chain, heads) for chain, heads in seen.items()]
    found = [*([walk.broken] if walk.broken else []), *heads_broken(now, checkpoints)]
    broken = min(found, key=lambda each: each.number, default=None)
    return Verdict(broken is None, walk.count, seal_of(now), now, broken)


def _walk(heads: Sequence[Head], seen: dict[int, dict[int, tuple[int, str]]], known: Sequence[Head]) -> Walk:
    sightings = [sighting(by, chain, *head) for by, others in seen.items() for chain, head in others.items()]
    return Walk([*map(mark_of, known), *sightings], heads)


def as_line(row: Row) -> bytes:
    """Return a line of an export; it contains the entry's text exactly as hashed."""
    said = (
        f'{{"chain":{row.chain},"number":{row.number},"previousHash":"{row.previous.hex()}","hash":"{row.hash.hex()}"'
    )
    return f'{said},"entry":{row.entry}}}\n'.encode()
