"""Test that no database connection is held during a DNS lookup, which can take seconds."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx2
import msgspec
import pytest

from rolecall.core import address_check
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from tests.webhooks.sending import EVENTS, a_hook

SLOW = "https://slow.example.com/"
Send = Callable[[httpx2.AsyncClient, str], Awaitable[httpx2.Response]]
SENDS: dict[str, Send] = {
    "create": lambda client, _: client.post("/api/webhooks", json={"name": "Slow", "url": SLOW, "events": EVENTS}),
    "change": lambda client, hook: client.patch(f"/api/webhooks/{hook}", json={"url": SLOW}),
    "test": lambda client, hook: client.post(f"/api/webhooks/{hook}/test"),
    "apply": lambda client, _: client.put(
        "/api/configuration", json={"webhooks": [{"name": "Slow", "url": SLOW, "events": EVENTS}]}
    ),
}


class Nameserver:
    """A fake resolver that blocks for the slow name until the test releases it."""

    def __init__(self) -> None:
        self.is_asked, self.may_answer = threading.Event(), threading.Event()

    def look_up(self, host: str, port: Any, *rest: Any) -> Any:
        if host in SLOW:
            self.is_asked.set()
            self.may_answer.wait(60)
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("93.184.216.34", 0))]


@pytest.fixture
def nameserver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Nameserver]:
    server = Nameserver()
    monkeypatch.setattr(socket, "getaddrinfo", server.look_up)
    monkeypatch.setattr(address_check, "_LOOKUP_TAKES", 60)
    yield server
    server.may_answer.set()


@pytest.fixture
def config(config: Config) -> Config:
    """Use a pool of one connection, so that holding it blocks every other request."""
    return msgspec.structs.replace(config, pool_size=1)


@pytest.mark.parametrize("verb", SENDS)
async def test_slow_dns_lookup_holds_no_database_connection(
    client: httpx2.AsyncClient, db: Db, nameserver: Nameserver, verb: str
) -> None:
    hook = await a_hook(client, "https://hooks.example.com/")
    if verb == "test":
        await execute(db, "UPDATE webhooks SET url = %(url)s WHERE id = %(id)s", url=SLOW, id=hook["id"])
    sending = asyncio.ensure_future(SENDS[verb](client, hook["id"]))
    assert await asyncio.to_thread(nameserver.is_asked.wait, 30)

    meanwhile = await client.get("/api/webhooks")
    nameserver.may_answer.set()

    assert meanwhile.status_code == 200
    assert (await sending).is_success
