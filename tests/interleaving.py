"""Interleave transactions: start one after the other, each when the one before waits for a lock or has ended."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from rolecall.core.authors import by_system, written_by
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, fetch_value, make_pool
from tests.builders import an_identity

Work = Callable[[Db], Awaitable[Any]]


class Crew:
    """Run tasks in their own transactions; start each one when the previous task waits for a lock or has ended."""

    def __init__(self, pool: Pool, watcher: Db) -> None:
        self.pool, self.watcher = pool, watcher
        self.tasks: list[asyncio.Task[Any]] = []

    async def begin(self, work: Work) -> asyncio.Task[Any]:
        pid = asyncio.get_running_loop().create_future()

        async def in_a_transaction() -> Any:
            async with self.pool.connection() as db, written_by(db, "step", by_system("work", datetime.now(UTC))):
                pid.set_result(db.info.backend_pid)
                return await work(db)

        task = asyncio.create_task(in_a_transaction())
        self.tasks.append(task)
        async with asyncio.timeout(60):
            blocked = "SELECT cardinality(pg_blocking_pids(%(pid)s)) > 0"
            while not task.done() and not await fetch_value(self.watcher, blocked, pid=await pid):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        return task

    async def until(self, condition: str, **params: object) -> None:
        """Wait until this query returns true."""
        async with asyncio.timeout(60):
            while not await fetch_value(self.watcher, condition, **params):  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def end(self) -> list[Any]:
        """Wait for all tasks, and return their results; raise the first error."""
        return await asyncio.gather(*self.tasks)


async def overlapping(config: Config, db: Db, first: Work, second: Work) -> Any:
    """Begin the second change before the first one is committed; return the result of the second."""
    async with make_pool(config) as pool:
        crew = Crew(pool, db)
        async with pool.connection() as one, written_by(one, "step", by_system("first", datetime.now(UTC))):
            await first(one)
            task = await crew.begin(second)
        return await task


async def people_against_the_order(db: Db) -> list[UUID]:
    """Create two people of whom a check of requests (`take_turns`) locks the second one first."""
    turns: dict[int, UUID] = {}
    while len(turns) < 2:
        id = await an_identity(db, "Person", f"{len(turns)}")
        turns[await fetch_value(db, "SELECT hashtextextended(%(id)s, 0) & 255", id=str(id))] = id
    return [turns[place] for place in sorted(turns, reverse=True)]
