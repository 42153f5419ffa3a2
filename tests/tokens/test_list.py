from datetime import UTC, datetime, timedelta

import httpx2

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.asgi import serving
from tests.builders import a_token


async def test_tokens_are_listed_newest_first_without_their_secrets(client: httpx2.AsyncClient, db: Db) -> None:
    for day in range(60):
        await a_token(db, f"token {day}", now=clock.now() + timedelta(days=day + 1))

    first, second = [(await client.get("/api/tokens", params={"page": page})).json() for page in (1, 2)]

    assert [item["name"] for item in first["items"]] == [f"token {day}" for day in range(59, 9, -1)]
    assert [item["name"] for item in second["items"]][:10] == [f"token {day}" for day in range(9, -1, -1)]
    assert (first["totalCount"], first["totalPages"]) == (61, 2)
    fields = ["id", "kind", "name", "scopes", "createdDate", "expiresOn", "lastUsedOn", "revokedOn"]
    fields += ["owner", "refusedScopes"]
    assert list(first["items"][0]) == fields


async def test_tokens_created_at_the_same_time_are_listed_by_descending_id(client: httpx2.AsyncClient, db: Db) -> None:
    moment = clock.now() + timedelta(days=1)
    ids = [str((await a_token(db, f"token {n}", now=moment)).id) for n in range(4)]

    items = (await client.get("/api/tokens")).json()["items"]

    assert [item["id"] for item in items][:4] == sorted(ids, reverse=True)


async def last_uses(config: Config, secret: str) -> dict[str, str | None]:
    """Return the last use of each token by name, as a process without a cache reads it."""
    async with serving(config) as client:
        answer = await client.get("/api/tokens", headers={"Authorization": f"Bearer {secret}"})
    return {item["name"]: item["lastUsedOn"] for item in answer.json()["items"]}


async def test_last_use_is_recorded_at_most_once_a_minute_per_token(config: Config, db: Db) -> None:
    moment = datetime(2030, 1, 1, 12, tzinfo=UTC)
    secret = (await a_token(db, "busy", now=moment, scopes=["tokens:manage"])).secret
    await a_token(db, "idle", now=moment)
    uses = []
    for seconds in (0, 60, 61):
        clock.stop_at(moment + timedelta(seconds=seconds))
        uses.append(await last_uses(config, secret))

    assert uses == [
        {"busy": "2030-01-01T12:00:00Z", "idle": None},
        {"busy": "2030-01-01T12:00:00Z", "idle": None},
        {"busy": "2030-01-01T12:01:01Z", "idle": None},
    ]


async def test_expired_token_records_no_use(config: Config, token: str, db: Db) -> None:
    expired = (await a_token(db, "expired", now=clock.now() - timedelta(days=2), expiresInDays=1)).secret

    async with serving(config) as client:
        answer = await client.get("/api/tokens", headers={"Authorization": f"Bearer {expired}"})

    assert answer.status_code == 401
    assert (await last_uses(config, token))["expired"] is None
