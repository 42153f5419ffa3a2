"""Attribute transactions of the sample company to callers, so that the audit shows who did what."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rolecall.core import clock
from rolecall.core.authors import AuthorKind, by, written_by
from rolecall.core.caller import Caller
from rolecall.core.db import Db, Pool


@asynccontextmanager
async def signed(pool: Pool, caller: Caller, action: str, kind: AuthorKind = AuthorKind.PERSON) -> AsyncIterator[Db]:
    """Run a transaction as this caller; `action` is the name of the operation in the audit."""
    author = by(kind, caller, action, clock.now(), secrets.token_hex(16))
    async with pool.connection() as db, written_by(db, "company", author):
        yield db
