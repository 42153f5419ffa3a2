"""Record who writes in a transaction and why.

A transaction that changes audited records is signed with an `Author`. The triggers of `schema/audit.sql` copy it into
the audit entry of each change, and `written_on()` takes the transaction's time from it.
"""

import getpass
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import msgspec

from rolecall.core.caller import NOBODY, SYSTEM, Caller
from rolecall.core.db import Db, execute, transaction


class AuthorKind(StrEnum):
    TOKEN = "Token"  # noqa: S105
    PERSON = "Person"
    COMMAND_LINE = "Command Line"
    SYSTEM = "System"
    ANYONE = "Anyone"


class Writer(msgspec.Struct, frozen=True):
    id: UUID | None
    kind: AuthorKind
    name: str


class Author(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The author of a transaction. `bulk` marks an import, whose changes to identities get no audit entries."""

    caller: Writer
    action: str
    created_date: datetime
    correlation_id: str
    bulk: bool = False


def by(kind: AuthorKind, caller: Caller, action: str, now: datetime, correlation_id: str) -> Author:
    """Return the author. `NOBODY` gets the kind Anyone, and an action such as `create_token` becomes `Create token`."""
    writer = Writer(None, AuthorKind.ANYONE, "") if caller is NOBODY else Writer(caller.id, kind, caller.name)
    return Author(caller=writer, action=in_words(action), created_date=now, correlation_id=correlation_id)


def by_system(action: str, now: datetime, *, bulk: bool = False) -> Author:
    writer = Writer(None, AuthorKind.SYSTEM, SYSTEM.name)
    return Author(
        caller=writer, action=in_words(action), created_date=now, correlation_id=secrets.token_hex(16), bulk=bulk
    )


def by_command_line(command: str, now: datetime) -> Author:
    """Return an author whose caller is the operating system's user, and whose action is the command."""
    writer = Writer(None, AuthorKind.COMMAND_LINE, _user())
    return Author(caller=writer, action=command, created_date=now, correlation_id=secrets.token_hex(16))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # the user id has no name, as is common in containers
        return "unknown"


def in_words(name: str) -> str:
    words = name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


# SQL that sets the author for the rest of the transaction. It can be part of the query that authorizes the caller.
SIGN = "set_config('rolecall.author', %(author)s, true)"


async def sign(db: Db, author: Author) -> None:
    await execute(db, f"SELECT {SIGN}", author=signature(author))


def signature(author: Author) -> str:
    return _ENCODE(author).decode()


_ENCODE = msgspec.json.Encoder().encode


async def wait_to_revoke(db: Db) -> None:
    """Serialize transactions that revoke tokens, roles or sessions, to avoid deadlocks.

    Each such transaction holds a lock on the caller's own token or session and waits for the lock on the revoked one.
    """
    await execute(db, "SELECT pg_advisory_xact_lock(hashtext('revocation'), 0)")


@asynccontextmanager
async def written_by(db: Db, name: str, author: Author) -> AsyncIterator[None]:
    """Run a transaction as this author; `name` is the prefix of its fault points."""
    async with transaction(db, name):
        await sign(db, author)
        yield
