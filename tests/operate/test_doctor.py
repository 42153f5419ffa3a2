import json
import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import psycopg
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.core.ids import new_id
from rolecall.core.sealing import new_key
from rolecall.operate import doctor, folder_checks
from rolecall.operate.check_results import CheckState
from rolecall.webhooks import outbox
from tests.application_imports.running import Imports
from tests.builders import an_access_request, an_application, an_identity, an_import
from tests.cli.commands import REPOSITORY, rolecall
from tests.holdings import an_account
from tests.webhooks.sending import a_hook


def examined(url: str, folder: Path) -> tuple[int, dict[str, Any]]:
    """Return the exit code, and the findings that are not OK, by check."""
    said = rolecall("doctor", "--json", "--data-dir", folder, ROLECALL_DATABASE_URL=url)
    assert said.stdout, said.stderr
    found = json.loads(said.stdout)
    assert found["ok"] == (said.returncode == 0)
    return said.returncode, {entry["check"]: entry for entry in found["findings"] if entry["state"] != "ok"}


async def test_healthy_service_has_no_findings(db: Db, clean_database: str, tmp_path: Path) -> None:
    await execute(db, "INSERT INTO heartbeats (worker_id) VALUES (%(id)s)", id=new_id())
    disk = shutil.disk_usage(tmp_path)

    code, findings = examined(clean_database, tmp_path)

    roomy = disk.free >= folder_checks.LEAST_FREE_BYTES
    assert (code, findings.keys() - {"disk"}) == (0 if roomy else 1, set())


