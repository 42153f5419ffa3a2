import json
from datetime import timedelta
from typing import Any

import httpx2

from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from tests.builders import an_access_request
from tests.webhooks.receivers import Receiver, answering
from tests.webhooks.sending import Post, a_hook, deliveries, delivery


async def test_testing_a_hook_sends_a_sample_once_and_returns_its_delivery(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)

    answer = await client.post(f"/api/webhooks/{hook['id']}/test")
    await post.deliver()

    assert answer.status_code == 200
    made = answer.json()
    assert (made["status"], made["event"], made["accessRequestId"]) == ("Pending", "WebhookTest", None)
    assert (await delivery(client, made["id"]))["attempts"][0]["outcome"] == "delivered"
    body = json.loads(receiver.received[0].body)
    assert body["event"]["name"] == "WebhookTest"
    assert body["event"]["display"] == "Webhook Test"
    (real,) = await deliveries(client, accessRequestId=str(await an_access_request(db, metadata=[("a", "b")])))
    assert outline(body) == outline(real["body"])


def outline(value: Any) -> Any:
    """Return the names of all fields in order."""
    match value:
        case dict():
            return [(name, outline(inner)) for name, inner in value.items()]
        case [first, *_]:
            return [outline(first)]
    return None


async def test_a_disabled_hook_can_be_tested(client: httpx2.AsyncClient, receiver: Receiver, post: Post) -> None:
    hook = await a_hook(client, receiver.url, enabled=False)

    await client.post(f"/api/webhooks/{hook['id']}/test")
    await post.deliver()

    assert receiver.events == ["WebhookTest"]


async def test_failed_test_is_not_retried(client: httpx2.AsyncClient, receiver: Receiver, post: Post) -> None:
    receiver.answer = answering(500)
    hook = await a_hook(client, receiver.url)

    made = (await client.post(f"/api/webhooks/{hook['id']}/test")).json()
    await post.deliver()
    await post.deliver_in(timedelta(days=1))

    assert (await delivery(client, made["id"]))["status"] == "Failed"
    assert len(receiver.received) == 1


async def test_receiver_can_call_back_after_a_test(client: httpx2.AsyncClient) -> None:
    hook = await a_hook(client, "http://127.0.0.1:9/hook")
    made = (await client.post(f"/api/webhooks/{hook['id']}/test")).json()

    answer = await client.post(
        f"/webhooks/callback/{made['id']}", content="I hear you", headers={"content-type": "text/plain"}
    )

    assert answer.status_code == 204
    assert [each["content"] for each in (await delivery(client, made["id"]))["callbacks"]] == ["I hear you"]


async def test_testing_a_forbidden_address_is_rejected_at_once(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    hook = await a_hook(client, "http://127.0.0.1:9/hook")
    await execute(db, "UPDATE webhooks SET url = 'http://10.0.0.1/hook'")

    answer = await client.post(f"/api/webhooks/{hook['id']}/test")

    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"field": "url", "message": "URL must not point to a private, local or other special address"}
    ]
