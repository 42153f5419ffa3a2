import httpx2

from rolecall.core.db import Db
from tests.builders import an_access_request, an_application
from tests.webhooks.receivers import Receiver, answering
from tests.webhooks.sending import Post, a_hook, deliveries, delivery


async def test_only_given_fields_change(client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db)
    hook = await a_hook(client, "http://127.0.0.1:9/hook", applicationId=str(application))
    path = f"/api/webhooks/{hook.pop('id')}"
    del hook["secret"]

    renamed = (await client.patch(path, json={"name": "Desk"})).json()
    assert {**hook, "name": "Desk"}.items() <= renamed.items()
    moved = (await client.patch(path, json={"url": "http://127.0.0.2/x", "events": ["AccessRequestCanceled"]})).json()
    assert (moved["url"], moved["events"]) == ("http://127.0.0.2/x", ["AccessRequestCanceled"])
    assert moved["applicationId"] == str(application)
    assert (await client.patch(path, json={"applicationId": None})).json()["applicationId"] is None
    assert (await client.get(path)).json()["name"] == "Desk"


async def test_changed_fields_are_validated_like_those_of_a_new_hook(client: httpx2.AsyncClient) -> None:
    await a_hook(client, "http://127.0.0.1:9/hook", name="Other")
    hook = await a_hook(client, "http://127.0.0.1:9/hook")

    for change, field, message in [
        ({"url": "https://[::1]/"}, "url", "URL must not point to a private, local or other special address"),
        ({"name": ""}, "name", "Name must not be blank"),
        ({"name": "Other"}, "name", "A webhook named Other already exists; choose another name"),
        ({"events": []}, "events", "Events must have at least 1 entry"),
    ]:
        answer = await client.patch(f"/api/webhooks/{hook['id']}", json=change)
        assert [(p["field"], p["message"]) for p in answer.json()["errors"]] == [(field, message)]


async def test_disabling_parks_waiting_deliveries(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)
    await an_access_request(db)

    answer = await client.patch(f"/api/webhooks/{hook['id']}", json={"enabled": False})
    await an_access_request(db)
    await post.deliver()

    assert answer.json()["enabled"] is False
    assert receiver.received == []
    (parked,) = await deliveries(client)
    assert (parked["status"], parked["nextAttemptOn"], parked["attempts"]) == ("Parked", None, [])


async def test_enabling_delivers_new_events_and_leaves_parked_deliveries(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    receiver.answer = answering(410)
    hook = await a_hook(client, receiver.url)
    await an_access_request(db)
    await post.deliver()
    receiver.answer = answering(200)

    enabled = (await client.patch(f"/api/webhooks/{hook['id']}", json={"enabled": True})).json()
    await an_access_request(db)
    await post.deliver()

    assert (enabled["enabled"], enabled["disabledReason"], enabled["failingSince"]) == (True, None, None)
    assert [made["status"] for made in await deliveries(client)] == ["Parked", "Delivered"]


async def test_a_new_url_is_used_from_the_next_attempt(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, "http://127.0.0.1:1/hook")
    await an_access_request(db)
    await post.deliver()
    (made,) = await deliveries(client)

    await client.patch(f"/api/webhooks/{hook['id']}", json={"url": receiver.url})
    await client.post(f"/api/webhook-deliveries/{made['id']}/resend")
    await post.deliver()

    assert [attempt["outcome"] for attempt in (await delivery(client, made["id"]))["attempts"]] == [
        "connect",
        "delivered",
    ]


async def test_deliveries_of_a_deleted_webhook_can_be_read(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)
    await an_access_request(db)

    answer = await client.delete(f"/api/webhooks/{hook['id']}")
    await an_access_request(db)
    await post.deliver()

    assert (answer.status_code, answer.content) == (204, b"")
    assert (await client.get("/api/webhooks")).json()["totalCount"] == 0
    assert receiver.received == []
    (parked,) = await deliveries(client)
    assert parked["status"] == "Parked"
    assert (await client.post(f"/api/webhook-deliveries/{parked['id']}/resend")).status_code == 409
    callback = await client.post(
        f"/webhooks/callback/{parked['id']}", content="done", headers={"content-type": "text/plain"}
    )
    assert callback.status_code == 404
