import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from rolecall.core import migrate, schema
from tests.conftest import with_database


@pytest.fixture
def url(
    server_url: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Create an empty database and a folder of migrations that tests may change, without schema files."""
    monkeypatch.setattr(migrate, "FOLDER", tmp_path)
    monkeypatch.setattr(schema, "PACKAGES", ())
    (tmp_path / "0001_first.sql").write_text("CREATE TABLE first (x int); CREATE TABLE also (x int);")
    (tmp_path / "0002_second.sql").write_text("CREATE TABLE second (x int);")
    name = sql.Identifier(f"migrate_{tmp_path.name}"[:60])
    with psycopg.connect(server_url, autocommit=True) as db:
        db.execute(sql.SQL("CREATE DATABASE {}").format(name))
        yield with_database(server_url, name.as_string().strip('"'))
        db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def test_migrations_are_applied_once_and_in_order(url: str) -> None:
    assert migrate.migrate(url) == ["0001_first.sql", "0002_second.sql"]
    assert migrate.migrate(url) == []


def test_concurrent_runs_apply_each_migration_once(url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(migrate.migrate, [url] * 4))

    assert sorted(applied) == [[], [], [], ["0001_first.sql", "0002_second.sql"]]


def test_failed_migration_is_rolled_back(url: str, tmp_path: Path) -> None:
    (tmp_path / "0003_third.sql").write_text("CREATE TABLE third (x int); SELECT nonsense;")

    said = 'third.sql, line 1: column "nonsense" does not exist; its transaction was rolled back'
    with pytest.raises(schema.MigrationError, match=said):
        migrate.migrate(url)

    with psycopg.connect(url) as db:
        tables = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
    assert [name for (name,) in tables] == ["also", "first", "migrations", "schema_files", "second"]


def test_changed_migration_is_rejected(url: str, tmp_path: Path) -> None:
    migrate.migrate(url)
    (tmp_path / "0001_first.sql").write_text("CREATE TABLE other (x int);")

    with pytest.raises(schema.MigrationError, match=r"0001_first\.sql was changed after it was applied"):
        migrate.migrate(url)


def test_comments_of_an_applied_migration_may_be_corrected(url: str, tmp_path: Path) -> None:
    migrate.migrate(url)
    (tmp_path / "0001_first.sql").write_text(
        "-- Two tables.\nCREATE TABLE first (x int); CREATE TABLE also (x int);\n    -- The end."
    )

    assert migrate.migrate(url) == []


def test_database_with_digests_of_whole_files_is_migrated(url: str) -> None:
    migrate.migrate(url)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE migrations SET sha256 = repeat('0', 64)")

    assert migrate.migrate(url) == []


def test_a_database_of_a_newer_program_is_refused(url: str, tmp_path: Path) -> None:
    migrate.migrate(url)
    (tmp_path / "0002_second.sql").unlink()

    with pytest.raises(schema.MigrationError, match=r"newer than this program: it has 0002_second\.sql"):
        migrate.migrate(url)


def test_a_migrated_database_needs_no_right_to_create(url: str) -> None:
    migrate.migrate(url)
    role = f"plain_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE ROLE {role}")
        db.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
        db.execute(f"GRANT {role} TO CURRENT_USER")
        try:
            as_plain = psycopg.conninfo.make_conninfo(url, options=f"-c role={role}")
            with psycopg.connect(as_plain) as plain, pytest.raises(psycopg.errors.InsufficientPrivilege):
                plain.execute("CREATE TABLE may_not (x int)")

            assert migrate.migrate(as_plain) == []
            migrate.check(as_plain)
        finally:
            db.execute(f"DROP OWNED BY {role}")
            db.execute(f"DROP ROLE {role}")


def test_check_does_not_change_the_database(url: str, tmp_path: Path) -> None:
    with pytest.raises(schema.MigrationError, match="the database is empty"):
        migrate.check(url)
    with psycopg.connect(url) as db:
        assert db.execute("SELECT to_regclass('migrations')").fetchone() == (None,)
    assert migrate.is_new(migrate.migrate(url))
    (tmp_path / "0003_third.sql").write_text("CREATE TABLE third (x int);")

    with pytest.raises(schema.MigrationError, match=r"older than this program: it lacks 0003_third\.sql; run"):
        migrate.check(url)

    assert not migrate.is_new(migrate.migrate(url))


def test_migrations_are_numbered_without_gaps() -> None:
    names = [file.name for file in _real_migrations()]

    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))


# Generated columns and indexes store the results of these functions, so migrations create and replace them.
STORED = {"time_key", "in_any_case", "permission_in_any_case", "username_key", "username_skeleton"}


def test_functions_triggers_and_views_are_in_schema_files_not_in_migrations() -> None:
    made = re.compile(
        r"\bCREATE (?:OR REPLACE )?(?:CONSTRAINT )?(FUNCTION|PROCEDURE|TRIGGER|VIEW) (\w+)|\b(CALL) (\w+)", re.I
    )

    found = {
        next(filter(None, reversed(match))) for file in _real_migrations() for match in made.findall(file.read_text())
    }

    assert found == STORED


def _real_migrations() -> list[Path]:
    return sorted((Path(migrate.__file__).parents[1] / "migrations").glob("*.sql"))
