"""Run two hundred connections for a long time; test that no request causes a server error and memory does not grow."""

import asyncio
import itertools
import os
import random
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.access_requests.walking import a_cast
from tests.battery.service import Whole, a_whole_service
from tests.builders import an_application
from tests.figures import measured
from tests.personnel_events.bodies import day

SECONDS = float(os.environ.get("ROLECALL_SOAK_SECONDS", "60"))
CONNECTIONS = 200
# Requests per second of all connections together, low enough not to saturate the machine.
REQUESTS_A_SECOND = 150
READS = [
    "/api/identities",
    "/api/identities?page=3",
    "/api/access-requests?status=open",
    "/api/applications",
    "/sign-in",
]
# The time until caches, pools and prepared statements are warm.
WARM_SECONDS = min(120.0, SECONDS / 2)
WINDOW_SECONDS = 300.0
# The limit for long runs; a short run mostly measures the warm-up.
MOST_GROWTH_PERCENT = 1.0 if SECONDS - WARM_SECONDS >= WINDOW_SECONDS else 5.0


def memory(pid: int) -> int:
    """Return the private memory of a process in bytes."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private")) * 1024


def growth_percent(samples: list[tuple[float, int]]) -> float:
    """Return the growth of memory in percent over five minutes, or over a shorter run, by linear regression."""
    times, sizes = [time for time, _ in samples], [size for _, size in samples]
    slope = statistics.linear_regression(times, sizes).slope
    return slope * min(WINDOW_SECONDS, times[-1] - times[0]) / statistics.mean(sizes) * 100


async def keep_asking(service: Whole, ids: tuple[str, str], stop: float, answers: Counter[int]) -> None:
    numbers, rest = itertools.count(), CONNECTIONS / REQUESTS_A_SECOND
    headers = {"Authorization": f"Bearer {service.token}"}
    application, identity = ids
    async with aiohttp.ClientSession(service.running.url, headers=headers) as session:
        await asyncio.sleep(random.uniform(0, rest))
        while time.monotonic() < stop:
            match random.randrange(10):
                case 0:
                    body: dict[str, Any] = {"identity": {"firstName": "Ada", "lastName": f"Byron {next(numbers)}"}}
                    asked = session.post("/api/personnel-events/onboard", json={**body, "effectiveDate": day(30)})
                case 1:
                    wanted = [{"header": "Ledger", "permission": "Post"}]
                    body = {"action": "Add", "applicationId": application, "identityId": identity}
                    asked = session.post("/api/access-requests", json={**body, "privileges": wanted})
                case 2:
                    asked = session.post("/api/tokens", data=b"{" * random.randrange(2000))
                case _:
                    asked = session.get(random.choice(READS))
            async with asked as answer:
                await answer.read()
                answers[answer.status] += 1
            await asyncio.sleep(rest * random.uniform(0.5, 1.5))


@pytest.mark.timeout(int(SECONDS) + 900)
async def test_memory_does_not_grow_under_two_hundred_connections(tmp_path: Path) -> None:
    answers = Counter[int]()
    with a_whole_service(tmp_path / "here", "--workers", "1") as service:
        async with service.db() as db:
            ids = str(await an_application(db)), (await a_cast(db)).ada
        processes = service.processes()
        watched = {"API": processes.api[0], "worker": processes.worker[0]}
        samples: dict[str, list[tuple[float, int]]] = {name: [] for name in watched}
        started = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(CONNECTIONS):
                tasks.create_task(keep_asking(service, ids, started + SECONDS, answers))
            await asyncio.sleep(WARM_SECONDS)
            while time.monotonic() < started + SECONDS:
                for name, pid in watched.items():
                    samples[name].append((time.monotonic(), memory(pid)))
                await asyncio.sleep(1)
        assert service.processes() == processes
        assert not service.crashes(), service.crashes()[:3]
    growth = {name: growth_percent(found) for name, found in samples.items()}
    spoken = ", ".join(f"{name} {samples[name][-1][1] / 2**20:.0f} MiB, {growth[name]:+.2f} %" for name in watched)
    window = min(WINDOW_SECONDS, SECONDS - WARM_SECONDS)
    measured(
        f"{SECONDS:.0f} s, {CONNECTIONS} connections, {answers.total():,} requests: "
        f"{answers[500]} answers of 500; memory and its growth in {window:.0f} s: {spoken}"
    )
    assert not [status for status in answers if status >= 500]
    assert max(growth.values()) < MOST_GROWTH_PERCENT
