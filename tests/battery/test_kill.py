"""API, worker and database killed under load, each time at a moment of chance."""

import asyncio
import os
import random
import statistics
from collections import defaultdict
from pathlib import Path

import pytest

from tests.battery.crew import Crew
from tests.battery.service import LATER, a_whole_service
from tests.figures import measured
from tests.webhooks.receivers import receiving

CYCLES = int(os.environ.get("ROLECALL_KILL_CYCLES", "20"))
ROLES = ("api", "worker", "database")
# More only where the machine has other work to do.
BACK_WITHIN_SECONDS = float(os.environ.get("ROLECALL_BACK_WITHIN_SECONDS", "3"))


@pytest.mark.timeout(7200)
async def test_nothing_acknowledged_is_lost_and_nothing_happens_twice(tmp_path: Path) -> None:
    chance = random.Random()
    took = defaultdict[str, list[float]](list)
    settings = {"ROLECALL_WEBHOOK_ALLOW": "127.0.0.0/8", "ROLECALL_IMPORT_ROOTS": str(tmp_path)}
    async with receiving() as receiver:
        with a_whole_service(tmp_path / "here", "--workers", "1", **settings) as service:
            async with service.client() as client, service.db() as db:
                crew = Crew(service, client, receiver)
                await crew.set_up(db, tmp_path)
            async with service.client() as crew.client, crew.at_work():
                for cycle in range(CYCLES):
                    await asyncio.sleep(chance.uniform(0.1, 1.0))
                    role = ROLES[cycle % len(ROLES)]
                    took[role].append(await service.kill(role))
            crashes = service.crashes()
        with a_whole_service(tmp_path / "here", "--workers", "1", **settings, **LATER) as crew.service:
            async with crew.service.db() as db:
                await crew.settled(db)
                figures = await crew.check(db, tmp_path / "here" / "files")
    assert not crashes, crashes[:3]
    times = [seconds for each in took.values() for seconds in each]
    slowest = ", ".join(f"{role} {max(took[role]):.1f} s" for role in ROLES)
    measured(f"{CYCLES} kills; {figures}; ready again in {statistics.median(times):.1f} s (median), at most: {slowest}")
    assert max(times) < BACK_WITHIN_SECONDS
