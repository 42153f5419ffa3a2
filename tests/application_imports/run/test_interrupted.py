"""Test imports that are canceled or interrupted, and builds that crash or hang."""

import asyncio
import itertools
import os
import random
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.application_imports.run import child
from rolecall.application_imports.run import next_import as running
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows, fetch_value, make_pool
from tests.application_imports.running import Files, Imports
from tests.builders import an_application
from tests.figures import measured

ROWS = int(os.environ.get("ROLECALL_KILL_ROWS", "20000"))
KILLS = int(os.environ.get("ROLECALL_KILLS", "3"))


def files(mark: str = "") -> Files:
    accounts = ROWS // 10
    users = [f"user{n},Name {n}{mark},user{n}@x.test,centre {n}" for n in range(accounts)]
    held = [f"user{n % accounts},Ledger,Books,Permission {n // accounts},Grant,value{mark}" for n in range(ROWS)]
    return {
        "Users": "\n".join(["Username,Name,Email,Cost Centre", *users]),
        "Permissions": "\n".join(["Username,Header,Section,Permission,Access,Value", *held]),
    }


async def a_worker(config: Config, **variables: str) -> Process:
    environ = {
        **os.environ,
        **variables,
        "ROLECALL_DATABASE_URL": str(config.database_url),
        "ROLECALL_DATA_DIR": str(config.data_dir),
        "ROLECALL_TICK_SECONDS": "1",
    }
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "rolecall", "worker", env=environ, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
    )


async def content_of(db: Db, application: UUID) -> object:
    accounts = await fetch_rows(
        db,
        """SELECT a.username, v.name, v.from_import, v.until_import FROM accounts a JOIN account_versions v
           ON v.account_number = a.number WHERE a.application_id = %(id)s ORDER BY 1, 3""",
        id=application,
    )
    held = await fetch_rows(
        db,
        """SELECT a.username, p.permission, s.access::text, s.value, s.from_import, s.until_import
           FROM assignments s JOIN accounts a ON a.number = s.holder_number
           JOIN permissions p ON p.number = s.permission_number WHERE a.application_id = %(id)s ORDER BY 1, 2, 5""",
        id=application,
    )
    return accounts, held


async def until(db: Db, id: str, *statuses: str) -> str:
    while True:
        status = await fetch_value(db, "SELECT status FROM application_imports WHERE id = %(id)s", id=id)
        if status in statuses:
            return str(status)
        await asyncio.sleep(0.02)


@pytest.mark.timeout(1800)
async def test_worker_killed_at_any_moment_leaves_all_or_nothing(imports: Imports, config: Config, db: Db) -> None:
    chance = random.Random(4)
    application = await an_application(db, guard={"minCount": 1_000_000_000})
    await imports.finish(application, files())
    before = await content_of(db, application)
    for turn in range(KILLS):
        run = await imports.upload(application, files(f" {turn}"))
        worker = await a_worker(config)
        await until(db, run["id"], "Running", "Finished")
        await asyncio.sleep(chance.random() * 2.5)
        worker.send_signal(signal.SIGKILL)
        await worker.wait()
        halfway = await content_of(db, application)
        if await until(db, run["id"], "Running", "Finished") == "Running":
            assert halfway == before
        await imports.work()
        # The child of a dead worker may outlive it for a moment and finish the import itself.
        ended = await until(db, run["id"], "Finished", "Failed")
        assert ended == "Finished", (await imports.get(run["id"]))["log"]
        before = await content_of(db, application)
        await _is_whole(db, application, run["number"], f" {turn}", turn + 1)
    measured(f"{KILLS} kills during imports of {ROWS:,} rows: each all or nothing, then taken up again and whole")


async def _is_whole(db: Db, application: UUID, number: int, mark: str, times: int) -> None:
    """Check that every account and every assignment exists once, with the values of the files."""
    accounts = ROWS // 10
    rows = await fetch_rows(
        db,
        """SELECT count(*), count(DISTINCT v.account_number), count(*) FILTER (WHERE v.name LIKE '%%' || %(mark)s),
                  min(v.from_import), max(v.from_import)
           FROM account_versions v WHERE v.until_import IS NULL""",
        mark=mark,
    )
    assert rows[0] == (accounts, accounts, accounts, number, number)
    rows = await fetch_rows(
        db,
        """SELECT count(*), count(DISTINCT (holder_number, permission_number)), min(value), max(value)
           FROM assignments WHERE until_import IS NULL""",
    )
    assert rows[0] == (ROWS, ROWS, f"value{mark}", f"value{mark}")
    versions = await fetch_value(db, "SELECT count(*) FROM assignments")
    assert versions == ROWS * (times + 1)


