"""Who did what at the sample company, as its audit tells it."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rolecall.core import clock
from rolecall.core.authors import AuthorKind, by, written_by
from rolecall.core.caller import Caller
from rolecall.core.db import Db, Pool


@asynccontextmanager
async def signed(pool: Pool, caller: Caller, action: str, kind: AuthorKind = AuthorKind.PERSON) -> AsyncIterator[Db]:
    """A transaction in which the caller does this; the name is the operation's."""
    author = by(kind, caller, action, clock.now(), secrets.token_hex(16))
    async with pool.connection() as db, written_by(db, "company", author):
        yield db
