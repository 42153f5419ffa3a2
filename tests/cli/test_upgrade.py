"""Test upgrades: a version works with the schema of the next version, and migrations keep the data."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from rolecall.client import Client, calls
from rolecall.core import migrate, schema
from rolecall.core.migrate import FOLDER
from rolecall.core.postgres import embedded
from tests.builders import CONNECTOR
from tests.cli.commands import REPOSITORY, Running, a_service, environment, eventually, rolecall

TABLES = """
SELECT oid::regclass::text FROM pg_class
WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace
"""
# Changes that a later version may make, besides a column in every table: a table, an index, a replaced function.
NEXT_VERSION = """
CREATE TABLE of_the_next_version (x int);
CREATE INDEX ON identities (of_the_next_version);
CREATE OR REPLACE FUNCTION list_patience() RETURNS int IMMUTABLE LANGUAGE sql RETURN 128;
INSERT INTO migrations (name, sha256) VALUES ('9999_next.sql', 'x');
UPDATE schema_files SET version = '{99}', sha256 = 'x';
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with a_service(tmp_path / "here", "--workers", "1") as running:
        yield running


def work(client: Client, name: str, users: Path) -> None:
    """Use the main features: an application, an import, a person, a request from creation to completion."""
    application = client.send(calls.create_application(name, connector=CONNECTOR))
    users.write_text("Username,Name\nada,Ada Byron\n")
    assert client.wait(client.upload(application.id, {"Users": users}).id).status == "Finished"
    person = client.send(calls.onboard(effective_date="2035-01-01", first_name="Ada", last_name=name)).affected_identity
    request = client.send(
        calls.create_request("Add", application.id, identity_id=person.id, privileges=[{"permission": "Post"}])
    )
    for requirement in request.requirements:
        if requirement.type == "Approve":
            reviewer = requirement.rules[0].responses[0].reviewer.id
            client.send(calls.respond(request.id, "Approved", reviewer_id=reviewer))
    assert client.send(calls.resolve_request(request.id)).status == "Completed"
    assert name in [person.last_name for person in client.each(calls.list_identities())]
    assert [account.username for account in client.each(calls.list_accounts(application.id))] == ["ada"]


def test_version_works_with_the_schema_of_the_next_version(service: Running, tmp_path: Path) -> None:
    token = rolecall("token", "create", "t", "--scope", "all", "--data-dir", service.data_dir).stdout.strip()
    with Client(service.url, token) as client:
        work(client, "Before", tmp_path / "users.csv")
        with embedded(service.data_dir) as url, psycopg.connect(url, autocommit=True) as db:
            # One table at a time: a transaction that locks all of them may deadlock with the worker.
            for (table,) in db.execute(TABLES).fetchall():
                db.execute(f"ALTER TABLE {table} ADD COLUMN of_the_next_version text DEFAULT 'new'")
            db.execute(NEXT_VERSION)

        work(client, "After", tmp_path / "users.csv")
        assert service.answers("/readyz")
        (process,) = service.children("rolecall api")
        os.kill(process, signal.SIGKILL)
        eventually(lambda: service.children("rolecall api") not in ([], [process]))
        work(client, "Restarted", tmp_path / "users.csv")

    refused = rolecall("migrate", "--data-dir", service.data_dir)
    assert refused.returncode == 1
    assert refused.stderr == (
        "Error: the database is newer than this program: it has 9999_next.sql, the functions of version 99;"
        " run the newer program, or restore a backup from before the upgrade\n"
    )


FOUNDATION = """
INSERT INTO settings (name, value) VALUES ('approvalLeadDays', '12');
INSERT INTO identities (id, first_name, last_name, first_name_key, last_name_key, created_date, updated_date,
                        first_seen_date)
SELECT gen_random_uuid(), 'Ada', 'Byron ' || n, 'ada', 'byron', now(), now(), now() FROM generate_series(1, 300) AS n;
"""


_WAITING = "SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"


