"""Test that a 2xx response is sent only after the commit, and that a failed commit is an error."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from tests.asgi import a_service

BODY = {"name": "Payroll"}
COUNT = "SELECT count(*) FROM applications"


@pytest.fixture
async def at_commit(db: Db) -> AsyncIterator[Any]:
    """Run SQL in the database when a transaction that creates an application commits."""

    async def inject(statement: str) -> None:
        await db.execute(
            f"CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {statement}; RETURN NULL; END $$"
        )
        await db.execute(
            "CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON applications DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION at_commit()"
        )

    yield inject
    await db.execute("DROP FUNCTION IF EXISTS at_commit CASCADE")


async def test_failed_commit_is_an_error_and_stores_nothing(client: httpx2.AsyncClient, db: Db, at_commit: Any) -> None:
    await at_commit("RAISE EXCEPTION 'the disk is full'")

    answer = await client.post("/api/applications", json=BODY, headers={"Idempotency-Key": "1"})

    assert answer.status_code == 500
    assert "disk" not in answer.text
    assert await fetch_value(db, COUNT) == 0
    assert await fetch_value(db, "SELECT count(*) FROM idempotency_keys") == 0


async def test_connection_lost_during_the_commit_is_an_error_and_stores_nothing(
    client: httpx2.AsyncClient, db: Db, at_commit: Any
) -> None:
    await at_commit("PERFORM pg_terminate_backend(pg_backend_pid())")

    answer = await client.post("/api/applications", json=BODY)

    assert answer.status_code == 503
    assert await fetch_value(db, COUNT) == 0


async def test_record_is_visible_before_the_response_is_sent(config: Config, token: str) -> None:
    seen = []

    class Watched:
        def __init__(self, app: Any) -> None:
            self.app = app

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            async def watch(message: Any) -> None:
                if message["type"] == "http.response.start":
                    with psycopg.connect(config.database_url or "") as other:
                        seen.append(other.execute(COUNT).fetchone())
                await send(message)

            await self.app(scope, receive, watch)

    headers = {"Authorization": f"Bearer {token}"}
    async with a_service(config) as app:
        transport = httpx2.ASGITransport(Watched(app))
        async with httpx2.AsyncClient(transport=transport, base_url=config.base_url, headers=headers) as client:
            assert (await client.post("/api/applications", json=BODY)).status_code == 201

    assert seen == [(1,)]
