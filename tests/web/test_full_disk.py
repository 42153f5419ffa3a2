"""Test that a full disk is an outage (503): nothing is lost or left incomplete, and a retry succeeds."""

import errno
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import msgspec
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.application_imports.running import Imports
from tests.builders import an_access_request, an_application

USERS = "Username,Name\nada,Ada Lovelace\n"


@asynccontextmanager
async def no_room_for(db: Db, table: str) -> AsyncIterator[None]:
    """Make inserts into a table fail with PostgreSQL's error for a full disk."""
    await db.execute(
        """CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$"""
    )
    try:
        await db.execute(f"CREATE TRIGGER no_room BEFORE INSERT ON {table} EXECUTE FUNCTION no_room()".encode())
        yield
    finally:
        await db.execute("DROP FUNCTION no_room CASCADE")


def fill_the_disk(patch: pytest.MonkeyPatch, at: Callable[[str], bool]) -> None:
    """Make every fsync of a path that matches the condition fail as on a full disk."""
    real = os.fsync

    def full(handle: int) -> None:
        if at(os.readlink(f"/proc/self/fd/{handle}")):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    patch.setattr(os, "fsync", full)


def files_in(config: Config) -> list[Path]:
    return [path for path in config.data_dir.rglob("*") if path.is_file()]


def is_outage(answer: httpx2.Response) -> bool:
    said = (answer.json()["error"], answer.json()["message"])
    return (answer.status_code, *said, answer.headers["retry-after"]) == (503, "unavailable", "The disk is full", "5")


async def send(client: httpx2.AsyncClient, db: Db) -> httpx2.Response:
    application = await an_application(db)
    detail = (await client.get(f"/api/applications/{application}")).json()
    group = detail["connector"]["files"][0]["fileGroupId"]
    return await client.post(
        f"/api/application-imports/upload?applicationId={application}", files=[(group, ("u.csv", USERS.encode()))]
    )


@pytest.mark.parametrize("part", ["/incoming/", "/files"])
async def test_upload_to_a_full_disk_leaves_nothing(
    client: httpx2.AsyncClient, db: Db, config: Config, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """The disk becomes full while the file is written, or after the file was moved to its place."""
    with monkeypatch.context() as patch:
        fill_the_disk(patch, lambda path: part in path if part.endswith("/") else path.endswith(part))
        refused = await send(client, db)

    assert is_outage(refused)
    assert files_in(config) == []


async def test_upload_with_a_full_database_disk_leaves_nothing(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    async with no_room_for(db, "import_files"):
        refused = await send(client, db)

    assert is_outage(refused)
    assert files_in(config) == []
    assert (await client.get("/api/application-imports")).json()["totalCount"] == 0


async def test_write_with_a_full_database_disk_is_503(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_access_request(db)
    async with no_room_for(db, "comments"):
        refused = await client.post(f"/api/access-requests/{id}/comment", json={"content": "x"})
    again = await client.post(f"/api/access-requests/{id}/comment", json={"content": "x"})

    assert is_outage(refused)
    assert again.status_code == 200
    assert len(again.json()["comments"]) == 1


async def test_other_file_errors_are_500(
    client: httpx2.AsyncClient, db: Db, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        answer = await send(client, db)

    assert answer.status_code == 500
    assert files_in(config) == []


async def test_import_on_a_full_disk_fails_with_a_message_and_changes_nothing(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    imports, application = Imports(client, config), await an_application(db)
    async with no_room_for(db, "account_versions"):
        failed = await imports.run(application, {"Users": USERS})
    again = await imports.run(application, {"Users": USERS})

    assert failed["status"] == "Failed"
    assert failed["log"].splitlines()[-1].endswith("Failed: the disk is full; make room, then import the files again")
    assert again["metrics"]["users"] == {"total": 1, "new": 1, "altered": 0, "removed": 0}


async def test_scheduled_import_reports_a_full_disk(
    client: httpx2.AsyncClient, db: Db, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "drop").mkdir()
    (tmp_path / "drop" / "users.csv").write_text(USERS)
    imports = Imports(client, msgspec.structs.replace(config, import_roots=(str(tmp_path / "drop"),)))
    schedule = {"cron": "0 3 * * *", "locations": {"Users": str(tmp_path / "drop" / "users.csv")}}
    application = await an_application(db, schedule=schedule)
    staged = await client.post("/api/application-imports/stage", json={"applicationId": str(application)})
    with monkeypatch.context() as patch:
        fill_the_disk(patch, lambda path: "/incoming/" in path)
        await imports.work()
    failed = await imports.get(staged.json()["id"])

    assert failed["status"] == "Failed"
    assert failed["log"].splitlines()[-1].endswith("Failed: the disk is full; make room, then import the files again")
    assert [path.name for path in files_in(config)] == ["users.csv"]
