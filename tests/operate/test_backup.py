"""Back up a running service, restore it elsewhere, compare row by row, and serve from it."""

import asyncio
import errno
import gzip
import hashlib
import io
import json
import os
import signal
import tarfile
from pathlib import Path

import httpx2
import psycopg
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import CannotRun
from rolecall.core.postgres import embedded
from rolecall.operate.backup import back_up, read_manifest, restore
from tests.application_imports.running import Imports
from tests.builders import CONNECTOR, an_application
from tests.cli.commands import a_folder, a_service, eventually, rolecall, typed

# Heartbeats, request times and the worker's queues change all the time and are not compared.
_PASSING = {"finished_imports", "heartbeats", "request_times"}


def contents(url: str) -> dict[str, tuple[int, str]]:
    """Return the row count and a digest of each table."""
    with psycopg.connect(url) as db:
        tables = db.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ).fetchall()
        found = {}
        for (table,) in tables:
            row = db.execute(f"SELECT count(*), md5(string_agg(t::text, ',' ORDER BY t::text)) FROM {table} t".encode())
            found[table] = row.fetchone()
    return {table: row for table, row in found.items() if table not in _PASSING}  # type: ignore[misc]


def files(folder: Path) -> dict[str, str]:
    kept = [path for path in (folder / "files").rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


@pytest.mark.timeout(900)
def test_backup_of_a_running_service_is_restored_completely(tmp_path: Path) -> None:
    old, new, archive = tmp_path / "old", tmp_path / "new", tmp_path / "backup.tar"
    with a_service(old, "--workers", "1") as service:
        token = typed("token", "create", "ci", "--scope", "all", "--data-dir", old).stdout.strip()
        headers = {"Authorization": f"Bearer {token}"}
        with httpx2.Client(base_url=service.url, headers=headers) as client:
            app = client.post("/api/applications", json={"name": "Payroll", "connector": CONNECTOR}).json()
            group = app["connector"]["files"][0]["fileGroupId"]
            sent = [(group, ("users.csv", b"Username,Name\nada,Ada Lovelace\n"))]
            uploaded = client.post(f"/api/application-imports/upload?applicationId={app['id']}", files=sent)
            assert uploaded.status_code == 201, uploaded.text
            run = f"/api/application-imports/{uploaded.json()['id']}"
            eventually(lambda: client.get(run).json()["status"] == "Finished")
            hook = {"name": "Tickets", "url": "https://hooks.example.com/", "events": ["AccessRequestCreated"]}
            assert client.post("/api/webhooks", json=hook).status_code == 201

            made = typed("backup", archive, "--with-key", "--data-dir", old)

            assert made.returncode == 0, made.stderr
            # Later writes are not in the backup.
            assert client.post("/api/applications", json={"name": "Later"}).status_code == 201
    assert archive.stat().st_mode & 0o077 == 0
    assert list(tmp_path.glob(".*")) == []

    restored = typed("restore", archive, "--data-dir", new)

    assert restored.returncode == 0, restored.stderr
    with embedded(old) as there, embedded(new) as here:
        with psycopg.connect(there) as db:
            later = db.execute("SELECT count(*) FROM applications WHERE name = 'Later'").fetchone()
            assert later == (1,)
        before, after = contents(there), contents(here)
    same = {table for table, row in before.items() if after[table] == row}
    # Some tables may differ: the application `Later` was created after the backup, or the worker emptied a queue.
    assert before.keys() == after.keys()
    assert before.keys() - same <= {
        "applications",
        "audit_checkpoints",
        "audit_events",
        "audit_heads",
        "imports_to_review",
        "list_changes",
        "list_contents",
        "tokens",
    }
    assert after["applications"][0] == 1
    assert files(new) == files(old)
    assert len(files(new)) == 1
    assert (new / "secret.key").read_text() == (old / "secret.key").read_text()
    assert typed("audit", "verify", "--data-dir", new).returncode == 0
    with a_service(new, "--workers", "1") as service:
        answer = httpx2.get(f"{service.url}/api/applications", headers=headers)
        assert [found["name"] for found in answer.json()["items"]] == ["Payroll"]
        assert typed("restore", archive, "--force", "--data-dir", new).returncode == 1

    again = typed("restore", archive, "--data-dir", new)
    assert (again.returncode, "not empty" in again.stderr) == (1, True)
    broken = tmp_path / "broken.tar"
    whole = bytearray(archive.read_bytes())
    with tarfile.open(archive) as opened:
        whole[opened.getmember("database.dump").offset_data + 2000] ^= 1
    broken.write_bytes(whole)
    damaged = typed("restore", broken, "--force", "--data-dir", new)
    assert (damaged.returncode, "damaged" in damaged.stderr) == (1, True)
    assert typed("restore", archive, "--force", "--data-dir", new).returncode == 0
    with embedded(new) as here:
        assert contents(here) == after


@pytest.fixture(scope="module")
def other_service(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Back up a service whose only token is named Theirs; the backup contains the key of the service."""
    folder = tmp_path_factory.mktemp("other")
    a_folder(folder / "here")
    with embedded(folder / "here"):
        assert typed("token", "create", "Theirs", "--data-dir", folder / "here").returncode == 0
        (folder / "here/secret.key").write_text("b" * 64)
        assert typed("backup", folder / "backup.tar", "--with-key", "--data-dir", folder / "here").returncode == 0
    return folder / "backup.tar"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("migrations", ["9999_next.sql"], "it has 9999_next.sql"),
        ("schemaVersion", [99, 0, 1], "it has the functions of version 99.0.1"),
    ],
)
def test_backup_of_a_newer_program_is_refused_before_anything_is_replaced(
    other_service: Path, tmp_path: Path, field: str, value: list[object], said: str
) -> None:
    with tarfile.open(other_service) as archive:
        manifest = json.load(archive.extractfile("manifest.json") or io.BytesIO())
    newer = json.dumps({**manifest, field: value}).encode()
    with tarfile.open(tmp_path / "newer.tar", "w") as archive:
        info = tarfile.TarInfo("manifest.json")
        info.size = len(newer)
        archive.addfile(info, io.BytesIO(newer))

    refused = typed("restore", tmp_path / "newer.tar", "--data-dir", tmp_path / "here")

    message = f"The backup was made by a newer program: {said}; restore it with that program"
    assert (refused.returncode, refused.stderr) == (1, f"Error: {message}\n")
    assert not (tmp_path / "here").exists()


def held(folder: Path) -> tuple[list[str], str]:
    """Return the names of the tokens of a service, and the first character of its key."""
    listed = typed("token", "list", "--json", "--data-dir", folder)
    assert listed.returncode == 0, listed.stderr
    return [token["name"] for token in json.loads(listed.stdout)], (folder / "secret.key").read_text()[0]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("point", ["old-set-aside", "database-in-place", "before-commit", "after-commit"])
def test_killed_restore_leaves_the_old_or_the_new_data_and_says_what_to_do(
    tmp_path: Path, other_service: Path, point: str
) -> None:
    here, faults = tmp_path / "here", tmp_path / "faults"
    a_folder(here)
    faults.mkdir()
    words = ("restore", other_service, "--force", "--data-dir", here)
    with embedded(here) as url:
        assert typed("token", "create", "Ours", "--data-dir", here).returncode == 0
        (here / "secret.key").write_text("a" * 64)
        (faults / f"restore.{point}").touch()
        assert rolecall(*words, ROLECALL_FAULTS=str(faults)).returncode == -signal.SIGKILL
        is_undone = point != "after-commit"

        refused = typed("token", "list", "--data-dir", here)
        examined = typed("doctor", "--json", "--data-dir", here)
        mended = typed("migrate", "--data-dir", here)

        assert refused.returncode == (1 if is_undone else 0)
        assert ("`rolecall migrate` to return to the earlier data" in refused.stderr) == is_undone
        assert ("a restore is running or was interrupted" in examined.stdout) == is_undone
        assert ("An interrupted restore was undone" in mended.stderr) == is_undone
        assert held(here) == ((["Ours"], "a") if is_undone else (["Theirs"], "b"))
        again = typed(*words)
        assert (again.returncode, "interrupted" in again.stderr) == (0, False)
        assert held(here) == (["Theirs"], "b")
        with psycopg.connect(url) as db:
            schemas = db.execute("SELECT count(*) FROM pg_namespace WHERE nspname ~ 'replaced'").fetchone()
        assert schemas == (0,)
    assert not [path for path in here.iterdir() if "restored" in path.name]


def test_repeated_restore_undoes_the_killed_one(tmp_path: Path, other_service: Path) -> None:
    here, faults = tmp_path / "here", tmp_path / "faults"
    faults.mkdir()
    (faults / "restore.database-in-place").touch()
    with embedded(here):
        killed = rolecall("restore", other_service, "--data-dir", here, ROLECALL_FAULTS=str(faults))
        again = typed("restore", other_service, "--data-dir", here)

        assert (killed.returncode, again.returncode) == (-signal.SIGKILL, 0)
        assert "An interrupted restore was undone" in again.stderr
        assert held(here) == (["Theirs"], "b")


async def test_backup_during_imports_has_every_referenced_file(
    client: httpx2.AsyncClient, db: Db, config: Config, empty_database: str, tmp_path: Path
) -> None:
    imports, app, archive = Imports(client, config), await an_application(db, "Payroll"), tmp_path / "backup.tar"
    await imports.finish(app, {"Users": "Username\nada\n"})

    saving = asyncio.create_task(asyncio.to_thread(back_up, config, archive, clock.now(), with_key=False))
    names = ["ada"]
    while not saving.done():
        names.append(f"user{len(names)}")
        await imports.finish(app, {"Users": "\n".join(["Username", *names])})
    made = await saving
    elsewhere = Config(database_url=empty_database, data_dir=tmp_path / "elsewhere")
    elsewhere.data_dir.mkdir()
    await asyncio.to_thread(restore, elsewhere, archive)

    with psycopg.connect(empty_database) as there:
        named = there.execute("SELECT location, encode(sha256, 'hex') FROM import_files ORDER BY 1").fetchall()
        ended = there.execute(
            """SELECT count(*) FROM application_imports i WHERE i.status = 'Finished'
               AND NOT EXISTS (SELECT FROM import_files f WHERE f.import_id = i.id)"""
        ).fetchone()
    assert 1 <= len(named) == made.file_count <= len(names)
    assert dict(named) == {place.removeprefix("files/"): digest for place, digest in files(elsewhere.data_dir).items()}
    assert ended == (0,)


def test_cause_of_a_failed_backup_or_restore_is_named(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, cut = tmp_path / "backup.tar", tmp_path / "cut.tar.gz"
    back_up(config, archive, clock.now(), with_key=False)
    cut.write_bytes(gzip.compress(archive.read_bytes())[:-100])

    with pytest.raises(CannotRun, match=r"missing/backup.tar cannot be written: .*No such file"):
        back_up(config, tmp_path / "missing" / "backup.tar", clock.now(), with_key=False)
    with pytest.raises(CannotRun, match=r"missing.tar cannot be read: .*No such file"):
        read_manifest(tmp_path / "missing.tar")
    with pytest.raises(CannotRun, match=r"cut.tar.gz is not a complete backup: Compressed file ended"):
        restore(config, cut)
    monkeypatch.setattr(os, "fsync", a_full_disk)
    with pytest.raises(CannotRun, match=r"new.tar cannot be written: .*No space left on device"):
        back_up(config, tmp_path / "new.tar", clock.now(), with_key=False)
    with pytest.raises(CannotRun, match=r"backup.tar cannot be restored: .*No space left on device"):
        restore(config, archive)


def a_full_disk(_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
