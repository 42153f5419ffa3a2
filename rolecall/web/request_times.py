"""Count request durations per process, and add them to totals in the database every few seconds.

Processes share a port, so a metrics scrape reaches only one of them; therefore the totals are in the database.
"""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from math import inf

import msgspec
import structlog
from psycopg import Error
from psycopg_pool import PoolTimeout

from rolecall.core.db import Db, Pool, execute, fetch_all, transaction

log = structlog.get_logger("rolecall.http")

# Upper bounds of the histogram's buckets, in seconds.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, inf)
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_EVERY_SECONDS = 5.0
_PATIENCE_SECONDS = 1.0
_Key = tuple[str, str, int, float]


class TimeBucket(msgspec.Struct, frozen=True):
    method: str
    route: str
    status: int
    within: float
    requests: int
    seconds: float


class RequestTimes:
    def __init__(self) -> None:
        self._counted: dict[_Key, tuple[int, float]] = {}

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        within = BUCKETS[bisect_left(BUCKETS, seconds)]
        # Count unknown methods together, because each method becomes a permanent row.
        self._add((method if method in _METHODS else "other", route, status, within), 1, seconds)

    def _add(self, key: _Key, requests: int, seconds: float) -> None:
        before, took = self._counted.get(key, (0, 0.0))
        self._counted[key] = before + requests, took + seconds

    async def keep(self, pool: Pool) -> None:
        """Add the counts since the last flush to the totals in the database; if this fails, keep them and raise."""
        # Swap before the write, so that requests that end during the write are counted in the next one.
        counted, self._counted = self._counted, {}
        try:
            if counted:
                async with pool.connection(_PATIENCE_SECONDS) as db, transaction(db, "request-times"):
                    await _write(db, counted)
        except (Error, PoolTimeout):
            for key, value in counted.items():
                self._add(key, *value)
            raise

    @asynccontextmanager
    async def kept(self, pool: Pool) -> AsyncGenerator[None]:
        """Flush the counts every few seconds, and once on exit."""
        stop = asyncio.Event()
        keeping = asyncio.create_task(self._keep_until(stop, pool))
        try:
            yield
        finally:
            stop.set()
            await keeping

    async def _keep_until(self, stop: asyncio.Event, pool: Pool) -> None:
        while not stop.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(_EVERY_SECONDS):
                    await stop.wait()
            try:
                await self.keep(pool)
            except (Error, PoolTimeout) as error:
                log.warning("request times could not be stored", reason=str(error))


async def _write(db: Db, counted: dict[_Key, tuple[int, float]]) -> None:
    # Write rows in a consistent order to avoid deadlocks.
    rows = sorted((*key, *value) for key, value in counted.items())
    methods, routes, statuses, withins, requests, seconds = (list(column) for column in zip(*rows, strict=True))
    await execute(
        db,
        """INSERT INTO request_times AS t (method, route, status, within, requests, seconds)
           SELECT * FROM unnest(%(methods)s::text[], %(routes)s::text[], %(statuses)s::int[], %(withins)s::float8[],
                                %(requests)s::bigint[], %(seconds)s::float8[])
           ON CONFLICT (method, route, status, within) DO UPDATE
           SET requests = t.requests + EXCLUDED.requests, seconds = t.seconds + EXCLUDED.seconds""",
        methods=methods,
        routes=routes,
        statuses=statuses,
        withins=withins,
        requests=requests,
        seconds=seconds,
    )


async def all_times(db: Db) -> list[TimeBucket]:
    return await fetch_all(
        db,
        TimeBucket,
        """SELECT method, route, status, within, requests, seconds FROM request_times
           ORDER BY route, method, status, within""",
    )
