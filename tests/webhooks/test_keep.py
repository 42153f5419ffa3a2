"""Test the retention and the metrics of deliveries, and deliveries that are created while a hook is being disabled."""

from collections import Counter
from datetime import timedelta

import httpx2

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from rolecall.webhooks import queries
from rolecall.worker import tick
from tests.builders import an_access_request
from tests.webhooks.receivers import Receiver, accept, answering
from tests.webhooks.sending import Post, a_hook, deliveries


async def test_old_deliveries_are_deleted_unless_they_are_still_to_be_sent(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post, config: Config
) -> None:
    await client.patch("/api/settings", json={"webhookRetentionDays": 30})
    await a_hook(client, receiver.url)
    start = clock.now()
    for days_ago in (31, 29):
        await an_access_request(db, now=start - timedelta(days=days_ago))
    await post.deliver()
    receiver.answer = answering(500)
    await an_access_request(db, now=start - timedelta(days=40))
    await post.deliver()
    waiting, _, young = [made["id"] for made in await deliveries(client)]

    await tick(post.pool, config, start)

    assert {made["id"] for made in await deliveries(client)} == {young, waiting}
    assert (await client.get("/api/webhook-deliveries")).json()["totalCount"] == 2
    assert await fetch_value(db, "SELECT count(*) FROM webhook_attempts") == 2


async def test_retention_is_90_days_by_default_and_at_least_30(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/api/settings")).json()["webhookRetentionDays"] == 90

    answer = await client.patch("/api/settings", json={"webhookRetentionDays": 29})

    assert [(p["field"], p["message"]) for p in answer.json()["errors"]] == [
        ("webhookRetentionDays", "Webhook retention days must be at least 30")
    ]


async def test_metrics_count_waiting_late_and_finished_deliveries(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    statuses = {"slow": 500}
    receiver.answer = lambda request: answering(statuses.get(request.query_string, 204))(request)
    await a_hook(client, f"{receiver.url}?slow", name="Failing")
    await a_hook(client, receiver.url, name="Sound")
    await an_access_request(db)
    await an_access_request(db)
    clock.stop_at(clock.now())
    await post.deliver()
    later = clock.now() + timedelta(minutes=1)

    numbers = await queries.numbers(db, later)

    assert numbers.by_status == {"Pending": 2, "Failed": 0, "Parked": 0}
    assert 54 <= numbers.oldest_due_seconds <= 55
    attempts = Counter[str]()
    for bucket in numbers.lag:
        attempts[bucket.outcome] += bucket.attempts
        assert bucket.seconds <= bucket.attempts * bucket.within
    assert attempts == {"delivered": 2, "status": 2}
    receiver.answer = accept
    await post.deliver_in(timedelta(seconds=7))
    assert (await queries.numbers(db, clock.now())).oldest_due_seconds == 0
    assert sum(bucket.attempts for bucket in (await queries.numbers(db, clock.now())).lag) == 6


async def test_event_during_disabling_is_parked_at_the_next_tick(
    client: httpx2.AsyncClient, db: Db, post: Post, config: Config
) -> None:
    hook = await a_hook(client, "http://127.0.0.1:9/hook")
    async with db.transaction():
        await an_access_request(db)
        # Another connection disables the hook before this one commits.
        await client.patch(f"/api/webhooks/{hook['id']}", json={"enabled": False})
    assert [made["status"] for made in await deliveries(client)] == ["Pending"]

    await post.deliver_in(timedelta(seconds=0))
    await tick(post.pool, config, clock.now())

    (made,) = await deliveries(client)
    assert (made["status"], made["attempts"]) == ("Parked", [])
