"""Get records by id, batching concurrent lookups into one query.

Under load this replaces many round trips by one; a single lookup is not delayed.
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
# A query that returns the existing records of these ids, by id.
Find = Callable[[Db, list[UUID]], Awaitable[dict[UUID, V]]]

_PATIENCE_SECONDS = 0.25


class Together(Generic[K, V]):
    """Batch lookups. One that arrives during a query joins the next batch: the running query may be too old."""

    def __init__(self, ask: Callable[[set[K]], Awaitable[V]]) -> None:
        self._ask = ask
        self._keys: set[K] = set()
        self._under_way: asyncio.Task[V] | None = None
        self._next: asyncio.Task[V] | None = None

    async def ask(self, key: K) -> V:
        self._keys.add(key)
        if self._next is None:
            self._next = asyncio.create_task(self._ask_after(self._under_way))
        # A canceled caller must not cancel the batch.
        return await asyncio.shield(self._next)

    async def _ask_after(self, earlier: asyncio.Task[V] | None) -> V:
        if earlier and not earlier.done():
            # A hanging connection must not block the next batch.
            await asyncio.wait([earlier], timeout=_PATIENCE_SECONDS)
        self._under_way, self._next = self._next, None
        keys, self._keys = self._keys, set()
        return await self._ask(keys)


async def get_one(db: Db, kind: str, find: Find[V], id: str | UUID) -> V:
    guid = known_guid(kind, str(id))
    return _there(kind, id, (await find(db, [guid])).get(guid))


async def get_with_others(pool: Pool, kind: str, find: Find[V], id: str) -> V:
    """Get one record in a batch with concurrent lookups."""
    guid = known_guid(kind, id)
    lookup: Together[UUID, dict[UUID, V]] | None = pool.lookups.get(find)
    if lookup is None:
        lookup = pool.lookups[find] = Together(partial(_look_up, pool, find))
    return _there(kind, id, (await lookup.ask(guid)).get(guid))


async def _look_up(pool: Pool, find: Find[V], ids: set[UUID]) -> dict[UUID, V]:
    # Not `pool.connection()`: there is no transaction to end.
    db = await pool.getconn()
    try:
        return await find(db, list(ids))
    finally:
        await pool.putconn(db)


def _there(kind: str, id: str | UUID, found: V | None) -> V:
    if found is None:
        raise NotFound(kind, id)
    return found
