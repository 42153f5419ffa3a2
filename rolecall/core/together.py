"""One question for all who ask at the same time."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from operator import attrgetter
from typing import Generic, TypeVar
from uuid import UUID

import msgspec

from rolecall.core.db import Pool, fetch_all

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T", bound=msgspec.Struct)

_id_of = attrgetter("id")
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


async def fetch_by_id(pool: Pool, shape: type[T], sql: str, id: UUID) -> T | None:
    """The row with this id; the query is for all `ids` that are asked for at once."""
    lookup: Together[UUID, dict[UUID, T]] | None = pool.lookups.get((shape, sql))
    if lookup is None:
        lookup = pool.lookups[shape, sql] = Together(partial(_look_up, pool, shape, sql))
    return (await lookup.ask(id)).get(id)


async def _look_up(pool: Pool, shape: type[T], sql: str, ids: set[UUID]) -> dict[UUID, T]:
    async with pool.connection() as db:
        rows = await fetch_all(db, shape, sql, ids=list(ids))
    return {_id_of(row): row for row in rows}
