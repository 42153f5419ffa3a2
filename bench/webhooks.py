"""Compare durable deliveries of one worker with a bare aiohttp loop that posts the same bytes without a database.

    python -m bench.webhooks [deliveries] [hooks]

Both run in this process; the receiver has its own process. The database is embedded, with fsync on.
"""

import asyncio
import json
import sys
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from zoneinfo import ZoneInfo

import aiohttp
import msgspec
import structlog
import uvloop

from bench.figures import MISSED, Found, tell
from bench.side_by_side import Comparison, Work, a_database, a_receiver, ask, compare
from rolecall.access_requests.model import NewPrivilege, NewRequest, RequestEvent
from rolecall.applications import actions as applications
from rolecall.core import clock
from rolecall.core.checking import Facts, check
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, fetch_value, make_pool
from rolecall.identities import actions as identities
from rolecall.identities.shapes import NewIdentity
from rolecall.settings.policy import RequestAction
from rolecall.webhooks import actions as webhooks
from rolecall.webhooks.model import IN_FLIGHT_A_HOOK
from rolecall.webhooks.sender import Sender

BAR_OF_BARE, BAR_A_SECOND = 0.25, 300
ROUNDS = 10


class _Receiver(asyncio.Protocol):
    """A receiver that does as little as possible, so that its CPU time hardly slows down the senders."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.pending = transport, b""

    def data_received(self, data: bytes) -> None:
        self.pending += data
        while (end := self.pending.find(b"\r\n\r\n")) >= 0:
            head = self.pending[:end].lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            if len(self.pending) < end + 4 + length:
                return
            self.pending = self.pending[end + 4 + length :]
            self.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")  # type: ignore[attr-defined]


def receive(told: Connection) -> None:
    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(_Receiver, "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(serve())


async def prepare(db: Db, config: Config, url: str, hooks: int) -> NewRequest:
    """Create the hooks, and return the access request that the benchmark creates many times."""
    facts = Facts(now=datetime.now(UTC), zone=ZoneInfo("UTC"))
    application = await applications.create_application(db, {"name": "Payroll"}, facts)
    person = check(NewIdentity, {"firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com"}, facts)
    identity = await identities.create_identity(db, person, facts.now)
    for n in range(hooks):
        hook = {"name": f"Hook {n}", "url": url, "events": [RequestEvent.CREATED]}
        await webhooks.create_hook(db, hook, facts, config)
    return NewRequest(
        action=RequestAction.ADD,
        application_id=application,
        identity_id=identity,
        privileges=[NewPrivilege(header="Ledger", permission=f"Permission {n}") for n in range(5)],
    )


async def post_bare(url: str, body: bytes, count: int, side_by_side: int) -> None:
    left = iter(range(count))
    headers = {"Content-Type": "application/json"}

    async def post(session: aiohttp.ClientSession) -> None:
        for _ in left:
            async with session.post(url, data=body, headers=headers) as answer:
                await answer.read()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(post(session) for _ in range(side_by_side)))


async def deliver(pool: Pool, config: Config) -> None:
    """Run the worker's loop until every delivery has arrived and its result is recorded."""
    waker = asyncio.Event()
    async with Sender(pool, config, waker.set) as sender:
        while True:
            waker.clear()
            await sender.turn(pool, config, clock.now())
            if sender.is_idle:
                break
            await waker.wait()
    async with pool.connection() as db:
        missing = await fetch_value(db, "SELECT count(*) FROM webhook_deliveries WHERE status <> 'Delivered'")
    assert missing == 0, f"{missing} did not arrive"


async def run(config: Config, url: str, count: int, hooks: int) -> Comparison:
    async with make_pool(config) as pool:
        async with pool.connection() as db:
            asked = await prepare(db, config, url, hooks)
            await ask(db, asked, 1)
            body: bytes = await fetch_value(db, "SELECT body FROM webhook_deliveries LIMIT 1")
        work = Work(
            len(body),
            lambda each: post_bare(url, body, each, hooks * IN_FLIGHT_A_HOOK),
            # Each event is delivered to every hook.
            lambda db, each: ask(db, asked, each // hooks),
            lambda: deliver(pool, config),
        )
        return await compare(pool, work, count, ROUNDS)


def main() -> int:
    count, hooks = (int(text) for text in (*sys.argv[1:], "20000", "20")[:2])
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    with a_receiver(receive) as receiver, a_database() as config:
        figures = uvloop.run(run(config, f"http://127.0.0.1:{receiver.recv()}/hook", count, hooks))
    print(json.dumps(msgspec.to_builtins(figures), indent=2))
    held = [
        tell(Found("webhooks", "durable deliveries, relative to a bare HTTP loop", figures.ratio, "×", BAR_OF_BARE)),
        tell(Found("webhooks", "durable deliveries", figures.durable_per_second, "/s", BAR_A_SECOND)),
    ]
    return 0 if all(held) else MISSED


if __name__ == "__main__":
    sys.exit(main())
