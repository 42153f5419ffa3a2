"""Test leases, order and limits when concurrent workers claim deliveries."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest
from aiohttp import web

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, make_pool
from rolecall.webhooks import outbox
from rolecall.webhooks.model import (
    FAILURES_UNTIL_PROBED,
    IN_FLIGHT_A_HOOK,
    KEPT_FOR_OTHERS,
    AttemptOutcome,
    AttemptResult,
    Claim,
)
from rolecall.webhooks.outbox import EndedAttempt
from rolecall.webhooks.sender import Sender
from tests.builders import an_access_request
from tests.webhooks.receivers import Receiver, accept, answering
from tests.webhooks.sending import Post, a_hook, deliveries, delivery, outcomes


async def claim(db: Db, limit: int = 100) -> list[Claim]:
    """Claim deliveries, like a worker that dies before it sends them."""
    async with db.transaction():
        now = clock.now()
        return await outbox.claim(db, await outbox.lock_due_hooks(db, now), limit, now)


async def claimed_by_hook(db: Db, limit: int) -> Counter[str]:
    names: dict[UUID, str] = dict(await fetch_rows(db, "SELECT id, name FROM webhooks"))
    return Counter(names[each.webhook_id] for each in await claim(db, limit))


async def a_backlog(client: httpx2.AsyncClient, db: Db, name: str, due: int) -> None:
    """Create a webhook with this many due deliveries."""
    hook = await a_hook(client, "http://127.0.0.1:9/hook", name=name)
    await execute(
        db,
        """INSERT INTO webhook_deliveries (id, webhook_id, event, status, body, created_date, next_attempt_on)
           SELECT gen_random_uuid(), %(hook)s, 'WebhookTest', 'Pending', '', %(now)s, %(now)s
           FROM generate_series(1, %(due)s)""",
        hook=hook["id"],
        due=due,
        now=clock.now() - timedelta(hours=1),
    )


async def test_attempt_is_recorded_before_it_is_sent(client: httpx2.AsyncClient, db: Db) -> None:
    await a_hook(client, "http://127.0.0.1:9/hook")
    await an_access_request(db)

    (claimed,) = await claim(db)

    (attempt,) = (await delivery(client, claimed.id))["attempts"]
    assert (attempt["number"], attempt["endedOn"], attempt["outcome"]) == (1, None, None)


async def test_delivery_of_a_dead_worker_is_sent_after_its_lease_expires(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    await a_hook(client, receiver.url)
    await an_access_request(db)
    (claimed,) = await claim(db)

    await post.deliver_in(timedelta(seconds=44))
    assert receiver.received == []
    await post.deliver_in(timedelta(seconds=2))

    assert await outcomes(client, claimed.id) == ["unknown", "delivered"]
    assert [received.id for received in receiver.received] == [str(claimed.id)]


async def test_late_result_is_ignored_if_another_worker_took_over(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    await a_hook(client, receiver.url)
    await an_access_request(db)
    (claimed,) = await claim(db)
    await post.deliver_in(timedelta(seconds=46))
    before = await delivery(client, claimed.id)

    late = EndedAttempt(claimed, AttemptResult(AttemptOutcome.STATUS, 500, "late"), clock.now())
    async with db.transaction():
        await outbox.record_results(db, [late], clock.now())

    assert await delivery(client, claimed.id) == before


async def test_late_result_is_recorded_if_no_other_worker_took_over(client: httpx2.AsyncClient, db: Db) -> None:
    await a_hook(client, "http://127.0.0.1:9/hook")
    await an_access_request(db)
    (claimed,) = await claim(db)
    clock.travel_to(clock.now() + timedelta(minutes=5))

    async with db.transaction():
        await outbox.record_results(
            db, [EndedAttempt(claimed, AttemptResult(AttemptOutcome.DELIVERED, 200, ""), clock.now())], clock.now()
        )

    assert (await delivery(client, claimed.id))["status"] == "Delivered"


async def test_next_turn_records_the_results_of_a_failed_transaction_without_sending_again(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    await a_hook(client, receiver.url)
    await an_access_request(db)
    async with Sender(post.pool, post.config, lambda: None) as sender:
        await sender.turn(post.pool, post.config, clock.now())
        await execute(db, "ALTER TABLE webhook_tallies RENAME TO away")
        try:
            with pytest.raises(Exception, match="webhook_tallies"):
                await sender.rest()
        finally:
            await execute(db, "ALTER TABLE away RENAME TO webhook_tallies")
        await sender.turn(post.pool, post.config, clock.now())

    (made,) = await deliveries(client)
    assert (made["status"], made["attemptCount"]) == ("Delivered", 1)
    assert len(receiver.received) == 1


async def test_events_of_one_request_are_first_sent_in_order(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    receiver.answer = answering(500)
    await a_hook(client, receiver.url)
    async with db.transaction():
        await an_access_request(db, "Remove")
    await an_access_request(db, "Add")

    claimed = await claim(db)
    assert [claim_event for (claim_event,) in await events_of(db, claimed)] == ["AccessRequestCreated"] * 2
    assert await claim(db) == []
    async with db.transaction():
        ended = [EndedAttempt(each, AttemptResult(AttemptOutcome.STATUS, 500), clock.now()) for each in claimed]
        await outbox.record_results(db, ended, clock.now())
    await post.deliver()

    assert receiver.events == ["AccessRequestApproved", "AccessRequestProvisioning"]


async def events_of(db: Db, claims: list[Claim]) -> list[Any]:
    ids = [each.id for each in claims]
    return await fetch_rows(db, "SELECT event FROM webhook_deliveries WHERE id = ANY(%(ids)s)", ids=ids)


async def test_failed_event_does_not_block_the_next(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    statuses = [500, 200, 200, 200]
    receiver.answer = lambda _: _status(statuses.pop(0))
    await a_hook(client, receiver.url)
    async with db.transaction():
        await an_access_request(db, "Remove")

    await post.deliver()
    await post.deliver_in(timedelta(seconds=6))

    assert receiver.events == [
        "AccessRequestCreated",
        "AccessRequestApproved",
        "AccessRequestProvisioning",
        "AccessRequestCreated",
    ]


async def _status(status: int) -> web.StreamResponse:
    return web.Response(status=status)


async def test_at_most_eight_deliveries_of_a_webhook_are_in_flight(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, config: Config
) -> None:
    in_flight, most = 0, 0

    async def count(_: web.Request) -> web.StreamResponse:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0.01)
        in_flight -= 1
        return web.Response()

    receiver.answer = count
    await a_hook(client, receiver.url)
    for _ in range(60):
        await an_access_request(db)

    async def work() -> None:
        async with make_pool(config) as pool, Sender(pool, config, lambda: None) as sender:
            while len(receiver.received) < 60:
                await sender.turn(pool, config, clock.now())
                await asyncio.sleep(0)

    await asyncio.gather(work(), work(), work())

    assert most <= 8
    assert len({received.id for received in receiver.received}) == len(receiver.received) == 60
    page = (await client.get("/api/webhook-deliveries", params={"status": "Delivered"})).json()
    assert page["totalCount"] == 60


async def test_webhooks_take_turns_despite_a_large_backlog(client: httpx2.AsyncClient, db: Db) -> None:
    await a_backlog(client, db, "Huge", 5000)
    for name in ("One", "Two", "Three"):
        await a_backlog(client, db, name, 3)

    assert await claimed_by_hook(db, 4) == {"Huge": 1, "One": 1, "Two": 1, "Three": 1}
    # In addition to the reserved slots there is room for eight deliveries: the second and third of each webhook.
    assert await claimed_by_hook(db, KEPT_FOR_OTHERS + 8) == {"Huge": 2, "One": 2, "Two": 2, "Three": 2}


async def test_reserved_slots_go_to_webhooks_with_none_in_flight(client: httpx2.AsyncClient, db: Db) -> None:
    await a_backlog(client, db, "Huge", 5000)
    assert await claimed_by_hook(db, KEPT_FOR_OTHERS + 3) == {"Huge": 3}

    assert await claimed_by_hook(db, KEPT_FOR_OTHERS) == {}
    await a_backlog(client, db, "Other", 5)
    assert await claimed_by_hook(db, KEPT_FOR_OTHERS) == {"Other": 1}
    assert await claimed_by_hook(db, KEPT_FOR_OTHERS) == {}
    assert await claimed_by_hook(db, 2 * KEPT_FOR_OTHERS) == {"Huge": IN_FLIGHT_A_HOOK - 3, "Other": 4}


async def test_failing_webhook_gets_no_reserved_slot(client: httpx2.AsyncClient, db: Db) -> None:
    await a_backlog(client, db, "Dead", 50)
    await a_backlog(client, db, "Sound", 50)
    await execute(db, "UPDATE webhooks SET failures = %(n)s WHERE name = 'Dead'", n=FAILURES_UNTIL_PROBED)

    assert await claimed_by_hook(db, KEPT_FOR_OTHERS) == {"Sound": 1}
    assert await claimed_by_hook(db, KEPT_FOR_OTHERS + 1) == {"Dead": 1}


async def test_slot_of_a_dead_worker_is_freed_after_the_attempt_timeout(client: httpx2.AsyncClient, db: Db) -> None:
    await a_hook(client, "http://127.0.0.1:9/hook")
    for _ in range(20):
        await an_access_request(db)
    start = clock.now()
    clock.stop_at(start)
    held = await claim(db)

    clock.stop_at(start + timedelta(seconds=16))
    assert await claim(db) == []
    clock.stop_at(start + timedelta(seconds=18))
    others = await claim(db)

    assert len(held) == len(others) == 8
    assert not {each.id for each in held} & {each.id for each in others}


async def test_failing_receiver_gets_one_attempt_at_a_time_until_it_succeeds(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    receiver.answer = answering(500)
    await a_hook(client, receiver.url)
    for _ in range(FAILURES_UNTIL_PROBED):
        await an_access_request(db)
    await post.deliver()
    receiver.answer = accept
    clock.travel_to(clock.now() + timedelta(seconds=6))

    (probe,) = await claim(db)
    async with db.transaction():
        await outbox.record_results(
            db, [EndedAttempt(probe, AttemptResult(AttemptOutcome.DELIVERED, 200), clock.now())], clock.now()
        )

    assert len(await claim(db)) == 8


async def test_hanging_receiver_does_not_delay_others(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    released = asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        if request.query:
            await released.wait()
        return web.Response()

    receiver.answer = hang
    await a_hook(client, f"{receiver.url}?slow", name="Slow")
    await a_hook(client, receiver.url, name="Fast")
    for _ in range(20):
        await an_access_request(db)

    woken = asyncio.Event()
    async with Sender(post.pool, post.config, woken.set) as sender:
        async with asyncio.timeout(60):
            while len(receiver.received) < 20 + 8:
                woken.clear()
                await sender.turn(post.pool, post.config, clock.now())
                await woken.wait()
        released.set()

    assert len(receiver.received) == 28


async def test_delivery_parked_in_flight_stays_parked_unless_delivered(client: httpx2.AsyncClient, db: Db) -> None:
    hook = await a_hook(client, "http://127.0.0.1:9/hook")
    await an_access_request(db)
    await an_access_request(db)
    one, other = await claim(db)
    await client.patch(f"/api/webhooks/{hook['id']}", json={"enabled": False})

    async with db.transaction():
        ended = [
            EndedAttempt(one, AttemptResult(AttemptOutcome.TIMEOUT), clock.now()),
            EndedAttempt(other, AttemptResult(AttemptOutcome.DELIVERED, 200), clock.now()),
        ]
        await outbox.record_results(db, ended, clock.now())

    assert (await delivery(client, one.id))["status"] == "Parked"
    assert (await delivery(client, other.id))["status"] == "Delivered"


async def test_resend_does_not_affect_a_delivery_in_flight(client: httpx2.AsyncClient, db: Db) -> None:
    await a_hook(client, "http://127.0.0.1:9/hook")
    await an_access_request(db)
    (claimed,) = await claim(db)

    assert (await client.post(f"/api/webhook-deliveries/{claimed.id}/resend")).status_code == 200

    assert await claim(db) == []


async def test_unreadable_secret_stops_only_its_webhook(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = await a_hook(client, receiver.url, name="Broken")
    await a_hook(client, receiver.url, name="Sound")
    await execute(db, "UPDATE webhooks SET secret = '\\x00' || secret WHERE id = %(id)s", id=broken["id"])
    await an_access_request(db)

    async with Sender(post.pool, post.config, lambda: None) as sender:
        await sender.turn(post.pool, post.config, clock.now())

    assert len(receiver.received) == 1
    (waiting,) = await deliveries(client, webhookId=broken["id"])
    assert (waiting["status"], waiting["attempts"]) == ("Pending", [])
    assert "cannot be decrypted" in capsys.readouterr().out
