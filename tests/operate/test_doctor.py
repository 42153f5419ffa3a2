import json
import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.core.ids import new_id
from rolecall.operate import doctor
from rolecall.operate.doctor import State
from tests.application_imports.running import Imports
from tests.builders import an_application, an_import
from tests.cli.commands import rolecall


def examined(url: str, folder: Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the findings that are not ok, by check."""
    said = rolecall("doctor", "--json", "--data-dir", folder, ROLECALL_DATABASE_URL=url)
    assert said.stdout, said.stderr
    found = json.loads(said.stdout)
    assert found["ok"] == (said.returncode == 0)
    return said.returncode, {entry["check"]: entry for entry in found["findings"] if entry["state"] != "ok"}


async def test_a_service_that_is_well_has_no_findings(db: Db, clean_database: str, tmp_path: Path) -> None:
    await execute(db, "INSERT INTO heartbeats (worker_id) VALUES (%(id)s)", id=new_id())
    disk = shutil.disk_usage(tmp_path)

    code, findings = examined(clean_database, tmp_path)

    roomy = disk.free >= doctor.LEAST_FREE_BYTES
    assert (code, findings.keys() - {"disk"}) == (0 if roomy else 1, set())


async def test_every_trouble_is_found_and_explained(
    client: httpx2.AsyncClient, db: Db, clean_database: str, config: Config, tmp_path: Path
) -> None:
    app = await an_application(db, "Payroll", schedule={"cron": "0 5 * * *", "locations": {"Users": "/x.csv"}})
    await Imports(client, config).finish(app, {"Users": "Username\nada\nbob\n"})
    for _ in range(3):
        await an_import(db, app, "Failed", type="Scheduled")
    held = await an_import(db, status="Running")
    await execute(db, "INSERT INTO import_runs (import_id, held) VALUES (%(id)s, 'too much')", id=held)
    hook = {
        "name": "Tickets",
        "url": "https://hooks.example.com/",
        "events": ["AccessRequestCreated"],
        "enabled": False,
    }
    assert (await client.post("/api/webhooks", json=hook)).status_code == 201
    await execute(db, "UPDATE webhooks SET disabled_reason = 'Gone'")
    await execute(db, "DELETE FROM audit_events WHERE number = 2")
    (tmp_path / "secret.key").chmod(0o644)
    os.chmod(tmp_path, 0o777)

    code, findings = examined(clean_database, tmp_path)

    assert code == 1
    assert findings.keys() - {"disk"} == {
        "audit", "held imports", "permissions", "scheduled imports", "unmatched accounts", "webhooks", "worker",
    }  # fmt: skip
    assert all(entry["advice"] for entry in findings.values())
    assert "entry 3 is the first" in findings["audit"]["detail"]
    assert "Payroll" in findings["scheduled imports"]["detail"]
    assert "Tickets" in findings["webhooks"]["detail"]
    assert "100 %" in findings["unmatched accounts"]["detail"]


def test_a_database_of_another_version_is_told(clean_database: str, tmp_path: Path) -> None:
    with psycopg.connect(clean_database, autocommit=True) as db:
        row = db.execute("DELETE FROM migrations WHERE name LIKE '0018%' RETURNING name, sha256").fetchone()
        try:
            code, findings = examined(clean_database, tmp_path)
            assert (code, findings["migrations"]["detail"]) == (1, "1 not applied: 0018_audit.sql")
            assert "rolecall migrate" in findings["migrations"]["advice"]
        finally:
            db.execute("INSERT INTO migrations (name, sha256) VALUES (%s, %s)", row)


def test_a_database_out_of_reach_is_a_finding_not_a_crash(tmp_path: Path) -> None:
    code, findings = examined("postgresql://127.0.0.1:1/none", tmp_path / "not made")

    assert (code, list(findings)) == (1, ["database"])


async def test_a_clock_that_is_not_the_databases_is_told(db: Db) -> None:
    assert (await doctor._clock(db)).state is State.OK
    clock.travel(timedelta(minutes=-1))

    found = await doctor._clock(db)

    assert (found.state, "60." in found.detail) == (State.TROUBLE, True)


@pytest.mark.parametrize(
    ("free", "state"), [(50 << 30, State.OK), (5 << 30, State.WARNING), (100 << 20, State.TROUBLE)]
)
def test_a_disk_that_fills_is_told_before_it_is_full(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, state: State
) -> None:
    usage = type(shutil.disk_usage(tmp_path))(100 << 30, (100 << 30) - free, free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)

    assert [found.state for found in doctor._disk(tmp_path)] == [state]
