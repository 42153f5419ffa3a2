import asyncio
import hashlib
import json
import os
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from rolecall.console.signing_in import scopes_of
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value, make_pool
from rolecall.reports import running
from rolecall.reports.destination import Destination, FileBeingWritten
from rolecall.reports.running import run_reports
from tests.builders import a_token, an_application, an_identity
from tests.reports.reporting import DUE, START, a_report, daily, hidden, runs_of, visible, work


async def test_a_schedule_writes_the_file_with_its_manifest(
    service: httpx2.AsyncClient, db: Db, scheduled: Config, folder: Path
) -> None:
    await an_identity(db, "=cmd()", "Lovelace")
    report = await daily(service, folder, columns=["lastName", "firstName"])

    for minutes in (0, 10, 60, 61):
        await work(scheduled, START + timedelta(minutes=minutes))

    [name, beside] = visible(folder)
    assert name.startswith("people-20260301T063000Z-")
    assert (beside, hidden(folder)) == (f"{name}.manifest.json", [])
    content = (folder / name).read_bytes()
    assert content == b"lastName,firstName\r\nLovelace,'=cmd()\r\n"
    manifest = json.loads((folder / beside).read_text())
    assert manifest["sha256"] == hashlib.sha256(content).hexdigest()
    assert (manifest["rowCount"], manifest["list"], manifest["columns"]) == (1, "identities", ["lastName", "firstName"])
    [run] = await runs_of(service, report)
    assert (run["status"], run["rowCount"], run["sha256"]) == ("Finished", 1, manifest["sha256"])
    assert run["location"] == str(folder / name)
    assert (run["createdBy"]["kind"], run["id"]) == ("System", manifest["id"])


async def test_reports_with_similar_names_write_different_files(
    service: httpx2.AsyncClient, scheduled: Config, folder: Path
) -> None:
    names = ["Wires!", "Wires?", "\u9280\u884c" * 50]
    reports = [await daily(service, folder, name=name) for name in names]

    for minutes in (0, 60):
        await work(scheduled, START + timedelta(minutes=minutes))

    runs = [run for report in reports for run in await runs_of(service, report)]
    assert [run["status"] for run in runs] == ["Finished"] * 3
    named = sorted(run["location"].removeprefix(f"{folder}/") for run in runs)
    assert named == [name for name in visible(folder) if name.endswith(".csv")]


async def test_several_missed_due_times_fire_only_once(
    service: httpx2.AsyncClient, scheduled: Config, folder: Path
) -> None:
    report = await daily(service, folder)

    for days in (0, 5, 5):
        await work(scheduled, START + timedelta(days=days))

    assert len(await runs_of(service, report)) == 1


async def test_run_fails_if_the_location_is_missing_and_the_next_one_succeeds(
    service: httpx2.AsyncClient, db: Db, scheduled: Config, folder: Path
) -> None:
    report = await daily(service, folder)
    await work(scheduled, START)
    os.rmdir(folder)

    await work(scheduled, DUE)
    [failed] = await runs_of(service, report)
    assert (failed["status"], failed["sha256"]) == ("Failed", None)
    assert failed["reason"] == "The file cannot be written: there is no such folder"

    os.mkdir(folder)
    await work(scheduled, DUE + timedelta(days=1))
    assert [run["status"] for run in await runs_of(service, report)] == ["Finished", "Failed"]
    assert len(visible(folder)) == 2


