"""Migrate a database that did not record history yet, and check that its data about the past is kept."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from rolecall.core import migrate, schema
from tests.conftest import with_database

BEFORE = """
    INSERT INTO identities (id, first_name, last_name, first_name_key, last_name_key, created_date, updated_date,
                            first_seen_date)
    VALUES ('00000000-0000-0000-0000-000000000001', 'Ada', 'Lovelace', 'ada', 'lovelace', now(), now(), now());
    INSERT INTO applications (id, name, name_key, last_updated)
    VALUES ('00000000-0000-0000-0000-000000000002', 'Ledger', 'ledger', now());
    INSERT INTO access_requests (id, action, status, reporter_id, reporter_name, target_type, target_name, identity_id,
                                 application_id, resolved_on, completed_on, created_at, status_since)
    SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, 'Add',
           CASE n WHEN 3 THEN 'Completed' ELSE 'Canceled' END,
           '00000000-0000-0000-0000-000000000001', 'Ada', 'User', 'ada', '00000000-0000-0000-0000-000000000001',
           '00000000-0000-0000-0000-000000000002', '2026-01-05Z', CASE n WHEN 3 THEN '2026-01-06Z'::timestamptz END,
           '2026-01-01Z', '2026-01-06Z'
    FROM generate_series(3, 4) AS n;
    INSERT INTO access_request_events (request_id, application_id, name, created_at, caller_id, caller_name, request)
    SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, '00000000-0000-0000-0000-000000000002',
           'AccessRequest' || name, ('2026-01-0' || day || 'Z')::timestamptz, gen_random_uuid(), 'Ada', '{}'
    FROM (VALUES (3, 'Created', 1), (3, 'Resolved', 2), (3, 'Reopened', 3), (3, 'Resolved', 5), (3, 'Completed', 6),
                 (4, 'Created', 1), (4, 'Resolved', 5), (4, 'Assigned', 6), (4, 'Canceled', 7)) AS given (n, name, day);
    INSERT INTO access_model_members (model_id, identity_id, since, list_key)
    VALUES ('00000000-0000-0000-0000-000000000005', '00000000-0000-0000-0000-000000000001', '2026-01-02Z', 'a');
"""


@pytest.fixture
def url(server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Create a database as it was before the migration; yield its URL."""
    files, folder = sorted(migrate.FOLDER.glob("*.sql")), tmp_path / "migrations"
    folder.mkdir()
    monkeypatch.setattr(migrate, "FOLDER", folder)
    name = sql.Identifier(f"history_{tmp_path.name}"[:60])
    with psycopg.connect(server_url, autocommit=True) as db:
        db.execute(sql.SQL("CREATE DATABASE {}").format(name))
        made = with_database(server_url, name.as_string().strip('"'))
        for file in files:
            if file.name == "0016_history.sql":
                # Leave out the schema files, because their functions need the current tables.
                with monkeypatch.context() as before:
                    before.setattr(schema, "PACKAGES", ())
                    migrate.migrate(made)
                with psycopg.connect(made, autocommit=True) as old:
                    old.execute(BEFORE)
            (folder / file.name).write_bytes(file.read_bytes())
        yield made
        db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def test_migration_keeps_the_times_during_which_requests_were_resolved(url: str) -> None:
    migrate.migrate(url)

    with psycopg.connect(url, autocommit=True, options="-c timezone=UTC") as db:
        rows = db.execute("SELECT request_id, since, until FROM past_resolutions ORDER BY 2").fetchall()
    assert [(str(id)[-1], since.day, until.day) for id, since, until in rows] == [("3", 2, 3), ("4", 5, 7)]


def test_former_membership_keeps_its_start_time(url: str) -> None:
    migrate.migrate(url)

    with psycopg.connect(url, autocommit=True, options="-c timezone=UTC") as db:
        db.execute("DELETE FROM access_model_members")
        [(since, is_now)] = db.execute(
            "SELECT since, until > now() - interval '1 hour' FROM past_model_members"
        ).fetchall()
    assert (f"{since:%Y-%m-%d}", is_now) == ("2026-01-02", True)
