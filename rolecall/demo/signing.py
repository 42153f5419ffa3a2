"""Who did what at the sample company, as its audit tells it."""

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from rolecall.core import clock
from rolecall.core.authors import AuthorKind, by, written_by
from rolecall.core.caller import Caller
from rolecall.core.db import Db, Pool


@asynccontextmanager
async def signed(
    pool: Pool, caller: Caller, action: Callable[..., object], kind: AuthorKind = AuthorKind.PERSON
) -> AsyncIterator[Db]:
    """A transaction in which the caller does this action."""
    author = by(kind, caller, action.__name__, clock.now(), secrets.token_hex(16))
    async with pool.connection() as db, written_by(db, "company", author):
        yield db
