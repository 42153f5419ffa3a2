from uuid import uuid4

import httpx2

from rolecall.core.db import Db, execute
from rolecall.core.heartbeat import beat


async def test_healthz_is_200_while_the_process_runs(anonymous: httpx2.AsyncClient) -> None:
    answer = await anonymous.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


async def test_service_is_ready_only_if_a_worker_runs(anonymous: httpx2.AsyncClient, db: Db) -> None:
    without = await anonymous.get("/readyz")
    await beat(db, uuid4())
    with_one = await anonymous.get("/readyz")
    await execute(db, "UPDATE heartbeats SET beaten_at = now() - interval '1 minute'")
    with_a_dead_one = await anonymous.get("/readyz")

    assert (without.status_code, without.headers["retry-after"]) == (503, "1")
    assert (without.json()["error"], without.json()["message"]) == ("unavailable", "Not ready: no worker is running")
    assert (with_one.status_code, with_one.json()) == (200, {"status": "ready"})
    assert with_a_dead_one.status_code == 503


async def test_service_is_ready_only_with_the_current_schema(anonymous: httpx2.AsyncClient, db: Db) -> None:
    await beat(db, uuid4())
    try:
        await execute(db, "UPDATE migrations SET name = 'x' || name WHERE name = '0011_heartbeat.sql'")
        answer = await anonymous.get("/readyz")
    finally:
        await execute(db, "UPDATE migrations SET name = substr(name, 2) WHERE name = 'x0011_heartbeat.sql'")

    assert answer.status_code == 503
    assert answer.json()["message"] == "Not ready: the database is older than this program; run `rolecall migrate`"