def test_second_process_waits_for_the_first_to_migrate(empty_database: str, tmp_path: Path) -> None:
    """Run the migrations of two processes at once, as two `serve` commands on one database would."""
    command = [sys.executable, "-m", "rolecall", "migrate", "--data-dir", str(tmp_path / "here")]
    with psycopg.connect(empty_database, autocommit=True) as first:
        migrate.lock_migrations(first)
        second = subprocess.Popen(
            command, env=environment(ROLECALL_DATABASE_URL=empty_database), stderr=subprocess.PIPE, text=True
        )
        eventually(lambda: bool(first.execute(_WAITING).fetchall()))
        assert migrate.is_new(migrate._apply(first))

    _, said = second.communicate(timeout=300)
    assert (second.returncode, said) == (
        0,
        "0 migrations and schema files applied; the database is up to date\n",
    )


@pytest.mark.parametrize("command", [("serve",), ("token", "create", "ci"), ("token", "list")], ids=" ".join)
def test_newer_schema_is_refused_with_advice_in_one_line(
    empty_database: str, tmp_path: Path, command: tuple[str, ...]
) -> None:
    migrate.migrate(empty_database)
    with psycopg.connect(empty_database, autocommit=True) as db:
        db.execute("INSERT INTO migrations (name, sha256) VALUES ('9999_next.sql', 'x')")

    refused = rolecall(*command, "--data-dir", tmp_path / "here", ROLECALL_DATABASE_URL=empty_database)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        "Error: the database is newer than this program: it has 9999_next.sql;"
        " run the newer program, or restore a backup from before the upgrade\n"
    )


def test_migrations_keep_the_data_of_the_first_version(empty_database: str) -> None:
    files = sorted(FOLDER.glob("[0-9]*.sql"))
    with psycopg.connect(empty_database, autocommit=True) as db:
        db.execute(files[0].read_bytes())
        db.execute(FOUNDATION)
        before = contents(db)

        for file in files[1:]:
            with db.transaction():
                db.execute(file.read_bytes())
            after = contents(db)
            assert all(row.items() <= found.items() for name in before for row, found in zip(before[name], after[name], strict=True)), file  # fmt: skip # noqa: E501
        schema.make_table(db)
        schema.apply(db, list(schema.digests()))
        assert db.execute("SELECT total FROM list_contents WHERE list = 'identities'").fetchone() == (300,)

    assert {name: len(rows) for name, rows in before.items() if name in ("identities", "settings")} == {
        "identities": 300, "settings": 1,
    }  # fmt: skip


CANCELED_IMPORT = """
INSERT INTO applications (id, name, name_key, last_updated)
VALUES ('00000000-0000-4000-8000-000000000001', 'CRM', 'crm', now());
INSERT INTO application_imports (id, application_id, type, status, created_by, created_at, build_start, build_end,
                                 metrics)
SELECT gen_random_uuid(), '00000000-0000-4000-8000-000000000001', 'API', status, 'Ada', now(), started, ended, metrics
FROM (VALUES ('Canceled', NULL, timestamptz '2026-01-02', NULL),
             ('Finished', timestamptz '2026-01-03', timestamptz '2026-01-03', '{}'::jsonb),
             ('Pending', NULL, NULL, NULL)) AS imports (status, started, ended, metrics);
INSERT INTO identities (id, first_name, last_name, first_name_key, last_name_key, supervisor_id, created_date,
                        updated_date, first_seen_date)
VALUES ('00000000-0000-4000-8000-000000000002', 'Ada', 'Byron', 'ada', 'byron', '00000000-0000-4000-8000-000000000002',
        now(), now(), now());
INSERT INTO personnel_events (id, type, reporter_id, reporter_name, identity_id, needed_on, changes)
SELECT gen_random_uuid(), 'Role Transition', id, 'Ada', id, now(),
       jsonb_build_object('supervisor_id', id, 'title', 'Countess') FROM identities;
"""


