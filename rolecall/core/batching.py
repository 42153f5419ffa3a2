"""Get records by id, batching concurrent lookups into one query.

Under load this replaces many round trips with one; a single lookup is not delayed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Generic, TypeVar
from uuid import UUID

from rolecall.core.db import Db, Pool
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid

K = TypeVar("K")
V = TypeVar("V")
# A query that returns the records that exist among these ids, keyed by id.
Find = Callable[[Db, list[UUID]], Awaitable[dict[UUID, V]]]

_PATIENCE_SECONDS = 0.25


class BatchedLookup(Generic[K, V]):
    """Batch lookups. A lookup that arrives during a query joins the next batch: the running query may miss its row."""

    def __init__(self, query: Callable[[set[K]], Awaitable[V]]) -> None:
        self._query = query
        self._keys: set[K] = set()
        self._running: asyncio.Task[V] | None = None
        self._next: asyncio.Task[V] | None = None

    async def get(self, key: K) -> V:
        self._keys.add(key)
        if self._next is None:
            self._next = asyncio.create_task(self._query_after(self._running))
        # A canceled caller must not cancel the batch.
        return await asyncio.shield(self._next)

    async def _query_after(self, earlier: asyncio.Task[V] | None) -> V:
        if earlier and not earlier.done():
            # A hanging connection must not block the next batch.
            await asyncio.wait([earlier], timeout=_PATIENCE_SECONDS)
        self._running, self._next = self._next, None
        keys, self._keys = self._keys, set()
        return await self._query(keys)


async def get_one(db: Db, kind: str, find: Find[V], id: str | UUID) -> V:
    guid = known_guid(kind, str(id))
    return _required(kind, id, (await find(db, [guid])).get(guid))


async def get_batched(pool: Pool, kind: str, find: Find[V], id: str) -> V:
    """Return one record; concurrent lookups with the same `find` share one query."""
    guid = known_guid(kind, id)
    lookup: BatchedLookup[UUID, dict[UUID, V]] | None = pool.lookups.get(find)
    if lookup is None:
        lookup = pool.lookups[find] = BatchedLookup(partial(_look_up, pool, find))
    return _required(kind, id, (await lookup.get(guid)).get(guid))


async def _look_up(pool: Pool, find: Find[V], ids: set[UUID]) -> dict[UUID, V]:
    # Use `getconn` instead of `pool.connection()`, which also ends a transaction on exit: in autocommit mode there is
    # none.
    db = await pool.getconn()
    try:
        return await find(db, list(ids))
    finally:
        await pool.putconn(db)


def _required(kind: str, id: str | UUID, found: V | None) -> V:
    if found is None:
        raise NotFound(kind, id)
    return found
