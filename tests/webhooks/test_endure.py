"""Send to many receivers, some of them faulty, and kill workers.

Each delivery arrives, and is repeated only after an unknown outcome. `ROLECALL_DELIVERIES=2000` sends more, a hundred
per second, and checks the lag; `ROLECALL_WORKER_KILLS` sets the number of kills.
"""

import asyncio
import os
import random
import signal
import statistics
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import msgspec
import pytest
from aiohttp import web

from rolecall.access_requests import creation
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.core import clock
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.settings.policy import RequestAction
from tests.builders import an_application, an_identity
from tests.figures import measured
from tests.webhooks.receivers import Receiver, receiving
from tests.webhooks.sending import Post, a_hook

DELIVERIES = int(os.environ.get("ROLECALL_DELIVERIES", "240"))
KILLS = int(os.environ.get("ROLECALL_WORKER_KILLS", "2"))
LONG = DELIVERIES >= 2000
RECEIVERS = 20
SECONDS = DELIVERIES / (100 if LONG else 40)
AT_ONCE = 10
FAULTS = ["fails", "hangs", "is slow", "redirects", "hangs up", "hangs up late"]
LEASE = timedelta(seconds=46)


class Arrival(msgspec.Struct, frozen=True):
    body: bytes
    at: datetime
    answered: bool


class Faulty:
    """A receiver that misbehaves as `fault` says until `healed` is set; without a fault, it is healthy."""

    def __init__(self, receiver: Receiver, fault: str | None) -> None:
        self.receiver, self.fault = receiver, fault
        self.healed = asyncio.Event()
        self.arrivals: dict[str, list[Arrival]] = defaultdict(list)
        receiver.answer = self.answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        received = self.receiver.received[-1]
        sound = self.fault is None or self.healed.is_set()
        answered = sound or self.fault in ("hangs", "is slow")
        self.arrivals[received.id].append(Arrival(received.body, datetime.now(UTC), answered))
        return web.Response(status=204) if sound else await self.misbehave(request)

    async def misbehave(self, request: web.Request) -> web.StreamResponse:
        assert request.transport
        match self.fault:
            case "fails":
                return web.Response(status=random.choice([500, 502, 429]))
            case "redirects":
                return web.Response(status=302, headers={"Location": self.receiver.url})
            case "hangs up":
                request.transport.abort()
            case "hangs up late":
                request.transport.write(b"HTTP/1.1 20")
                request.transport.close()
            case "hangs":
                await self.healed.wait()
            case _:
                await asyncio.sleep(2)
        return web.Response(status=204)


class Worker:
    def __init__(self, config: Config) -> None:
        self.settings = {
            "ROLECALL_DATABASE_URL": config.database_url or "",
            "ROLECALL_DATA_DIR": str(config.data_dir),
            "ROLECALL_BASE_URL": config.base_url,
            "ROLECALL_WEBHOOK_ALLOW": "127.0.0.0/8",
        }

    async def start(self) -> None:
        self.running = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "rolecall", "worker", env={**os.environ, **self.settings},
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip

    async def kill(self) -> None:
        self.running.send_signal(signal.SIGKILL)
        await self.running.wait()


async def ask(db: Db, applications: list[Any], identity: Any) -> None:
    privileges = [NewPrivilege(header="Ledger", permission="Post entries")]
    chosen = random.sample(applications, AT_ONCE)
    requests = [
        NewRequest(action=RequestAction.ADD, application_id=id, identity_id=identity, privileges=privileges)
        for id in chosen
    ]
    async with db.transaction():
        await creation.create_requests(db, SYSTEM, requests, clock.now())


async def all_delivered(db: Db, sound: list[str]) -> bool:
    """Return whether healthy receivers got all deliveries, except those that a killed worker leased over 4 s ago."""
    waiting = await fetch_value(
        db,
        """SELECT count(*) FROM webhook_deliveries d JOIN webhooks h ON h.id = d.webhook_id
           WHERE d.status <> 'Delivered' AND h.name = ANY(%(names)s)
             AND (d.lease IS NULL OR d.next_attempt_on > %(now)s + interval '41 seconds')""",
        names=sound,
        now=clock.now(),
    )
    return bool(waiting == 0)


async def both_live(db: Db) -> bool:
    return bool(await fetch_value(db, "SELECT count(*) FROM heartbeats") == 2)


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(90):
        while not await true():  # noqa: ASYNC110
            await asyncio.sleep(0.1)