def test_migrations_move_canceled_imports_and_remove_self_supervision(empty_database: str) -> None:
    files = sorted(FOLDER.glob("[0-9]*.sql"))
    before = [file for file in files if file.name < "0017"]
    with psycopg.connect(empty_database, autocommit=True) as db:
        for file in before:
            with db.transaction():
                db.execute(file.read_bytes())
        db.execute(CANCELED_IMPORT)

        for file in files[len(before) :]:
            with db.transaction():
                db.execute(file.read_bytes())
        schema.make_table(db)
        schema.apply(db, list(schema.digests()))

        by_key = "SELECT status FROM application_imports ORDER BY list_key DESC"
        assert [status for (status,) in db.execute(by_key)] == ["Pending", "Finished", "Canceled"]
        counted = "SELECT total FROM list_contents WHERE list = 'application_imports' AND facet = '{}'"
        assert db.execute(counted).fetchone() == (3,)
        assert db.execute("SELECT supervisor_id FROM identities").fetchall() == [(None,)]
        assert db.execute("SELECT changes FROM personnel_events").fetchall() == [({"title": "Countess"},)]


def contents(db: psycopg.Connection) -> dict[str, list[dict[str, object]]]:
    """Return the rows of tables that migrations must not change."""
    return {
        name: [row for (row,) in db.execute(f"SELECT to_jsonb(t) FROM {name} t ORDER BY to_jsonb(t) ->> 'id'")]
        for name in ("settings", "identities")
    }


# What migrations dropped or renamed before the first release. Later migrations must not drop or rename anything,
# because the previous version of the service must work with the new schema.
DROPPED = {
    ("0040_stored_pages.sql", "DROP TABLE"),
    ("0046_requested_exceptions.sql", "RENAME COLUMN"),
    ("0072_proof_by_imports.sql", "DROP COLUMN"),
}


def test_no_other_migration_drops_or_renames_anything() -> None:
    taking = {
        (file.name, statement)
        for file in FOLDER.glob("[0-9]*.sql")
        for statement in ("DROP TABLE", "DROP COLUMN", "RENAME COLUMN", "RENAME TO", "TRUNCATE TABLE", "ALTER TYPE")
        if statement in file.read_text().upper()
    }

    assert taking == DROPPED


_FUNCTIONS = "SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname = 'webhook_body'"


@pytest.mark.parametrize(("point", "functions", "left"), [("before", 0, len(schema.PACKAGES)), ("after", 1, 0)])
def test_kill_during_a_migration_applies_all_schema_files_or_none(
    empty_database: str, tmp_path: Path, point: str, functions: int, left: int
) -> None:
    (tmp_path / f"schema.{point}-commit").touch()
    command = ("migrate", "--data-dir", tmp_path / "here")

    killed = rolecall(*command, ROLECALL_DATABASE_URL=empty_database, ROLECALL_FAULTS=str(tmp_path))

    assert killed.returncode == -signal.SIGKILL
    with psycopg.connect(empty_database) as db:
        assert db.execute(_FUNCTIONS).fetchone() == (functions,)
    again = rolecall(*command, ROLECALL_DATABASE_URL=empty_database)
    assert (again.returncode, again.stderr) == (
        0,
        f"{left} migrations and schema files applied; the database is up to date\n",
    )
    with psycopg.connect(empty_database) as db:
        assert db.execute(_FUNCTIONS).fetchone() == (1,)


def test_migrate_prints_the_schema_and_changes_nothing(empty_database: str, tmp_path: Path) -> None:
    """The committed docs/schema.sql equals the schema of a new database; run `make schema` after a change."""
    migrate.migrate(empty_database)
    with psycopg.connect(empty_database, autocommit=True) as db:
        if db.info.server_version // 10_000 != 18:
            pytest.skip("another version of PostgreSQL writes some expressions in other words")
        before = db.execute("SELECT name, applied_at FROM schema_files ORDER BY 1").fetchall()

        printed = rolecall("migrate", "--schema", "--data-dir", tmp_path, ROLECALL_DATABASE_URL=empty_database)

        assert printed.returncode == 0
        assert db.execute("SELECT name, applied_at FROM schema_files ORDER BY 1").fetchall() == before
    assert printed.stdout == (REPOSITORY / "docs/schema.sql").read_text()


def test_migrate_prints_no_schema_if_there_is_no_database(tmp_path: Path) -> None:
    refused = rolecall("migrate", "--schema", "--data-dir", tmp_path / "mistyped")

    assert (refused.returncode, refused.stdout) == (1, "")
    assert not (tmp_path / "mistyped").exists()
