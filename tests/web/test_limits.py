from datetime import UTC, datetime

import httpx2
import msgspec
import pytest

from rolecall.core import clock
from rolecall.core.config import Config, RateLimit
from rolecall.core.db import Db
from rolecall.core.errors import RateLimited
from rolecall.web.limits import Counter
from tests.asgi import serving
from tests.builders import a_token


def at(minute: int, second: int = 0) -> datetime:
    return datetime(2030, 1, 1, 12, minute, second, tzinfo=UTC)


def test_requests_above_the_limit_are_rejected_until_the_minute_ends() -> None:
    counter = Counter()
    for _ in range(3):
        counter.count("a", 3, at(0, 10))
    counter.count("b", 3, at(0, 10))

    with pytest.raises(RateLimited) as refused:
        counter.count("a", 3, at(0, 45))

    assert refused.value.retry_after == 15
    counter.count("a", 3, at(1))


async def test_reads_and_writes_have_separate_limits_per_token(config: Config, db: Db) -> None:
    clock.travel_to(at(0))
    scopes = ["identities:read", "config:manage"]
    mine = {"Authorization": f"Bearer {(await a_token(db, 'mine', now=at(0), scopes=scopes)).secret}"}
    theirs = {"Authorization": f"Bearer {(await a_token(db, 'theirs', now=at(0), scopes=scopes)).secret}"}

    async with serving(msgspec.structs.replace(config, rate_limit=RateLimit(reads=2, writes=1))) as client:

        async def read(headers: dict[str, str]) -> httpx2.Response:
            return await client.get("/api/identities", headers=headers)

        async def write(headers: dict[str, str]) -> httpx2.Response:
            return await client.patch("/api/settings", json={}, headers=headers)

        assert [(await read(mine)).status_code for _ in range(3)] == [200, 200, 429]
        assert [(await write(mine)).status_code for _ in range(2)] == [200, 429]
        assert (await read(theirs)).status_code == 200
        refused = await read(mine)

    assert refused.json()["error"] == "rate_limited"
    assert refused.json()["message"] == f"Too many requests; try again in {refused.headers['retry-after']} s"


async def test_requests_are_not_limited_by_default(client: httpx2.AsyncClient) -> None:
    assert {(await client.get("/api/identities")).status_code for _ in range(100)} == {200}
