from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2

from rolecall.core import clock
from rolecall.core.db import Db
from rolecall.core.dialing import retry_after
from rolecall.webhooks.model import SCHEDULE
from tests.builders import an_access_request
from tests.webhooks.receivers import Receiver, accept, answering
from tests.webhooks.sending import Post, a_hook, deliveries, delivery, outcomes

WAITS = [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600]


async def test_delivery_fails_after_ten_attempts_on_the_schedule(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    receiver.answer = answering(500, "broken")
    await a_hook(client, receiver.url)
    await an_access_request(db)
    clock.stop_at(clock.now())
    await post.deliver()

    for number, wait in enumerate(WAITS, start=1):
        (made,) = await deliveries(client)
        assert (made["status"], made["attemptCount"]) == ("Pending", number)
        ended = datetime.fromisoformat(made["attempts"][-1]["endedOn"])
        next = datetime.fromisoformat(made["nextAttemptOn"])
        assert timedelta(seconds=wait) <= next - ended <= timedelta(seconds=wait * 1.2 + 0.001)
        clock.stop_at(next - timedelta(seconds=1))
        await post.deliver()
        assert len(receiver.received) == number
        clock.stop_at(next)
        await post.deliver()

    (made,) = await deliveries(client)
    assert (made["status"], made["attemptCount"], made["nextAttemptOn"]) == ("Failed", 10, None)
    assert {(a["outcome"], a["statusCode"], a["response"]) for a in made["attempts"]} == {("status", 500, "broken")}
    assert [a["number"] for a in made["attempts"]] == list(range(1, 11))
    assert len(SCHEDULE) == 10
    await post.deliver_in(timedelta(days=30))
    assert len(receiver.received) == 10


async def test_status_other_than_2xx_is_retried(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    statuses = [301, 302, 307, 400, 401, 404, 429, 500, 503]
    receiver.answer = lambda request: answering(int(request.query_string), Location=receiver.url)(request)
    for status in statuses:
        await a_hook(client, f"{receiver.url}?{status}", name=f"Hook {status}")
    await an_access_request(db)
    await post.deliver()
    receiver.answer = accept

    await post.deliver_in(timedelta(seconds=6))

    for status, made in zip(statuses, await deliveries(client), strict=True):
        assert [(a["outcome"], a["statusCode"]) for a in made["attempts"]] == [("status", status), ("delivered", 204)]
        assert made["status"] == "Delivered"
    assert len(receiver.received) == 2 * len(statuses)


async def test_retry_after_delays_the_next_attempt(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    asked = {"120": 120, "1": 5, "999999999": 24 * 3600, "soon": 5}
    receiver.answer = lambda request: answering(503, **{"Retry-After": request.query_string})(request)
    for text in asked:
        await a_hook(client, f"{receiver.url}?{text}", name=f"Hook {text}")
    await an_access_request(db)

    await post.deliver()

    for waits, made in zip(asked.values(), await deliveries(client), strict=True):
        waited = datetime.fromisoformat(made["nextAttemptOn"]) - datetime.fromisoformat(made["attempts"][0]["endedOn"])
        assert timedelta(seconds=waits) <= waited <= timedelta(seconds=max(waits, 6) + 1)


def test_retry_after_accepts_a_date() -> None:
    now = datetime(2035, 5, 1, 8, tzinfo=UTC)
    clock.stop_at(now)

    later = format_datetime(now + timedelta(minutes=10), usegmt=True)
    assert retry_after(later) == timedelta(minutes=10)
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == timedelta(0)
    for nonsense in ("", "-5", "٣", "1.5", "Wed, 99 Oct 9999 07:28:00 GMT", "x" * 1000):
        assert retry_after(nonsense) == timedelta(0)


async def test_status_410_disables_the_webhook_and_parks_its_deliveries(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    receiver.answer = answering(500)
    hook = await a_hook(client, receiver.url)
    await an_access_request(db)
    await post.deliver()
    receiver.answer = answering(410)
    await an_access_request(db)

    await post.deliver()
    await an_access_request(db)
    await post.deliver_in(timedelta(days=1))

    shown = (await client.get(f"/api/webhooks/{hook['id']}")).json()
    assert (shown["enabled"], shown["disabledReason"]) == (False, "Gone")
    assert [(made["status"], made["attemptCount"]) for made in await deliveries(client)] == [
        ("Parked", 1),
        ("Parked", 1),
        ("Parked", 0),
    ]
    assert len(receiver.received) == 2


async def test_webhook_is_disabled_after_five_days_of_failures(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    receiver.answer = answering(500)
    hook = await a_hook(client, receiver.url)
    start = clock.now()
    for day in range(6):
        clock.travel_to(start + timedelta(days=day, minutes=day))
        await an_access_request(db, now=clock.now())
        assert (await client.get(f"/api/webhooks/{hook['id']}")).json()["enabled"] is True
        await post.deliver()

    shown = (await client.get(f"/api/webhooks/{hook['id']}")).json()
    assert (shown["enabled"], shown["disabledReason"]) == (False, "Failing")
    assert shown["failingSince"] is not None
    assert "Pending" not in {made["status"] for made in await deliveries(client)}


async def test_success_restarts_the_five_days_until_a_webhook_is_disabled(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)
    start = clock.now()
    for day, status in enumerate([500, 500, 500, 200, 500, 500, 500, 500]):
        receiver.answer = answering(status)
        clock.travel_to(start + timedelta(days=day, hours=1))
        await an_access_request(db, now=clock.now())
        await post.deliver()

    assert (await client.get(f"/api/webhooks/{hook['id']}")).json()["enabled"] is True


async def test_failed_delivery_can_be_resent_with_its_id_and_a_new_schedule(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    receiver.answer = answering(500)
    await a_hook(client, receiver.url)
    await an_access_request(db)
    for wait in (0, *WAITS):
        await post.deliver_in(timedelta(seconds=1.2 * wait + 1))
    (failed,) = await deliveries(client)
    assert failed["status"] == "Failed"

    answer = await client.post(f"/api/webhook-deliveries/{failed['id']}/resend")
    assert answer.status_code == 200
    assert answer.json()["status"] == "Pending"
    await post.deliver()
    receiver.answer = accept
    await post.deliver_in(timedelta(seconds=6))

    made = await delivery(client, failed["id"])
    assert (made["status"], made["attemptCount"]) == ("Delivered", 12)
    assert {received.id for received in receiver.received} == {failed["id"]}


async def test_recovery_resends_deliveries_since_a_time(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)
    start = clock.now()
    receiver.answer = answering(500)
    await an_access_request(db, now=start - timedelta(days=2))
    await an_access_request(db, now=start)
    await post.deliver()
    receiver.answer = accept
    await an_access_request(db, now=start + timedelta(seconds=1))
    clock.travel_to(start + timedelta(seconds=2))
    await post.deliver()
    await client.patch(f"/api/webhooks/{hook['id']}", json={"enabled": False})

    disabled = await client.post(f"/api/webhooks/{hook['id']}/recover", json={"since": "2026-01-01"})
    assert disabled.status_code == 409
    await client.patch(f"/api/webhooks/{hook['id']}", json={"enabled": True})
    since = (start - timedelta(days=1)).isoformat()
    answer = await client.post(f"/api/webhooks/{hook['id']}/recover", json={"since": since})
    await post.deliver()

    assert answer.status_code == 200
    assert answer.json()["id"] == hook["id"]
    assert [made["status"] for made in await deliveries(client)] == ["Parked", "Delivered", "Delivered"]
    assert [len(made["attempts"]) for made in await deliveries(client)] == [1, 2, 1]


async def test_recovery_needs_a_start_time(client: httpx2.AsyncClient) -> None:
    hook = await a_hook(client, "http://127.0.0.1:9/hook")

    for body, message in [
        ({}, "Since is required"),
        ({"since": "yesterday"}, "Since must be an ISO 8601 date or date-time"),
    ]:
        answer = await client.post(f"/api/webhooks/{hook['id']}/recover", json=body)
        assert [(p["field"], p["message"]) for p in answer.json()["errors"]] == [("since", message)]


async def test_a_waiting_delivery_can_be_sent_at_once(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    receiver.answer = answering(500)
    await a_hook(client, receiver.url)
    await an_access_request(db)
    await post.deliver()
    (made,) = await deliveries(client)
    receiver.answer = accept

    await client.post(f"/api/webhook-deliveries/{made['id']}/resend")
    await post.deliver()

    assert await outcomes(client, made["id"]) == ["status", "delivered"]
