import asyncio
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from rolecall.core import clock
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.web.idempotency import delete_old_answers
from tests.builders import a_token

KEY = {"Idempotency-Key": "6f1c"}


async def create(client: httpx2.AsyncClient, name: str = "Payroll", **headers: str) -> httpx2.Response:
    return await client.post("/api/applications", json={"name": name}, headers={**KEY, **headers})


async def how_many(db: Db) -> Any:
    return await fetch_value(db, "SELECT count(*) FROM applications")


async def test_same_key_and_body_return_the_first_response(client: httpx2.AsyncClient, db: Db) -> None:
    first, second = await create(client), await create(client)

    assert (first.status_code, second.status_code) == (201, 201)
    assert second.content == first.content
    assert second.headers["content-type"] == "application/json"
    assert await how_many(db) == 1


async def test_without_a_key_every_request_is_executed(client: httpx2.AsyncClient, db: Db) -> None:
    for name in ("Payroll", "Ledger"):
        await client.post("/api/applications", json={"name": name})
    await create(client, "Badges")

    assert await how_many(db) == 3


async def test_same_key_with_another_body_is_a_conflict(client: httpx2.AsyncClient, db: Db) -> None:
    await create(client)

    answer = await create(client, "Ledger")

    assert answer.status_code == 409
    assert answer.json() == {
        "error": "conflict",
        "message": "This idempotency key was used with another request; use a new key",
        "correlationId": answer.headers["x-correlation-id"],
    }
    assert await how_many(db) == 1


async def test_same_key_with_another_operation_is_a_conflict(client: httpx2.AsyncClient) -> None:
    await create(client)

    assert (await client.patch("/api/settings", json={"name": "Payroll"}, headers=KEY)).status_code == 409


async def test_error_responses_are_not_stored(client: httpx2.AsyncClient, db: Db) -> None:
    assert (await create(client, "")).status_code == 400

    assert (await create(client)).status_code == 201
    assert await how_many(db) == 1


async def test_two_tokens_can_use_the_same_key(client: httpx2.AsyncClient, db: Db) -> None:
    other = await a_token(db, "other", scopes=["config:manage"])
    await create(client)

    assert (await create(client, "Ledger", Authorization=f"Bearer {other.secret}")).status_code == 201


async def test_concurrent_requests_with_one_key_create_one_record(client: httpx2.AsyncClient, db: Db) -> None:
    answers = await asyncio.gather(*(create(client) for _ in range(8)))

    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert await how_many(db) == 1


async def test_key_can_be_reused_after_a_day(client: httpx2.AsyncClient, db: Db) -> None:
    start = clock.now()
    await create(client)
    clock.travel_to(start + timedelta(hours=23, minutes=59))
    await create(client)
    assert await how_many(db) == 1

    clock.travel_to(start + timedelta(hours=24, minutes=1))
    assert (await create(client, "Ledger")).status_code == 201
    assert (await create(client, "Ledger")).status_code == 201

    assert await how_many(db) == 2


async def test_old_responses_are_deleted(client: httpx2.AsyncClient, db: Db) -> None:
    await create(client)

    assert await delete_old_answers(db, clock.now() + timedelta(hours=23)) == 0
    assert await delete_old_answers(db, clock.now() + timedelta(hours=25)) == 1


@pytest.mark.parametrize("key", [b"", b"x" * 256, b"caf\xe9"])
async def test_invalid_idempotency_key_is_rejected(client: httpx2.AsyncClient, db: Db, key: bytes) -> None:
    client.headers.update({b"Idempotency-Key": key})
    answer = await client.post("/api/applications", json={"name": "Payroll"})

    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"field": "Idempotency-Key", "message": "Idempotency key must be 1 to 255 printable ASCII characters"}
    ]
    assert await how_many(db) == 0


async def test_secret_is_shown_once_and_never_stored(client: httpx2.AsyncClient, db: Db) -> None:
    first = await client.post("/api/tokens", json={"name": "once"}, headers=KEY)
    again = await client.post("/api/tokens", json={"name": "once"}, headers=KEY)

    secret = first.json()["secret"]
    assert (first.status_code, again.status_code) == (201, 409)
    assert again.json()["message"] == (
        "This idempotency key was already used, and the response contained a secret, which is shown only once;"
        " use a new key to get another secret"
    )
    assert secret not in str(await fetch_rows(db, "SELECT * FROM idempotency_keys, tokens"))
