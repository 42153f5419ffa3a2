"""Compare notifications of one worker with a bare smtplib loop that sends the same bytes without a database.

    python -m bench.notifications [messages]

Both run in this process; the mail server (aiosmtpd, on loopback) has its own process. The database is embedded, with
fsync on. Each message is one request that waits for its reviewer.
"""

import asyncio
import json
import smtplib
import sys
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import structlog
import uvloop
from aiosmtpd.smtp import SMTP

from bench.figures import MISSED, Found, tell
from bench.side_by_side import Comparison, Work, a_database, a_receiver, ask, compare
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.applications import actions as applications
from rolecall.core import clock
from rolecall.core.checking import Facts, check
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, fetch_value, make_pool
from rolecall.identities import actions as identities
from rolecall.identities.shapes import NewIdentity
from rolecall.notifications import actions
from rolecall.notifications.sender import MessageSender
from rolecall.settings.policy import RequestAction

BAR_OF_BARE, BAR_A_SECOND = 0.2, 200
ROUNDS = 5
SENDER, TO = "rolecall@example.com", "grace@example.com"


class _Accept:
    def __init__(self) -> None:
        self.count, self.last = 0, b""

    async def handle_DATA(self, _: SMTP, __: object, envelope: Any) -> str:  # noqa: N802
        self.count, self.last = self.count + 1, envelope.content
        return "250 OK"


def receive(told: Connection) -> None:
    """Serve SMTP; send the port to `told`, and answer each message on `told` with the mail count and the last mail."""

    async def serve() -> None:
        accept, loop = _Accept(), asyncio.get_running_loop()
        server = await loop.create_server(lambda: SMTP(accept, hostname="bench"), "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])

        def answer() -> None:
            told.recv()
            told.send((accept.count, accept.last))

        loop.add_reader(told.fileno(), answer)
        await server.serve_forever()

    uvloop.run(serve())


async def prepare(db: Db, config: Config, port: int) -> NewRequest:
    """Set up the mail server, and return the access request that the benchmark creates many times."""
    facts = Facts(now=datetime.now(UTC), zone=ZoneInfo("UTC"))
    application = await applications.create_application(db, {"name": "Payroll"}, facts)
    email = {"transport": "SMTP", "host": "127.0.0.1", "port": port, "security": "None", "sender": SENDER}
    async with db.transaction():
        await actions.change_settings(db, None, {"email": email}, facts, config)
    boss = await _person(db, facts, "Grace", TO)
    known = Facts(now=facts.now, zone=facts.zone, identities=frozenset({boss}))
    ada = await _person(db, known, "Ada", "ada@example.com", supervisorId=str(boss))
    return NewRequest(
        action=RequestAction.ADD,
        application_id=application,
        identity_id=ada,
        privileges=[NewPrivilege(header="Ledger", permission=f"Permission {n}") for n in range(5)],
    )


async def _person(db: Db, facts: Facts, name: str, email: str, **others: str) -> UUID:
    fields = {"firstName": name, "lastName": "Number", "email": email, **others}
    return await identities.create_identity(db, check(NewIdentity, fields, facts), facts.now)


async def send_bare(port: int, content: bytes, count: int) -> None:
    with smtplib.SMTP("127.0.0.1", port) as client:
        for _ in range(count):
            client.sendmail(SENDER, [TO], content)


async def send(pool: Pool, config: Config) -> None:
    """Run the worker's loop until every message is sent and its result is recorded."""
    waker = asyncio.Event()
    async with MessageSender(pool, config, waker.set) as sender:
        while True:
            waker.clear()
            more = await sender.turn(pool, config, clock.now())
            if sender.is_idle and not more:
                break
            if not more:
                await waker.wait()
    async with pool.connection() as db:
        missing = await fetch_value(db, "SELECT count(*) FROM notifications WHERE status <> 'Sent'")
    assert missing == 0, f"{missing} were not sent"


async def run(config: Config, count: int, received: Connection) -> Comparison:
    port = received.recv()
    async with make_pool(config) as pool:
        async with pool.connection() as db:
            asked = await prepare(db, config, port)
            await ask(db, asked, 1)
        await send(pool, config)
        received.send(True)
        before, content = received.recv()
        work = Work(
            len(content),
            lambda each: send_bare(port, content, each),
            lambda db, each: ask(db, asked, each),
            lambda: send(pool, config),
        )
        figures = await compare(pool, work, count, ROUNDS)
    received.send(True)
    assert received.recv()[0] - before == 2 * (count // ROUNDS) * (ROUNDS + 1)
    return figures


def main() -> int:
    count = int((*sys.argv[1:], "5000")[0])
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    with a_receiver(receive) as receiver, a_database() as config:
        figures = uvloop.run(run(config, count, receiver))
    print(json.dumps(msgspec.to_builtins(figures), indent=2))
    held = [
        tell(Found("notifications", "messages, relative to a bare smtplib loop", figures.ratio, "×", BAR_OF_BARE)),
        tell(Found("notifications", "messages", figures.durable_per_second, "/s", BAR_A_SECOND)),
    ]
    return 0 if all(held) else MISSED


if __name__ == "__main__":
    sys.exit(main())
