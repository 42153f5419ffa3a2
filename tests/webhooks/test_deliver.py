import json
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from rolecall.access_requests.model import CONDITIONS
from rolecall.core import clock
from rolecall.core.db import Db, execute, fetch_value
from tests.builders import an_access_request, an_identity
from tests.contract.tables import EVENTS
from tests.webhooks.receivers import Receiver
from tests.webhooks.sending import Post, a_hook, deliveries, delivery


async def test_delivery_matches_the_specification(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    await a_hook(client, receiver.url)
    request = await an_access_request(db)
    detail = (await client.get(f"/api/access-requests/{request}")).json()

    await post.deliver()

    (received,) = receiver.received
    body = json.loads(received.body)
    assert list(body) == ["id", "createdDate", "callback", "event"]
    assert list(body["event"]) == ["name", "display", "description", "request"]
    assert body["callback"] == f"http://rolecall.test/webhooks/callback/{body['id']}"
    assert body["createdDate"].endswith("Z")
    assert {name: body["event"][name] for name in ("name", "display", "description")} == {
        "name": "AccessRequestCreated",
        "display": "Access Request Created",
        "description": "An access request is created",
    }
    assert json.dumps(body["event"]["request"]) == json.dumps(detail)
    assert (detail["status"], detail["assignee"], detail["comments"], len(detail["activity"])) == (
        "Pending",
        None,
        [],
        1,
    )
    assert received.headers["content-type"] == "application/json"
    assert received.headers["accept-encoding"] == "identity"
    assert "authorization" not in received.headers


async def test_event_names_and_texts_match_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    await a_hook(client, "http://127.0.0.1:9/hook")
    request = await an_access_request(db)
    await execute(db, "DELETE FROM webhook_deliveries")
    await execute(
        db,
        """INSERT INTO access_request_events
               (request_id, application_id, name, created_at, caller_id, caller_name, request)
           SELECT request_id, application_id, unnest(%(names)s::text[]), '2026-12-01T00:00:00Z', caller_id, caller_name,
                  '{"a": "é"}'
           FROM access_request_events WHERE request_id = %(id)s""",
        id=request,
        names=list(EVENTS),
    )

    expected = dict(EVENTS)
    for made in await deliveries(client):
        sent = await fetch_value(db, "SELECT body FROM webhook_deliveries WHERE id = %(id)s", id=made["id"])
        display, description = expected.pop(made["event"])
        assert sent.decode() == (
            f'{{"id":"{made["id"]}","createdDate":"2026-12-01T00:00:00Z",'
            f'"callback":"http://rolecall.test/webhooks/callback/{made["id"]}",'
            f'"event":{{"name":"{made["event"]}","display":"{display}","description":"{description}",'
            f'"request":{{"a": "é"}}}}}}'
        )
        assert CONDITIONS[made["event"]] == description
    assert expected == {}


async def test_payload_has_its_own_identity_types(client: httpx2.AsyncClient, db: Db) -> None:
    words = {
        "Employee": "Employee",
        "ServiceAccount": "ServiceAccount",
        "Vendor": "VendorAccount",
        "Client": "VendorAccount",
        "Shared": "Bot",
        "Mailbox": "Bot",
        "Temporary": "Employee",
    }
    await a_hook(client, "http://127.0.0.1:9/hook")
    for type in words:
        await an_access_request(db, identity_id=await an_identity(db, identityType=type))

    requests = [made["body"]["event"]["request"] for made in await deliveries(client)]

    assert [request["target"]["affectedIdentity"]["type"] for request in requests] == list(words.values())


async def test_deliveries_are_verified_by_the_library_standardwebhooks(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)
    await an_access_request(db, comment="Überprüft ✓")
    await post.deliver()
    (received,) = receiver.received

    verifier = Webhook(hook["secret"])

    assert verifier.verify(received.body, received.headers)["id"] == received.id
    with pytest.raises(WebhookVerificationError):
        verifier.verify(received.body.replace(b"Pending", b"Granted"), received.headers)
    with pytest.raises(WebhookVerificationError):
        verifier.verify(received.body, {**received.headers, "webhook-id": "another"})
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + "A" * 43 + "=").verify(received.body, received.headers)


async def test_old_timestamp_is_rejected_by_the_library_standardwebhooks(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)
    clock.travel_to(clock.now() - timedelta(minutes=6))
    await an_access_request(db, now=clock.now())
    await post.deliver()
    (received,) = receiver.received

    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(hook["secret"]).verify(received.body, received.headers)


async def test_each_attempt_has_a_new_signature_and_the_same_id(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)
    await an_access_request(db)
    await post.deliver()
    (made,) = await deliveries(client)

    clock.travel_to(clock.now() + timedelta(minutes=2))
    await client.post(f"/api/webhook-deliveries/{made['id']}/resend")
    await post.deliver()

    first, second = receiver.received
    assert first.id == second.id == made["id"]
    assert first.body == second.body
    assert int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) >= 120
    Webhook(hook["secret"]).verify(second.body, second.headers)


async def test_stored_body_does_not_change_when_the_person_or_the_base_url_changes(
    client: httpx2.AsyncClient, db: Db
) -> None:
    await a_hook(client, "http://127.0.0.1:9/hook")
    ada = await an_identity(db, "Ada", "Lovelace")
    await an_access_request(db, identity_id=ada)
    (before,) = await deliveries(client)

    await execute(db, "UPDATE identities SET last_name = 'Byron' WHERE id = %(id)s", id=ada)
    await execute(db, "SELECT set_config('rolecall.base_url', 'https://elsewhere.example', false)")

    assert (await delivery(client, before["id"]))["body"] == before["body"]


async def test_response_is_stored_as_text_up_to_its_limit(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    answers: list[Any] = [b"<b>ok</b> \xff \x00 \x1b[31m", b"x" * 200_000, b""]
    receiver.answer = lambda _: _answer(answers.pop(0))
    await a_hook(client, receiver.url)
    for _ in range(3):
        await an_access_request(db)
        await post.deliver()

    first, second, third = [made["attempts"][0] for made in await deliveries(client)]

    assert first["response"] == "<b>ok</b> \ufffd \ufffd \x1b[31m"
    assert second["response"] == "x" * 16 * 1024
    assert third["response"] == ""
    assert {attempt["outcome"] for attempt in (first, second, third)} == {"delivered"}
    assert {attempt["statusCode"] for attempt in (first, second, third)} == {200}


async def _answer(body: bytes) -> Any:
    from aiohttp import web

    return web.Response(body=body)
