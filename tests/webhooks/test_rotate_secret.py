from datetime import timedelta

import httpx2
import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.core.sealing import new_key
from tests.builders import an_access_request
from tests.webhooks.receivers import Receiver
from tests.webhooks.sending import Post, a_hook


def verifies(secret: str, receiver: Receiver) -> bool:
    received = receiver.received[-1]
    try:
        Webhook(secret).verify(received.body, received.headers)
    except WebhookVerificationError:
        return False
    return True


async def test_old_secret_also_signs_for_a_day(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)

    answer = await client.post(f"/api/webhooks/{hook['id']}/rotate-secret")

    rotated = answer.json()
    assert answer.status_code == 200
    assert rotated["secret"] != hook["secret"]
    assert rotated["previousSecretExpiresOn"] is not None
    assert "secret" not in (await client.get(f"/api/webhooks/{hook['id']}")).json()
    await an_access_request(db)
    await post.deliver()
    assert verifies(rotated["secret"], receiver)
    assert verifies(hook["secret"], receiver)
    assert receiver.received[-1].headers["webhook-signature"].count("v1,") == 2


async def test_after_a_day_only_the_new_secret_signs(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    now = clock.now()
    hook = await a_hook(client, receiver.url)
    clock.travel_to(now - timedelta(hours=24, seconds=1))
    rotated = (await client.post(f"/api/webhooks/{hook['id']}/rotate-secret")).json()

    clock.travel_home()
    await an_access_request(db)
    await post.deliver()

    assert verifies(rotated["secret"], receiver)
    assert not verifies(hook["secret"], receiver)


async def test_second_rotation_keeps_the_last_two_secrets(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)
    second = (await client.post(f"/api/webhooks/{hook['id']}/rotate-secret")).json()["secret"]
    third = (await client.post(f"/api/webhooks/{hook['id']}/rotate-secret")).json()["secret"]

    await an_access_request(db)
    await post.deliver()

    assert [verifies(secret, receiver) for secret in (hook["secret"], second, third)] == [False, True, True]


async def test_secret_whose_key_was_lost_is_discarded(
    client: httpx2.AsyncClient, db: Db, config: Config, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)
    (config.data_dir / "secret.key").write_text(new_key())

    rotated = (await client.post(f"/api/webhooks/{hook['id']}/rotate-secret")).json()

    assert rotated["previousSecretExpiresOn"] is None
    await an_access_request(db)
    await post.deliver()
    assert verifies(rotated["secret"], receiver)
    assert receiver.received[-1].headers["webhook-signature"].count("v1,") == 1


async def test_new_secret_signs_alone_if_the_old_one_cannot_be_decrypted(
    client: httpx2.AsyncClient, db: Db, receiver: Receiver, post: Post
) -> None:
    hook = await a_hook(client, receiver.url)
    rotated = (await client.post(f"/api/webhooks/{hook['id']}/rotate-secret")).json()
    await execute(db, "UPDATE webhooks SET previous_secret = '\\x00' || previous_secret")

    await an_access_request(db)
    await post.deliver()

    assert verifies(rotated["secret"], receiver)
    assert not verifies(hook["secret"], receiver)


@pytest.mark.parametrize("verb", ["rotate-secret", "test"])
async def test_actions_on_a_webhook_need_no_body(client: httpx2.AsyncClient, verb: str) -> None:
    hook = await a_hook(client, "http://127.0.0.1:9/hook")

    assert (await client.post(f"/api/webhooks/{hook['id']}/{verb}")).status_code == 200
