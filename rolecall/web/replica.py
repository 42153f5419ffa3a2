"""Read from a replica while keeping read-your-writes consistency."""

import asyncio
import time

import structlog
from psycopg import Error
from psycopg_pool import PoolTimeout

from rolecall.core.batching import BatchedLookup
from rolecall.core.db import Pool, fetch_value

log = structlog.get_logger("rolecall.replica")

# The pauses, in seconds, while a read waits for the replica to catch up.
_PATIENCE = (0.001, 0.002, 0.004, 0.008, 0.016)
# After a failure, reads use the primary for this long.
_REST_SECONDS = 5.0
# The timeout for getting a connection to the replica.
_REACH_SECONDS = 0.5


class Replica:
    """A read replica: `pool` connects to a standby of `primary`."""

    def __init__(self, primary: Pool, pool: Pool) -> None:
        self.primary, self.pool = primary, pool
        self._resting_until = 0.0
        self._checks = BatchedLookup(self._check)

    async def is_current(self) -> bool:
        """Return whether the replica has replayed every commit up to now; False for some seconds after a failure."""
        if time.monotonic() < self._resting_until:
            return False
        return await self._checks.get(None)

    def rest(self, fault: Exception) -> None:
        log.warning("replica unreachable", reason=str(fault))
        self._resting_until = time.monotonic() + _REST_SECONDS

    async def _check(self, _: set[None]) -> bool:
        try:
            return await self._has_caught_up()
        except (Error, PoolTimeout) as fault:
            self.rest(fault)
            return False

    async def _has_caught_up(self) -> bool:
        async with self.primary.connection() as db:
            # A commit is confirmed only after its flush, so this position covers every confirmed commit.
            written = await fetch_value(db, "SELECT pg_current_wal_flush_lsn()::text")
        async with self.pool.connection(timeout=_REACH_SECONDS) as db:
            for pause in (*_PATIENCE, None):
                # The function returns null on a server that started without recovery, and a position that no longer
                # advances on a replica that was promoted.
                shown = await fetch_value(db, "SELECT pg_last_wal_replay_lsn() >= %(lsn)s::pg_lsn", lsn=written)
                if shown or pause is None:
                    break
                await asyncio.sleep(pause)
        return bool(shown)