async def test_import_interrupted_too_often_fails(imports: Imports, db: Db) -> None:
    run = await imports.upload(await an_application(db), {"Users": "Username\nada\n"})
    await db.execute("UPDATE application_imports SET status = 'Running', build_start = now()")
    await db.execute("INSERT INTO import_runs (import_id, attempts) SELECT id, 3 FROM application_imports")

    await imports.work()

    ended = await imports.get(run["id"])
    assert (ended["status"], ended["log"].splitlines()[-1][21:]) == (
        "Failed",
        "Failed: interrupted 3 times; it is not retried",
    )


async def test_restarted_import_is_logged_as_interrupted(imports: Imports, db: Db) -> None:
    run = await imports.upload(await an_application(db), {"Users": "Username\nada\n"})
    await db.execute("UPDATE application_imports SET status = 'Running', build_start = now()")
    await db.execute("INSERT INTO import_runs (import_id, attempts) SELECT id, 1 FROM application_imports")

    await imports.work()

    ended = await imports.get(run["id"])
    assert ended["status"] == "Finished"
    assert "Interrupted; started again from its files (attempt 2)" in ended["log"]


async def test_running_import_stops_when_canceled(
    imports: Imports, client: httpx2.AsyncClient, config: Config, db: Db
) -> None:
    application = await an_application(db)
    run = await imports.upload(application, files())
    working = asyncio.create_task(imports.work())
    await until(db, run["id"], "Running")
    while not await fetch_value(db, "SELECT count(*) > 1 FROM import_log"):  # noqa: ASYNC110
        await asyncio.sleep(0.01)

    asked = clock.now()
    await client.post("/api/application-imports/cancel", json={"applicationImportId": run["id"]})
    await working

    ended = await imports.get(run["id"])
    took = await fetch_value(db, "SELECT build_end FROM application_imports WHERE id = %(id)s", id=run["id"]) - asked
    assert ended["status"] == "Canceled"
    assert took.total_seconds() < 20
    assert await fetch_value(db, "SELECT count(*) FROM accounts") == 0


async def test_imports_of_one_application_run_one_after_the_other(imports: Imports, config: Config, db: Db) -> None:
    application = await an_application(db)
    runs = [await imports.upload(application, {"Users": f"Username\nuser{n}\n"}) for n in range(3)]

    async def a_slot() -> None:
        pool = make_pool(config)
        async with pool:
            with suppress(asyncio.CancelledError):
                while await running.run_next_import(pool, config, clock.now()):
                    pass

    await asyncio.gather(a_slot(), a_slot())
    await imports.work()

    ended = [await imports.get(run["id"]) for run in runs]
    assert [run["status"] for run in ended] == ["Finished"] * 3
    for earlier, later in itertools.pairwise(ended):
        assert earlier["buildEnd"] <= later["buildStart"]


async def test_import_is_restarted_after_its_child_was_killed(
    imports: Imports, config: Config, db: Db, tmp_path: Path
) -> None:
    (tmp_path / "import-build.before-commit").touch()
    run = await imports.upload(await an_application(db), {"Users": "Username\nada\n"})

    worker = await a_worker(config, ROLECALL_FAULTS=str(tmp_path))
    await until(db, run["id"], "Finished", "Failed")
    worker.terminate()
    await worker.wait()

    run = await imports.get(run["id"])
    assert run["status"] == "Finished"
    assert "Interrupted; started again from its files (attempt 2)" in run["log"]


async def test_crash_of_a_build_fails_only_its_import(imports: Imports, db: Db) -> None:
    run = await imports.upload(await an_application(db), {"Users": "Username\nada\n"})
    broken = msgspec.structs.replace(imports.config, files_url="dir::file:///nowhere")

    async with make_pool(broken) as pool:
        assert await running.run_next_import(pool, broken, clock.now())

    run = await imports.get(run["id"])
    assert run["status"] == "Failed"
    assert "an internal error; see the log of the service" in run["log"]


async def test_stuck_build_is_ended_after_a_time_limit(
    imports: Imports, config: Config, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await imports.upload(await an_application(db), {"Users": "Username\nada\n"})
    stored = config.store.folder / str(await fetch_value(db, "SELECT location FROM import_files"))
    stored.unlink()
    # Opening a FIFO blocks until it has a writer, like a read from a disk that never responds.
    os.mkfifo(stored)
    monkeypatch.setattr(child, "_LONGEST_SECONDS", 0.5)

    await imports.work()

    ended = await imports.get(run["id"])
    assert (ended["status"], ended["log"].splitlines()[-1][21:]) == (
        "Failed",
        "Failed: interrupted 3 times; it is not retried",
    )
