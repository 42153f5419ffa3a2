"""Kill or cut off each host of a cluster under load, and promote the replica when the primary is lost."""

import asyncio
import itertools
import os
import random
import statistics
import time
from pathlib import Path

import fsspec
import pytest

from tests.battery.cluster import NUMBERS, Cluster
from tests.battery.crew import EXPORT, Crew
from tests.battery.hosts import NETWORK
from tests.figures import measured
from tests.webhooks.receivers import receiving

FAULTS = int(os.environ.get("ROLECALL_HOST_FAULTS", "10"))
READY_WITHIN_SECONDS = float(os.environ.get("ROLECALL_READY_WITHIN_SECONDS", "10"))
# Each host is killed in some turns and cut off in others. The store is only cut off, because it keeps files in memory.
EACH_IN_TURN = (
    ("api-1", "kill"), ("worker-2", "cut"), ("primary", "kill"), ("pooler", "kill"), ("store", "cut"),
    ("api-2", "cut"), ("replica", "kill"), ("worker-1", "kill"), ("primary", "cut"), ("balancer", "kill"),
    ("api-2", "kill"), ("worker-1", "cut"), ("primary", "kill"), ("pooler", "cut"), ("store", "cut"),
    ("api-1", "cut"), ("replica", "cut"), ("worker-2", "kill"), ("primary", "cut"), ("balancer", "cut"),
)  # fmt: skip
# The shortest and the longest time that a host is down, in seconds. A host may be cut off for longer than the timeouts
# of the other hosts.
AWAY = {"kill": (0.2, 2), "cut": (1, 12)}
EXPORTED = "s3://rolecall/exports/users.csv"


class Trial:
    def __init__(self, cluster: Cluster, crew: Crew[Cluster]) -> None:
        self.cluster, self.crew = cluster, crew
        self.promotions: list[float] = []
        self.repairs: list[float] = []

    async def fail(self, name: str, how: str, away: float) -> None:
        """Kill or cut off a host, do what its operator would do, and wait until every host works again."""
        cluster = self.cluster
        print(f"{how} {name}", end=" ", flush=True)
        host = {"primary": cluster.primary, "replica": cluster.replica}.get(name, name)
        await asyncio.to_thread(getattr(cluster.network, how), host)
        if name == "primary":
            await self._promote()
        else:
            await asyncio.sleep(away)
            if name == "replica":
                await asyncio.to_thread(cluster.alone)
            started = time.monotonic()
            await asyncio.to_thread(cluster.reboot if how == "kill" else cluster.network.mend, host)
            if name == "replica":
                await asyncio.to_thread(cluster.together)
            await cluster.wait_until(cluster.is_whole, f"the cluster after {how} of {name}")
            self.repairs.append(time.monotonic() - started)

    async def _promote(self) -> None:
        started = time.monotonic()
        await asyncio.to_thread(self.cluster.promote)
        await self.crew.hire_surely()
        await self.cluster.wait_until(self.cluster.is_ready, "the cluster after a promotion")
        self.promotions.append(time.monotonic() - started)
        await asyncio.to_thread(self.cluster.rejoin)
        await self.cluster.wait_until(self.cluster.is_whole, "the cluster with its new replica")


@pytest.mark.timeout(7200)
async def test_failing_hosts_lose_no_acknowledged_write_and_repeat_none(tmp_path: Path) -> None:
    chance = random.Random()
    cluster = Cluster(tmp_path)
    with cluster.running():
        fsspec.filesystem("s3").pipe_file(EXPORTED, EXPORT)
        async with receiving() as receiver:
            receiver.url = receiver.url.replace("127.0.0.1", f"{NETWORK}.{NUMBERS['clients']}")
            async with cluster.client() as client, cluster.db() as db:
                crew = Crew(cluster, client, receiver)
                await crew.set_up(db, EXPORTED, EXPORT)
            trial = Trial(cluster, crew)
            async with cluster.client() as crew.client, crew.at_work():
                for name, how in itertools.islice(itertools.cycle(EACH_IN_TURN), FAULTS):
                    await asyncio.sleep(chance.uniform(0.1, 1))
                    await trial.fail(name, how, chance.uniform(*AWAY[how]))
            async with cluster.db() as db:
                await crew.finished(db)
                figures = await crew.check(db)
            await asyncio.to_thread(cluster.rolecall, "audit", "verify")
    measured(
        f"{FAULTS} faults, {len(trial.promotions)} of them with a promotion; {figures}; {outages_of(crew)}; "
        f"ready again after a promotion in {spread(trial.promotions)}; "
        f"whole again after another fault in {spread(trial.repairs)}"
    )
    assert not cluster.crashes(), cluster.crashes()[:3]
    assert max(trial.promotions, default=0) < READY_WITHIN_SECONDS


def outages_of(crew: Crew[Cluster]) -> str:
    counts = ", ".join(f"{count:,} × {status}" for status, count in sorted(crew.outages.items()))
    return f"clients were told to try again {counts or 'never'}"


def spread(times: list[float]) -> str:
    return f"{statistics.median(times):.1f} s (median), at most {max(times):.1f} s" if times else "0 s"
