"""Kill a process at each fault point during work. The points are read from the code, so that none is missing."""

import asyncio
import os
import re
import signal
import statistics
import time
from pathlib import Path

import pytest

from tests.battery.crew import under_work
from tests.battery.service import Whole
from tests.battery.test_kill import held_to_the_goal
from tests.cli.commands import REPOSITORY, rolecall
from tests.figures import measured

TIMES = int(os.environ.get("ROLECALL_FAULT_TIMES", "1"))
CHOSEN = re.compile(os.environ.get("ROLECALL_FAULT_POINTS", ""))
PATIENCE_SECONDS = 240
# Fault points that a process reaches only while a service starts.
MIGRATING = ("migration.before-commit", "migration.after-commit", "schema.before-commit", "schema.after-commit")
AT_THE_START = {*MIGRATING, "key.before-sync", "key.after-sync"}
# Fault points that a child of the worker reaches; the worker survives.
OF_A_CHILD = {"import-build.before-commit", "import-build.after-commit"}
# Fault points that `rolecall restore` reaches; tests/operate/test_backup.py covers them.
OF_A_COMMAND = {f"restore.{step}" for step in ("old-set-aside", "database-in-place", "before-commit", "after-commit")}
# Fault points that only a download reaches; the clients of this test download nothing.
OF_A_DOWNLOAD = {"export.before-commit", "export.after-commit"}
# Fault points that a scheduled report reaches; tests/reports/test_kill.py covers them.
OF_A_REPORT = {"report.before-rename", "report.after-rename", "report.before-commit", "report.after-commit"}
# Fault points that a carrier reaches; tests/carriers/test_endure.py covers them.
OF_A_CARRIER = {"carrier.before-send", "carrier.after-send"}
# Fault points that a push of an identity provider reaches; tests/scim_server/test_kill.py covers them.
OF_A_PUSH = {f"{name}.{moment}-commit" for name in ("scim", "pushes") for moment in ("before", "after")}
# Fault points that a worker reaches when it stops.
AT_THE_END = {"deliveries-rest.before-commit", "deliveries-rest.after-commit"}
ELSEWHERE = OF_A_COMMAND | OF_A_DOWNLOAD | OF_A_REPORT | OF_A_CARRIER | OF_A_PUSH


def points() -> set[str]:
    found = set[str]()
    for file in (REPOSITORY / "rolecall").rglob("*.py"):
        if file.parent.name == "demo":
            continue
        text = file.read_text()
        found.update(re.findall(r'fault\("([a-z.-]+)"\)', text))
        for name in re.findall(r'(?:transaction|written_by)\(\s*[a-z_.]+,\s*"([a-z-]+)"', text):
            found |= {f"{name}.before-commit", f"{name}.after-commit"}
    return found


async def die_at(service: Whole, folder: Path, point: str) -> float:
    """Make a process die at the fault point; return the seconds until the service has recovered."""
    before, known = await asyncio.to_thread(service.processes), await service.workers()
    armed = folder / point
    armed.touch()
    if point in AT_THE_END:
        os.kill(before.worker[0], signal.SIGTERM)
    give_up = time.monotonic() + PATIENCE_SECONDS
    while armed.exists():
        assert time.monotonic() < give_up, f"no process reached {point}"
        await asyncio.sleep(0.005)
    died = time.monotonic()
    return 0.0 if point in OF_A_CHILD else await service.back(before, known, died)


@pytest.mark.timeout(7200)
async def test_crash_at_each_fault_point_loses_and_repeats_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "faults"
    folder.mkdir()
    settings = {"ROLECALL_TICK_SECONDS": "1", "ROLECALL_FAULTS": str(folder)}
    for point in MIGRATING:
        (folder / point).touch()
        assert rolecall("migrate", "--data-dir", tmp_path / "here", **settings).returncode == -signal.SIGKILL
    for point in ("key.before-sync", "key.after-sync"):
        (folder / point).touch()
    took = dict[str, float]()
    async with under_work(tmp_path, **settings) as crew:
        assert not list(folder.iterdir())
        for point in sorted(filter(CHOSEN.match, points() - AT_THE_START - ELSEWHERE)) * TIMES:
            took[point] = max(await die_at(crew.service, folder, point), took.get(point, 0))
    assert took
    slowest = max(took, key=lambda point: took[point])
    usually = statistics.median(took.values())
    measured(
        f"{len(took) + len(AT_THE_START)} points × {TIMES}; {crew.figures}; ready again in {usually:.1f} s (median), "
        f"at most {took[slowest]:.1f} s ({slowest})"
    )
    held_to_the_goal(took.values())
