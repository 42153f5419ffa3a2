"""Keep connections to PostgreSQL between tests.

A new connection loads the catalog, compiles triggers and plans statements again, which takes longer than most tests.
"""

from collections import defaultdict, deque
from typing import Any, ClassVar, Self

import psycopg
from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from rolecall.core.db import Pool

# Like DISCARD ALL, but keep plans and prepared statements.
_RESET = """
CLOSE ALL; RESET SESSION AUTHORIZATION; RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); DISCARD TEMP;
DISCARD SEQUENCES"""


class WarmConnection(AsyncConnection[TupleRow]):
    """A connection that stays open after `close` and is reused by the next `connect` with the same parameters."""

    _kept: ClassVar[defaultdict[str, list[Any]]] = defaultdict(list)
    _key = ""

    @classmethod
    async def connect(cls, conninfo: str = "", **parameters: Any) -> Self:
        key = f"{conninfo} {sorted(parameters.items())}"
        while kept := cls._kept[key]:
            connection: Self = kept.pop()
            if await connection._is_reset():
                return connection
        connection = await super().connect(conninfo, **parameters)
        connection._key = key
        return connection

    async def close(self) -> None:
        if not self.closed and await self._is_reset():
            self._kept[self._key].append(self)

    async def _is_reset(self) -> bool:
        """Reset the session; close the connection and return False if that fails or a statement is still running."""
        try:
            if self.info.transaction_status == TransactionStatus.ACTIVE:
                raise psycopg.OperationalError("a statement still runs")
            await self.rollback()
            await self.execute(_RESET, prepare=False)
            await self.commit()
        except psycopg.Error:
            await super().close()
            return False
        self._notify_handlers.clear()
        self._notice_handlers.clear()
        self._notifies_backlog = deque()
        return True


class WarmPool(Pool):
    def __init__(self, *args: Any, **parameters: Any) -> None:
        super().__init__(*args, connection_class=WarmConnection, **parameters)