async def test_full_disk_leaves_no_partial_file(
    service: httpx2.AsyncClient, scheduled: Config, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = await daily(service, folder)
    await work(scheduled, START)

    def full(_: object, __: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileBeingWritten, "write", full)
    await work(scheduled, DUE)

    [failed] = await runs_of(service, report)
    assert failed["reason"] == "The file cannot be written: [Errno 28] No space left on device"
    assert os.listdir(folder) == []


async def test_link_that_leads_outside_the_roots_is_not_followed(
    service: httpx2.AsyncClient, scheduled: Config, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    report = await daily(service, folder)
    await work(scheduled, START)
    os.rmdir(folder)
    os.symlink(outside, folder)

    await work(scheduled, DUE)

    [failed] = await runs_of(service, report)
    assert failed["reason"].startswith("The file cannot be written: Location is outside of ROLECALL_REPORT_ROOTS; ")
    assert os.listdir(outside) == []


async def test_scheduled_runs_fail_after_the_owner_left(
    service: httpx2.AsyncClient, db: Db, scheduled: Config, folder: Path
) -> None:
    ada = await an_identity(db)
    await execute(
        db, "INSERT INTO console_roles (identity_id, role, email) VALUES (%(id)s, 'Auditor', 'a@example.com')", id=ada
    )
    report = await daily(service, folder, ownerId=str(ada))
    await work(scheduled, START)
    await work(scheduled, DUE)
    assert [run["status"] for run in await runs_of(service, report)] == ["Finished"]
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=ada)

    await work(scheduled, DUE + timedelta(days=1))

    failed = (await runs_of(service, report))[0]
    assert failed["reason"] == "Ada Lovelace owns the report but may no longer read its list. Choose another owner"
    await service.patch(f"/api/reports/{report['id']}", json={"ownerId": None})
    await work(scheduled, DUE + timedelta(days=2))
    assert [run["status"] for run in await runs_of(service, report)] == ["Finished", "Failed", "Finished"]


async def test_scheduled_runs_without_an_owner_fail_after_the_token_that_saved_the_report_was_revoked(
    service: httpx2.AsyncClient, db: Db, scheduled: Config, folder: Path
) -> None:
    clerk = await a_token(db, "clerk", scopes=["config:manage", "identities:read", "applications:read"])
    own = {"Authorization": f"Bearer {clerk.secret}"}
    report = await daily(service, folder)
    await service.patch(f"/api/reports/{report['id']}", json={"description": "All"}, headers=own)
    await work(scheduled, START)
    await work(scheduled, DUE)
    await execute(db, "UPDATE tokens SET revoked_at = now() WHERE id = %(id)s", id=clerk.id)

    await work(scheduled, DUE + timedelta(days=1))

    failed, finished = await runs_of(service, report)
    assert (finished["status"], failed["status"]) == ("Finished", "Failed")
    assert failed["reason"] == (
        "API Token - clerk saved the report but may no longer read its list. "
        "Choose an owner, or save the report to take it over"
    )
    await service.patch(f"/api/reports/{report['id']}", json={"description": "Taken over"})
    await work(scheduled, DUE + timedelta(days=2))
    assert (await runs_of(service, report))[0]["status"] == "Finished"


@pytest.mark.parametrize("role", [None, "Provisioner"])
async def test_owner_who_sees_only_own_records_gets_no_file(
    service: httpx2.AsyncClient, db: Db, scheduled: Config, folder: Path, role: str | None
) -> None:
    ada = await an_identity(db)
    if role:
        insert = "INSERT INTO console_roles (identity_id, role, email) VALUES (%(id)s, %(role)s, 'a@example.com')"
        await execute(db, insert, id=ada, role=role)
    report = await daily(service, folder, ownerId=str(ada))

    await work(scheduled, START)
    await work(scheduled, DUE)

    assert [run["status"] for run in await runs_of(service, report)] == ["Failed"]
    assert os.listdir(folder) == []


async def test_a_link_in_place_of_a_partial_file_is_not_followed(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    victim = tmp_path_factory.mktemp("outside") / "victim"
    victim.write_text("kept")
    (folder / ".people.csv.run.partial").symlink_to(victim)

    file = Destination([f"file://{folder.parent}"], f"file://{folder}").begin("people.csv", "run")
    file.write(b"rows")
    file.finish()
    file.publish()

    assert victim.read_text() == "kept"
    assert (folder / "people.csv").read_bytes() == b"rows"


async def test_a_folder_that_becomes_a_link_after_the_check_is_not_written_to(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (folder / "inside").mkdir()
    (folder / "link").symlink_to(folder / "inside")
    destination = Destination([f"file://{folder}"], f"file://{folder}/link")
    (folder / "link").unlink()
    (folder / "link").symlink_to(outside)

    destination.begin("people.csv", "run").finish()

    assert os.listdir(outside) == []


async def test_an_owner_without_the_scope_of_the_list_gets_no_file(
    service: httpx2.AsyncClient, db: Db, scheduled: Config, folder: Path
) -> None:
    ada = await an_identity(db)
    await execute(
        db, "INSERT INTO console_roles (identity_id, role, email) VALUES (%(id)s, 'Reviewer', 'a@example.com')", id=ada
    )
    report = await daily(service, folder, list="audit-events", ownerId=str(ada))

    await work(scheduled, START)
    await work(scheduled, DUE)

    assert [run["status"] for run in await runs_of(service, report)] == ["Failed"]
    assert os.listdir(folder) == []


async def test_failed_run_names_the_record_that_no_longer_exists(
    service: httpx2.AsyncClient, db: Db, scheduled: Config, folder: Path
) -> None:
    application = await an_application(db)
    report = await daily(service, folder, list="accounts", filters={"id": str(application)})
    await work(scheduled, START)
    gone = "00000000-0000-4000-8000-000000000000"
    await execute(db, "UPDATE reports SET filters = jsonb_build_object('id', %(id)s::text)", id=gone)

    await work(scheduled, DUE)

    [failed] = await runs_of(service, report)
    assert (failed["status"], failed["reason"]) == ("Failed", f"Application with id {gone} not found")


async def test_two_workers_write_the_file_of_a_run_once(
    service: httpx2.AsyncClient, scheduled: Config, folder: Path
) -> None:
    report = await daily(service, folder)
    await work(scheduled, START)
    clock.travel_to(DUE)

    async with make_pool(scheduled) as one, make_pool(scheduled) as two:
        await asyncio.gather(*(run_reports(pool, scheduled, DUE, scopes_of) for pool in (one, two)))

    assert [run["status"] for run in await runs_of(service, report)] == ["Finished"]
    assert len(visible(folder)) == 2


async def test_an_interrupted_run_is_retried_and_fails_after_three_attempts(
    service: httpx2.AsyncClient, db: Db, scheduled: Config, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = await daily(service, folder)
    await work(scheduled, START)

    async def interrupted(*_: object) -> None:
        raise RuntimeError("the worker stops here")

    with monkeypatch.context() as patched:
        patched.setattr(running, "_write_file", interrupted)
        for _ in range(2):
            with pytest.raises(RuntimeError):
                await work(scheduled, DUE)
    assert [run["status"] for run in await runs_of(service, report)] == ["Running"]
    await work(scheduled, DUE + timedelta(minutes=5))
    assert [run["status"] for run in await runs_of(service, report)] == ["Finished"]
    assert visible(folder)[0].startswith("people-20260301T063000Z-")

    await work(scheduled, DUE + timedelta(days=1, minutes=-31))
    with monkeypatch.context() as patched:
        patched.setattr(running, "_write_file", interrupted)
        for _ in range(3):
            with pytest.raises(RuntimeError):
                await work(scheduled, DUE + timedelta(days=1))
    await work(scheduled, DUE + timedelta(days=1))
    failed = (await runs_of(service, report))[0]
    said = "The worker stopped 3 times while it wrote the file; check the worker's log"
    assert (failed["status"], failed["reason"]) == ("Failed", said)


async def test_scheduled_report_can_be_written_immediately(
    service: httpx2.AsyncClient, db: Db, scheduled: Config, folder: Path
) -> None:
    report = await daily(service, folder)
    path = f"/api/reports/{report['id']}/write"

    run = (await service.post(path)).json()
    again = await service.post(path)
    await work(scheduled, clock.now())

    assert (run["status"], again.status_code) == ("Running", 409)
    assert [each["status"] for each in await runs_of(service, report)] == ["Finished"]
    by_hand = await a_report(service, name="By hand")
    assert (await service.post(f"/api/reports/{by_hand['id']}/write")).status_code == 409


async def test_removed_schedule_or_deleted_report_writes_no_more_files(
    service: httpx2.AsyncClient, db: Db, scheduled: Config, folder: Path
) -> None:
    one, two = await daily(service, folder), await daily(service, folder, name="Other")
    for report in (one, two):
        await service.post(f"/api/reports/{report['id']}/write")
    await service.patch(f"/api/reports/{one['id']}", json={"schedule": None})
    await service.delete(f"/api/reports/{two['id']}")

    await work(scheduled, DUE)

    rows = await fetch_rows(db, "SELECT reason FROM exports ORDER BY number")
    assert [reason for (reason,) in rows] == ["The schedule was removed", "The report was deleted"]
    assert await fetch_value(db, "SELECT count(*) FROM report_firings WHERE run_id IS NOT NULL") == 0
    assert os.listdir(folder) == []
