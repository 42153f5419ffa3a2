"""Count the statements of a connection, to detect N+1 queries."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from rolecall.core.db import Db, session_options


class Counting:
    def __init__(self, db: Db) -> None:
        self.db = db
        self.statements = 0

    async def of(self, work: Awaitable[object]) -> int:
        before = self.statements
        await work
        return self.statements - before


@asynccontextmanager
async def counting(url: str) -> AsyncIterator[Counting]:
    class Counted(psycopg.AsyncCursor[Any]):
        async def execute(self, *args: Any, **kwargs: Any) -> Any:
            counts.statements += 1
            return await super().execute(*args, **kwargs)

    options = session_options("http://rolecall.test")
    async with await psycopg.AsyncConnection.connect(
        url, autocommit=True, options=options, cursor_factory=Counted
    ) as db:
        counts = Counting(db)
        yield counts
