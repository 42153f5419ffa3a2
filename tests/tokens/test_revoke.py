from datetime import UTC, datetime, timedelta
from uuid import uuid4

import httpx2

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.asgi import serving
from tests.builders import a_token


async def test_a_revoked_token_is_refused_on_the_next_request(client: httpx2.AsyncClient, db: Db) -> None:
    token = await a_token(db, "leaving")
    theirs = {"Authorization": f"Bearer {token.secret}"}
    assert (await client.get("/api/identities", headers=theirs)).status_code == 200

    answer = await client.delete(f"/api/tokens/{token.id}")

    assert answer.status_code == 204
    assert answer.content == b""
    assert "content-type" not in answer.headers
    assert (await client.get("/api/identities", headers=theirs)).status_code == 401


async def test_another_process_rejects_a_revoked_token(config: Config, client: httpx2.AsyncClient, db: Db) -> None:
    token = await a_token(db, "leaving")
    theirs = {"Authorization": f"Bearer {token.secret}"}
    async with serving(config) as other:
        assert (await other.get("/api/identities", headers=theirs)).status_code == 200

        await client.delete(f"/api/tokens/{token.id}")

        assert (await other.get("/api/identities", headers=theirs)).status_code == 401


async def test_cached_token_is_rejected_after_expiry(client: httpx2.AsyncClient, db: Db) -> None:
    theirs = {"Authorization": f"Bearer {(await a_token(db, 'short', expiresInDays=1)).secret}"}
    assert (await client.get("/api/identities", headers=theirs)).status_code == 200

    clock.travel_to(clock.now() + timedelta(days=1))

    assert (await client.get("/api/identities", headers=theirs)).status_code == 401


async def test_token_is_rejected_at_the_moment_of_expiry(client: httpx2.AsyncClient, db: Db) -> None:
    moment = datetime(2030, 1, 1, 12, tzinfo=UTC)
    theirs = {"Authorization": f"Bearer {(await a_token(db, 'short', now=moment, expiresInDays=1)).secret}"}

    clock.stop_at(moment + timedelta(days=1, microseconds=-1))
    assert (await client.get("/api/identities", headers=theirs)).status_code == 200
    clock.stop_at(moment + timedelta(days=1))
    assert (await client.get("/api/identities", headers=theirs)).status_code == 401


async def test_second_revocation_keeps_the_time_of_the_first(client: httpx2.AsyncClient, db: Db) -> None:
    token = await a_token(db, "leaving")

    async def revoked_on() -> object:
        await client.delete(f"/api/tokens/{token.id}")
        items = (await client.get("/api/tokens")).json()["items"]
        return next(item["revokedOn"] for item in items if item["id"] == str(token.id))

    assert await revoked_on() == await revoked_on()


async def test_unknown_token_cannot_be_revoked(client: httpx2.AsyncClient) -> None:
    for id in (str(uuid4()), "leaving"):
        answer = await client.delete(f"/api/tokens/{id}")

        assert answer.status_code == 404
        assert answer.json()["message"] == f"Token with id {id} not found"