@pytest.mark.timeout(900 + DELIVERIES)
async def test_every_delivery_arrives_and_repeats_only_after_unknown_outcomes(
    client: httpx2.AsyncClient, db: Db, config: Config, post: Post
) -> None:
    async with AsyncExitStack() as stack:
        faults = [FAULTS[n] if n < len(FAULTS) else None for n in range(RECEIVERS)]
        receivers = [Faulty(await stack.enter_async_context(receiving()), fault) for fault in faults]
        applications = [await an_application(db, f"Application {n}") for n in range(RECEIVERS)]
        hooks = [
            await a_hook(client, each.receiver.url, name=f"Hook {n}", applicationId=str(applications[n]))
            for n, each in enumerate(receivers)
        ]
        sound = [hook["name"] for hook, fault in zip(hooks, faults, strict=True) if fault is None]
        identity = await an_identity(db)
        workers = [Worker(config), Worker(config)]
        for worker in workers:
            await worker.start()
        await until(lambda: both_live(db))

        rounds = DELIVERIES // AT_ONCE
        kills = [rounds * (n + 1) // (KILLS + 1) for n in range(KILLS)]
        started = asyncio.get_running_loop().time()
        for round in range(rounds):
            await ask(db, applications, identity)
            if round in kills:
                # Kill a worker while it sends the new deliveries.
                await asyncio.sleep(random.uniform(0, 0.05))
                worker = workers[kills.index(round) % 2]
                await worker.kill()
                await worker.start()
            await asyncio.sleep(max(0, started + (round + 1) * SECONDS / rounds - asyncio.get_running_loop().time()))

        await until(lambda: all_delivered(db, sound))
        for worker in workers:
            await worker.kill()
        for each in receivers:
            each.healed.set()
        clock.travel_to(clock.now() + LEASE)
        for hook in hooks:
            answer = await client.post(f"/api/webhooks/{hook['id']}/recover", json={"since": "2020-01-01"})
            assert answer.status_code == 200
        await post.deliver()

        await check(db, receivers, sound)
        await the_check_would_notice(db, receivers, sound)


async def the_check_would_notice(db: Db, receivers: list[Faulty], sound: list[str]) -> None:
    """Test that `check` fails for a needless duplicate and for a missing delivery."""
    arrivals = receivers[-1].arrivals
    id = await fetch_value(
        db,
        "SELECT id::text FROM webhook_deliveries WHERE attempt_count = 1 AND id = ANY(%(ids)s::uuid[])",
        ids=list(arrivals),
    )
    for history in ([*arrivals[id], *arrivals[id]], []):
        arrivals[id] = history
        with pytest.raises(AssertionError):
            await check(db, receivers, sound)


async def check(db: Db, receivers: list[Faulty], sound: list[str]) -> None:
    rows = await fetch_rows(
        db,
        """SELECT d.id::text, d.status, d.body, h.name, d.created_date, array_agg(a.outcome ORDER BY a.number)
           FROM webhook_deliveries d JOIN webhooks h ON h.id = d.webhook_id
           JOIN webhook_attempts a ON a.delivery_id = d.id GROUP BY d.id, h.name""",
    )
    assert len(rows) == DELIVERIES
    lags, unknown = [], 0
    for id, status, body, hook, created, outcomes in rows:
        arrivals = receivers[int(hook.removeprefix("Hook "))].arrivals[id]
        assert status == "Delivered"
        assert [arrival for arrival in arrivals if arrival.answered]
        assert {arrival.body for arrival in arrivals} == {body}
        # After a timeout or a lost connection, the receiver may have accepted the delivery nevertheless.
        doubtful = [outcome for outcome in outcomes if outcome in ("unknown", "timeout", "connect")]
        assert len([arrival for arrival in arrivals if arrival.answered]) <= 1 + len(doubtful)
        unknown += "unknown" in outcomes
        if hook in sound:
            assert set(outcomes) <= {"delivered", "unknown"}
            lags.append((arrivals[0].at - created).total_seconds())
    assert sum(len(each.arrivals) for each in receivers) == DELIVERIES
    p99 = statistics.quantiles(lags, n=100)[98]
    measured(
        f"{DELIVERIES:,} deliveries, {KILLS} kills: all delivered, {unknown} of unknown outcome; "
        f"healthy receivers' lag: median {statistics.median(lags):.3f} s, p99 {p99:.3f} s, most {max(lags):.3f} s"
    )
    if LONG:
        assert p99 < 3
