"""A record by its id, and one question for all who ask at the same time."""

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
# What is there of these ids, each by its id.
Find = Callable[[Db, list[UUID]], Awaitable[dict[UUID, V]]]

_PATIENCE_SECONDS = 0.25


class Together(Generic[K, V]):
    """Who asks while an answer is on its way goes into the next question: that answer may have begun too early."""

    def __init__(self, ask: Callable[[set[K]], Awaitable[V]]) -> None:
        self._ask = ask
        self._keys: set[K] = set()
        self._under_way: asyncio.Task[V] | None = None
        self._next: asyncio.Task[V] | None = None

    async def ask(self, key: K) -> V:
        self._keys.add(key)
        if self._next is None:
            self._next = asyncio.create_task(self._ask_after(self._under_way))
        # Who gives up must not take the others along.
        return await asyncio.shield(self._next)

    async def _ask_after(self, earlier: asyncio.Task[V] | None) -> V:
        if earlier and not earlier.done():
            # One whose connection hangs must not keep all others waiting.
            await asyncio.wait([earlier], timeout=_PATIENCE_SECONDS)
        self._under_way, self._next = self._next, None
        keys, self._keys = self._keys, set()
        return await self._ask(keys)


async def get_one(db: Db, kind: str, find: Find[V], id: str | UUID) -> V:
    guid = known_guid(kind, str(id))
    return _there(kind, id, (await find(db, [guid])).get(guid))


async def get_with_others(pool: Pool, kind: str, find: Find[V], id: str) -> V:
    """Found in one go with all that are asked for at the same time."""
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