async def test_several_problems_are_found_with_advice_for_each(
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


async def test_webhook_with_undecryptable_secret_is_named(
    client: httpx2.AsyncClient, db: Db, config: Config, tmp_path: Path
) -> None:
    await a_hook(client, "https://hooks.example.com/", name="Before")
    key = tmp_path / "secret.key"
    kept = key.read_text()
    assert (await doctor._secrets(db, config)).state is CheckState.OK

    key.write_text(new_key())
    await a_hook(client, "https://hooks.example.com/", name="After")
    changed = await doctor._secrets(db, config)
    key.unlink()
    lost = await doctor._secrets(db, config)
    await execute(db, "UPDATE webhooks SET enabled = false, deleted_on = now() WHERE name = 'After'")
    key.write_text(kept)
    back = await doctor._secrets(db, config)

    assert (changed.state, changed.detail) == (
        CheckState.TROUBLE, "encrypted with another key, so nothing is sent: Before",
    )  # fmt: skip
    assert (lost.state, lost.detail) == (CheckState.TROUBLE, "there is no key, so nothing is sent: After, Before")
    assert "rotate" in lost.advice
    assert back.state is CheckState.OK


async def test_overdue_deliveries_are_distinguished_from_slow_receivers(client: httpx2.AsyncClient, db: Db) -> None:
    await a_hook(client, "https://hooks.example.com/", name="Tickets")
    for _ in range(2):
        await an_access_request(db)
    assert await doctor._late_deliveries(db) == ""
    await execute(db, "UPDATE webhook_deliveries SET next_attempt_on = now() - interval '6 minutes'")

    late = await doctor._late_deliveries(db)
    # While a delivery is in flight, the other deliveries of the webhook wait for its receiver, not for a worker.
    async with db.transaction():
        now = clock.now()
        assert await outbox.claim(db, await outbox.lock_due_hooks(db, now), 512, now)
    sending = await doctor._late_deliveries(db)
    await execute(db, "UPDATE webhook_deliveries SET next_attempt_on = now() - interval '6 minutes'")
    abandoned = await doctor._late_deliveries(db)

    assert "Tickets" in late
    assert sending == ""
    assert "Tickets" in abandoned


async def test_import_that_no_worker_starts_is_reported(db: Db) -> None:
    app = await an_application(db, "Payroll")
    for application, status in ((app, "Pending"), (app, "Pending"), (None, "Running")):
        await an_import(db, application, status)
    assert await doctor._waiting_imports(db) == ""
    await execute(db, "UPDATE application_imports SET created_at = now() - interval '16 minutes'")

    found = await doctor._waiting_imports(db)

    assert ("Payroll #1" in found, "#2" in found) == (True, False)


def test_disk_shared_by_folders_is_checked_once(tmp_path: Path) -> None:
    for name in ("postgres", "files"):
        (tmp_path / name).mkdir()
    elsewhere = Path("/dev/shm")
    disks = {path.stat().st_dev for path in (tmp_path, elsewhere) if path.exists()}

    (here,) = folder_checks.disks(Config(data_dir=tmp_path))
    found = list(folder_checks.disks(Config(data_dir=tmp_path, files_url=f"file://{elsewhere}")))

    assert here.detail.endswith(f"under {tmp_path}")
    assert len(found) == len(disks)


async def test_active_accounts_of_leavers_are_reported(db: Db, clean_database: str, tmp_path: Path) -> None:
    ada, wiki = await an_identity(db), await an_application(db, "Wiki")
    await an_account(db, wiki, "ada", ada)
    await execute(db, "UPDATE identities SET status = 'Disabled'")

    _, findings = examined(clean_database, tmp_path)

    found = findings["accounts of leavers"]
    assert (found["state"], "1 active account of leavers" in found["detail"]) == ("warning", True)
    assert "for example ada in Wiki" in found["detail"]


async def test_people_who_supervise_each_other_are_reported(db: Db, clean_database: str, tmp_path: Path) -> None:
    ada, grace, joan = [await an_identity(db, first, "Byron") for first in ("Ada", "Grace", "Joan")]
    for person, supervisor in ((ada, grace), (grace, joan), (joan, ada)):
        change = "UPDATE identities SET supervisor_id = %(to)s WHERE id = %(id)s"
        await execute(db, change, id=person, to=supervisor)

    _, findings = examined(clean_database, tmp_path)

    said = "people supervise each other: Ada Byron → Grace Byron → Joan Byron → Ada Byron"
    assert (findings["supervisors"]["state"], findings["supervisors"]["detail"]) == ("warning", said)


def test_database_of_an_older_version_is_reported(clean_database: str, tmp_path: Path) -> None:
    with psycopg.connect(clean_database, autocommit=True) as db:
        row = db.execute("DELETE FROM migrations WHERE name LIKE '0012%' RETURNING name, sha256").fetchone()
        try:
            code, findings = examined(clean_database, tmp_path)
            assert (code, findings["migrations"]["detail"]) == (1, "1 not applied: 0012_audit.sql")
            assert "rolecall migrate" in findings["migrations"]["advice"]
        finally:
            db.execute("INSERT INTO migrations (name, sha256) VALUES (%s, %s)", row)


def test_unreachable_database_is_reported_without_a_crash(tmp_path: Path) -> None:
    code, findings = examined("postgresql://127.0.0.1:1/none", tmp_path / "not made")

    assert (code, list(findings)) == (1, ["database"])


async def test_clock_difference_to_the_database_is_reported(db: Db) -> None:
    assert (await doctor._clock(db)).state is CheckState.OK
    clock.travel(timedelta(minutes=-1))

    found = await doctor._clock(db)

    assert (found.state, "60." in found.detail) == (CheckState.TROUBLE, True)


@pytest.mark.parametrize(
    ("free", "state"), [(50 << 30, CheckState.OK), (5 << 30, CheckState.WARNING), (100 << 20, CheckState.TROUBLE)]
)
def test_filling_disk_is_reported_before_it_is_full(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, state: CheckState
) -> None:
    usage = type(shutil.disk_usage(tmp_path))(100 << 30, (100 << 30) - free, free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)

    assert [found.state for found in folder_checks._disk(tmp_path)] == [state]


async def test_operating_page_documents_every_check(db: Db, config: Config) -> None:
    page = (REPOSITORY / "docs/operating.md").read_text()

    findings = await doctor.examine(db, config)

    assert len(findings) > 10
    assert [found.check for found in findings if f"| `{found.check}`" not in page] == []


async def test_disabled_passwords_without_a_provider_are_a_warning(db: Db, config: Config) -> None:
    off = msgspec.structs.replace(config, passwords=False)

    found = {finding.check: finding.state for finding in await doctor.examine(db, off)}
    with_provider = msgspec.structs.replace(off, oidc_issuer="https://provider.example.com")
    other = {finding.check: finding.state for finding in await doctor.examine(db, with_provider)}

    assert (found["sign-in"], other["sign-in"]) == (CheckState.WARNING, CheckState.OK)
