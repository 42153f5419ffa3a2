"""A service is backed up while it runs, restored elsewhere, compared row by row, and served from there."""

import hashlib
import tarfile
from pathlib import Path

import httpx2
import psycopg
import pytest

from rolecall.core.postgres import embedded
from tests.builders import CONNECTOR
from tests.cli.commands import a_service, eventually, typed

# Signs of life and the times of requests are nobody's record.
_PASSING = {"heartbeats", "request_times"}


def contents(url: str) -> dict[str, tuple[int, str]]:
    """How many rows each table has, and a digest of them all."""
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


@pytest.mark.timeout(180)
def test_a_backup_of_a_running_service_is_restored_whole_and_served_from(tmp_path: Path) -> None:
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
            # What comes later is not in it.
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
    # Only what the later application touched differs.
    assert before.keys() == after.keys()
    assert before.keys() - same <= {
        "applications",
        "audit_events",
        "audit_heads",
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
