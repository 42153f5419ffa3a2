"""Test that callers are authorized again in the transaction that writes, because a body may arrive slowly."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall.app import create_app
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.web.openapi import Route, routes_of
from tests.builders import CONNECTOR, a_token, an_application

JSON = {"Content-Type": "application/json"}
NEW_TOKEN = b'{"name": "stolen", "expiresInDays": null, "scopes": ["tokens:manage"]}'
COUNT_TOKENS = "SELECT count(*) FROM tokens"
# Operations that read a multipart body; they are not in WRITES.
_OTHERS = ("/upload", "/dry-run", "/propose")
WRITES = [
    route
    for route in routes_of(create_app(Config(database_url="postgresql://")).app)
    if route.method != "GET" and route.operation and route.operation.scope and not route.path.endswith(_OTHERS)
]


async def slowly(body: bytes, meanwhile: Any) -> AsyncIterator[bytes]:
    """Send a body in two parts, and await `meanwhile` between them."""
    yield body[:1]
    await meanwhile()
    yield body[1:]


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


async def test_token_revoked_while_the_body_arrives_creates_nothing(anonymous: httpx2.AsyncClient, db: Db) -> None:
    token = await a_token(db, "leaving", scopes=["tokens:manage"])

    async def revoke() -> None:
        await execute(db, "UPDATE tokens SET revoked_at = now() WHERE id = %(id)s", id=token.id)

    answer = await anonymous.post(
        "/api/tokens", content=slowly(NEW_TOKEN, revoke), headers={**JSON, **bearer(token.secret)}
    )

    assert (answer.status_code, answer.json()["error"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert await fetch_value(db, COUNT_TOKENS) == 1


async def test_token_that_expires_while_the_body_arrives_creates_nothing(anonymous: httpx2.AsyncClient, db: Db) -> None:
    token = await a_token(db, "short", scopes=["tokens:manage"], expiresInDays=1)

    async def expire() -> None:
        clock.travel_to(clock.now() + timedelta(days=1))

    answer = await anonymous.post(
        "/api/tokens", content=slowly(NEW_TOKEN, expire), headers={**JSON, **bearer(token.secret)}
    )

    assert answer.status_code == 401
    assert await fetch_value(db, COUNT_TOKENS) == 1


async def test_token_that_loses_a_scope_while_the_body_arrives_cannot_grant_it(
    anonymous: httpx2.AsyncClient, db: Db
) -> None:
    token = await a_token(db, "narrowed", scopes=["tokens:manage", "audit:read"])

    async def narrow() -> None:
        await execute(db, "UPDATE tokens SET scopes = '{tokens:manage}' WHERE id = %(id)s", id=token.id)

    body = b'{"name": "wide", "scopes": ["audit:read"]}'
    answer = await anonymous.post("/api/tokens", content=slowly(body, narrow), headers={**JSON, **bearer(token.secret)})

    assert (answer.status_code, answer.json()["message"]) == (403, "The token lacks the scope audit:read")


async def test_token_revoked_during_an_upload_stages_no_import(anonymous: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db, connector=CONNECTOR)
    token = await a_token(db, "uploader", scopes=["imports:write"])
    group = await fetch_value(db, "SELECT id FROM file_groups WHERE name = 'Users'")
    part = (
        f'--x\r\nContent-Disposition: form-data; name="{group}"; filename="u.csv"\r\n\r\nUsername\r\nada\r\n--x--\r\n'
    )

    async def revoke() -> None:
        await execute(db, "UPDATE tokens SET revoked_at = now() WHERE id = %(id)s", id=token.id)

    answer = await anonymous.post(
        f"/api/application-imports/upload?applicationId={application}",
        content=slowly(part.encode(), revoke),
        headers={"Content-Type": "multipart/form-data; boundary=x", **bearer(token.secret)},
    )

    assert answer.status_code == 401
    assert await fetch_value(db, "SELECT count(*) FROM application_imports") == 0


async def test_revoked_token_gets_no_stored_response(anonymous: httpx2.AsyncClient, db: Db) -> None:
    token = await a_token(db, "repeating", scopes=["config:manage"])
    headers = {**JSON, **bearer(token.secret), "Idempotency-Key": "1"}
    body = b'{"name": "Payroll"}'

    async def revoke() -> None:
        await execute(db, "UPDATE tokens SET revoked_at = now() WHERE id = %(id)s", id=token.id)

    first = await anonymous.post("/api/applications", content=body, headers=headers)
    again = await anonymous.post("/api/applications", content=slowly(body, revoke), headers=headers)

    assert (first.status_code, again.status_code) == (201, 401)


@pytest.mark.parametrize("route", WRITES, ids=lambda route: f"{route.method} {route.path}")
async def test_every_write_authorizes_the_token_in_its_transaction(
    anonymous: httpx2.AsyncClient, db: Db, route: Route
) -> None:
    """When the request arrives, the token is revoked but still cached as valid."""
    assert route.operation
    assert route.operation.scope
    token = await a_token(db, "remembered", scopes=[route.operation.scope])
    headers = bearer(token.secret)
    await anonymous.get("/api/identities", headers=headers)
    await execute(db, "UPDATE tokens SET revoked_at = now() WHERE id = %(id)s", id=token.id)

    answer = await anonymous.request(route.method, route.path, content=b"{}", headers={**JSON, **headers})

    assert answer.status_code == 401


async def test_revocation_waits_for_a_write_that_has_begun(
    client: httpx2.AsyncClient, db: Db, clean_database: str
) -> None:
    token = await a_token(db, "busy", scopes=["config:manage"])
    async with await psycopg.AsyncConnection.connect(clean_database, autocommit=True) as other:
        await execute(other, "SELECT pg_advisory_lock(7)")
        await execute(
            db,
            """CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                   PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$;
               CREATE TRIGGER pause AFTER INSERT ON applications EXECUTE FUNCTION pause()""",
        )
        try:
            writing = asyncio.create_task(
                client.post("/api/applications", json={"name": "Payroll"}, headers=bearer(token.secret))
            )
            await _until_waiting(db, 1)
            revoking = asyncio.create_task(client.delete(f"/api/tokens/{token.id}"))
            await _until_waiting(db, 2)
            # Another request with the token does not wait for the running write.
            clock.travel_to(clock.now() + timedelta(minutes=5))
            await asyncio.wait_for(client.get("/api/applications", headers=bearer(token.secret)), 5)
            await execute(other, "SELECT pg_advisory_unlock(7)")
            written, revoked = await asyncio.gather(writing, revoking)
        finally:
            await execute(other, "SELECT pg_advisory_unlock_all()")
            await execute(db, "DROP FUNCTION pause CASCADE")

    assert (written.status_code, revoked.status_code) == (201, 204)
    actions = await fetch_rows(db, "SELECT entry::jsonb ->> 'action' FROM audit_events ORDER BY number DESC LIMIT 2")
    assert [action for (action,) in actions] == ["Revoke token", "Create application"]


WAITING = """SELECT count(*) FROM pg_stat_activity
             WHERE wait_event_type = 'Lock' AND datname = current_database()"""


async def _until_waiting(db: Db, count: int) -> None:
    for _ in range(500):
        if await fetch_value(db, WAITING) == count:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{count} transactions should wait for a lock")


async def test_tokens_that_revoke_each_other_do_not_deadlock(anonymous: httpx2.AsyncClient, db: Db) -> None:
    for n in range(5):
        one, other = [await a_token(db, f"{name} {n}", scopes=["tokens:manage"]) for name in ("one", "other")]

        answers = await asyncio.gather(
            anonymous.delete(f"/api/tokens/{other.id}", headers=bearer(one.secret)),
            anonymous.delete(f"/api/tokens/{one.id}", headers=bearer(other.secret)),
        )

        assert sorted(answer.status_code for answer in answers) == [204, 401]


async def test_records_and_audit_have_the_time_of_the_transaction(client: httpx2.AsyncClient, db: Db) -> None:
    began = clock.now()

    async def wait() -> None:
        clock.travel_to(began + timedelta(hours=1))

    answer = await client.post("/api/tokens", content=slowly(b'{"name": "slow"}', wait), headers=JSON)

    later = (began + timedelta(hours=1)).isoformat()[:16]
    assert answer.json()["createdDate"][:16] == later
    entry = await fetch_value(
        db, "SELECT entry::jsonb ->> 'createdDate' FROM audit_events ORDER BY number DESC LIMIT 1"
    )
    assert entry[:16] == later
