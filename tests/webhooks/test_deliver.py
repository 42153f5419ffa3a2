import json

import httpx2

from rolecall.core.db import Db
from tests.builders import an_access_request
from tests.webhooks.receivers import Receiver
from tests.webhooks.sending import Post, a_hook, deliveries


async def test_an_event_arrives_as_the_specification_says(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)
    request = await an_access_request(db)

    await post.deliver()

    (received,) = receiver.received
    (made,) = await deliveries(client)
    body = json.loads(received.body)
    assert list(body) == ["id", "createdDate", "callback", "event"]
    assert body["callback"] == f"http://rolecall.test/webhooks/callback/{body['id']}"
    assert body["event"]["name"] == "AccessRequestCreated"
    print(hook, made, request)
