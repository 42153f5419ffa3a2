"""Test that a token is authorized again inside the transaction that writes."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import psycopg
import pytest

from rolecall.console.attention import tokens_to_look_at
from rolecall.core.authors import Author, AuthorKind, by
from rolecall.core.caller import Caller
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.errors import Unauthorized
from rolecall.operate.doctor import _tokens
from rolecall.tokens.actions import sign_as_token
from tests.builders import a_token, an_identity

MADE = datetime(2030, 1, 1, 12, tzinfo=UTC)


async def caller_with_a_token(db: Db, **fields: Any) -> Caller:
    await a_token(db, "another", now=MADE, expiresInDays=None)
    token = await a_token(db, "writing", now=MADE, scopes=["audit:read"], **fields)
    return Caller(token.id, "API Token - writing", frozenset())


async def sign(db: Db, caller: Caller, at: datetime) -> Caller:
    async with db.transaction():
        return await sign_as_token(db, caller, by(AuthorKind.TOKEN, caller, "test", at, "correlation"))


async def test_token_may_write_with_its_scopes_until_it_expires(db: Db) -> None:
    caller = await caller_with_a_token(db, expiresInDays=1)

    assert (await sign(db, caller, MADE + timedelta(days=1, microseconds=-1))).scopes == {"audit:read"}
    with pytest.raises(Unauthorized):
        await sign(db, caller, MADE + timedelta(days=1))


async def test_token_that_never_expires_may_write_until_it_is_revoked(db: Db) -> None:
    caller = await caller_with_a_token(db, expiresInDays=None)

    assert (await sign(db, caller, MADE + timedelta(days=9999))).scopes == {"audit:read"}
    await execute(db, "UPDATE tokens SET revoked_at = now() WHERE id = %(id)s", id=caller.id)
    with pytest.raises(Unauthorized):
        await sign(db, caller, MADE)


async def test_token_is_refused_after_its_owner_left(db: Db, anonymous: httpx2.AsyncClient) -> None:
    person = await an_identity(db)
    token = await a_token(db, "hers", owner=person, scopes=["notifications:own", "tokens:manage"])
    service = await a_token(db, "of no person", scopes=["tokens:manage"])
    caller = Caller(token.id, "API Token - hers", frozenset())
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=person)

    answers = [
        await anonymous.get(path, headers={"Authorization": f"Bearer {each.secret}"})
        for path, each in (("/api/notifications", token), ("/api/tokens", token), ("/api/tokens", service))
    ]

    assert [answer.status_code for answer in answers] == [401, 401, 200]
    assert "is no longer active" in answers[0].json()["message"]
    with pytest.raises(Unauthorized):
        await sign(db, caller, datetime.now(UTC))


@pytest.mark.parametrize(
    ("role", "left"),
    [
        ("Administrator", {"notifications:own", "tokens:manage", "identities:read", "personnel-events:write"}),
        ("Operator", {"notifications:own", "identities:read", "personnel-events:write"}),
        ("Auditor", {"notifications:own", "identities:read"}),
        ("Provisioner", {"notifications:own"}),
        (None, {"notifications:own"}),
    ],
)
async def test_token_cannot_use_scopes_that_its_owner_lacks(
    db: Db, client: httpx2.AsyncClient, anonymous: httpx2.AsyncClient, role: str | None, left: set[str]
) -> None:
    person = await an_identity(db)
    scopes = ["identities:read", "notifications:own", "personnel-events:write", "tokens:manage"]
    token = await a_token(db, "hers", owner=person, scopes=scopes)
    await execute(db, "DELETE FROM console_roles")
    if role:
        await execute(db, "INSERT INTO console_roles VALUES (%(id)s, %(role)s)", id=person, role=role)
    hers = {"Authorization": f"Bearer {token.secret}"}

    paths = ("/api/identities", "/api/notifications", "/api/tokens")
    read = {path: (await anonymous.get(path, headers=hers)).status_code for path in paths}
    created = await anonymous.post(
        "/api/tokens", headers=hers, json={"name": "second", "scopes": ["notifications:own"]}
    )
    signed = await sign(db, Caller(token.id, "API Token - hers", frozenset()), datetime.now(UTC))
    listed = {each["name"]: each for each in (await client.get("/api/tokens")).json()["items"]}["hers"]

    needed = ("identities:read", "notifications:own", "tokens:manage")
    assert read == {path: 200 if scope in left else 403 for path, scope in zip(paths, needed, strict=True)}
    assert created.status_code == (201 if "tokens:manage" in left else 403)
    if role != "Administrator":
        assert "The person who created this token may no longer use the scope tokens:manage" in created.text
    assert signed.scopes == left
    assert listed["owner"] == {"id": str(person), "name": "Ada Lovelace"}
    assert set(listed["scopes"]) - set(listed["refusedScopes"]) == left
    warned = [each.count for each in await tokens_to_look_at(db, datetime.now(UTC))]
    assert warned == ([] if role == "Administrator" else [1])
    assert ("hers of Ada Lovelace (" in await _tokens(db)) is (role != "Administrator")


async def test_removing_a_role_waits_for_a_write_that_uses_it(db: Db, clean_database: str) -> None:
    person = await an_identity(db)
    token = await a_token(db, "hers", owner=person, scopes=["tokens:manage"])
    caller = Caller(token.id, "API Token - hers", frozenset())

    async with db.transaction(), await psycopg.AsyncConnection.connect(clean_database) as other:
        await sign_as_token(db, caller, by(AuthorKind.TOKEN, caller, "test", datetime.now(UTC), "correlation"))
        with pytest.raises(psycopg.errors.LockNotAvailable):
            await execute(other, "SELECT FROM console_roles FOR UPDATE NOWAIT")


LEAVES = "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s"


async def test_departure_of_the_owner_waits_for_a_write_with_their_token(db: Db, clean_database: str) -> None:
    person = await an_identity(db)
    token = await a_token(db, "hers", owner=person, scopes=["tokens:manage"])

    async with db.transaction(), await psycopg.AsyncConnection.connect(clean_database) as other:
        await sign_as_token(db, *writing(token.id))
        await execute(other, "SET LOCAL lock_timeout = 100")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            await execute(other, LEAVES, id=person)

    await execute(db, LEAVES, id=person)


async def test_write_that_begins_during_the_departure_of_the_owner_is_refused(db: Db, clean_database: str) -> None:
    person = await an_identity(db)
    token = await a_token(db, "hers", owner=person, scopes=["tokens:manage"])

    async with await psycopg.AsyncConnection.connect(clean_database) as other:
        await execute(other, LEAVES, id=person)
        write = asyncio.create_task(sign(db, writing(token.id)[0], datetime.now(UTC)))
        await until_one_waits_for(other)
        await other.commit()
        with pytest.raises(Unauthorized):
            await write


async def until_one_waits_for(db: Db) -> None:
    """Wait until another connection waits for a lock that this one holds."""
    blocked = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    async with asyncio.timeout(30):
        while not await fetch_value(db, blocked):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def writing(id: UUID) -> tuple[Caller, Author]:
    caller = Caller(id, "API Token - hers", frozenset())
    return caller, by(AuthorKind.TOKEN, caller, "test", datetime.now(UTC), "correlation")
