from datetime import datetime, timedelta

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
    assert list(first["items"][0]) == fields


async def test_the_last_use_is_known_to_the_minute(config: Config, token: str) -> None:
    async def last_used() -> datetime:
        """As a process sees it that has not met the token yet."""
        async with serving(config) as client:
            answer = await client.get("/api/tokens", headers={"Authorization": f"Bearer {token}"})
        return datetime.fromisoformat(answer.json()["items"][0]["lastUsedOn"])

    first = await last_used()
    assert await last_used() == first
    clock.travel_to(clock.now() + timedelta(minutes=2))
    assert await last_used() > first
