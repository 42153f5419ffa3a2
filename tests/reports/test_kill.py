"""Kill a worker with SIGKILL while it writes a report."""

import asyncio
import hashlib
import json
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from tests.asgi import serving
from tests.builders import an_identity
from tests.cli.commands import environment
from tests.reports.reporting import a_report, visible

POINTS = ("report.before-rename", "report.after-rename", "report.before-commit", "report.after-commit")


@asynccontextmanager
async def a_worker(config: Config, faults: Path) -> AsyncIterator[Process]:
    settings = {
        "ROLECALL_DATABASE_URL": config.database_url or "",
        "ROLECALL_REPORT_ROOTS": ",".join(config.report_roots),
        "ROLECALL_DATA_DIR": str(config.data_dir),
        "ROLECALL_TICK_SECONDS": "1",
        "ROLECALL_FAULTS": str(faults),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "rolecall", "worker", env=environment(**settings), stdout=DEVNULL, stderr=DEVNULL
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.parametrize("point", POINTS)
async def test_killed_worker_leaves_no_partial_file_and_another_worker_writes_the_report(
    db: Db, config: Config, token: str, tmp_path: Path, point: str
) -> None:
    folder, faults = tmp_path / "reports", tmp_path / "faults"
    for each in (folder, faults):
        each.mkdir()
    config = replace(config, report_roots=(str(folder),))
    await an_identity(db, "Ada", "Lovelace")
    async with serving(config) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        schedule = {"cron": "0 6 1 1 *", "location": str(folder)}
        report = await a_report(client, columns=["lastName"], schedule=schedule)
        await client.post(f"/api/reports/{report['id']}/write")
        (faults / point).touch()

        async with a_worker(config, faults) as killed, asyncio.timeout(120):
            assert await killed.wait() == -signal.SIGKILL
        _whole_or_absent(folder)
        async with a_worker(config, faults), asyncio.timeout(120):
            while await fetch_value(db, "SELECT status FROM exports") != "Finished":  # noqa: ASYNC110
                await asyncio.sleep(0.1)

        [run] = (await client.get(f"/api/reports/{report['id']}/runs")).json()["items"]
    assert len(visible(folder)) == 2
    assert _whole_or_absent(folder) == run["sha256"]


def _whole_or_absent(folder: Path) -> str | None:
    """Check that a report file, if there is one, is complete and has its manifest; return its digest or None."""
    for file in folder.glob("people-*.csv"):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        assert json.loads(file.with_name(f"{file.name}.manifest.json").read_text())["sha256"] == digest
        assert file.read_text() == "lastName\nLovelace\n"
        return digest
    return None
