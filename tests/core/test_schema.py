"""Test that schema files are applied when they change, all or nothing, while a service runs."""

import threading
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from rolecall.core import migrate, schema
from rolecall.core.db import Db
from tests.conftest import with_database

ROOT = Path(__file__).parents[2]
TABLES = "CREATE TABLE notes (x int); CREATE TABLE log (x int, y text);"
LOW = "CREATE OR REPLACE FUNCTION twice(x int) RETURNS int LANGUAGE sql IMMUTABLE RETURN 2 * x;"
HIGH = """
CREATE OR REPLACE FUNCTION four_times(x int) RETURNS int LANGUAGE sql IMMUTABLE RETURN twice(twice(x));
CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log VALUES (four_times(NEW.x));
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note AFTER INSERT ON notes FOR EACH ROW EXECUTE FUNCTION note();
CREATE OR REPLACE VIEW logged AS SELECT x, twice(x) AS doubled FROM log;
"""
FIRST = ["0001_tables.sql", "schema/low.sql", "schema/high.sql"]


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.path / f"{name}.sql").write_text(text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Create one migration and two schema files that tests may change."""
    monkeypatch.setattr(migrate, "FOLDER", tmp_path)
    monkeypatch.setattr(schema, "FOLDER", tmp_path)
    monkeypatch.setattr(schema, "PACKAGES", ("low", "high"))
    monkeypatch.setattr(schema, "_PAUSE_SECONDS", 0.05)
    (tmp_path / "0001_tables.sql").write_text(TABLES)
    made = Folder(tmp_path)
    made.write(low=LOW, high=HIGH)
    return made


@pytest.fixture
def url(server_url: str, tmp_path: Path, folder: Folder) -> Iterator[str]:
    name = sql.Identifier(f"schema_{tmp_path.name}"[:60])
    with psycopg.connect(server_url, autocommit=True) as db:
        db.execute(sql.SQL("CREATE DATABASE {}").format(name))
        yield with_database(server_url, name.as_string().strip('"'))
        db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def objects(url: str) -> set[str]:
    with psycopg.connect(url) as db:
        rows = db.execute(
            """SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
               UNION ALL SELECT tgname || ' on ' || tgrelid::regclass FROM pg_trigger WHERE NOT tgisinternal
               UNION ALL SELECT relname FROM pg_class WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace"""
        ).fetchall()
    return {name for (name,) in rows}


def value(url: str, query: str) -> object:
    with psycopg.connect(url) as db:
        row = db.execute(query.encode()).fetchone()
    return row and row[0]


ALL = {"twice", "four_times", "note", "note on notes", "logged"}


def test_schema_files_are_applied_after_the_migrations_in_order_and_once(url: str) -> None:
    assert migrate.migrate(url) == FIRST
    assert objects(url) == ALL
    assert migrate.migrate(url) == []


def test_editing_a_schema_file_reapplies_only_that_file(url: str, folder: Folder) -> None:
    migrate.migrate(url)
    before = value(url, "SELECT xmin::text FROM pg_proc WHERE proname = 'four_times'")
    folder.write(low=LOW.replace("2 * x", "20 * x"))

    with pytest.raises(schema.MigrationError, match=r"it lacks schema/low\.sql; run `rolecall migrate`"):
        migrate.check(url)
    assert migrate.migrate(url) == ["schema/low.sql"]

    assert value(url, "SELECT four_times(1)") == 400
    assert value(url, "SELECT xmin::text FROM pg_proc WHERE proname = 'four_times'") == before
    migrate.check(url)


def test_change_of_a_generator_file_reapplies_every_file(
    url: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "_GENERATORS", ("low",))
    migrate.migrate(url)
    folder.write(low=LOW + "-- changed")

    assert migrate.migrate(url) == FIRST[1:]


def test_migration_reapplies_every_file(url: str, folder: Folder) -> None:
    """Audit triggers list the columns of their tables, and a migration may add columns."""
    migrate.migrate(url)
    (folder.path / "0002_more.sql").write_text("ALTER TABLE notes ADD COLUMN y int;")

    assert migrate.migrate(url) == ["0002_more.sql", *FIRST[1:]]
    assert migrate.migrate(url) == []


def test_object_removed_from_its_file_is_dropped(url: str, folder: Folder) -> None:
    migrate.migrate(url)
    folder.write(high="CREATE OR REPLACE FUNCTION four_times(x int) RETURNS int LANGUAGE sql RETURN twice(twice(x));")

    assert migrate.migrate(url) == ["schema/high.sql"]

    assert objects(url) == {"twice", "four_times"}


def test_objects_of_a_deleted_schema_file_are_dropped(
    url: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate.migrate(url)
    monkeypatch.setattr(schema, "PACKAGES", ("low",))

    assert migrate.migrate(url) == ["schema/high.sql"]

    assert objects(url) == {"twice"}
    assert migrate.migrate(url) == []


def test_object_moved_to_another_file_stays(url: str, folder: Folder) -> None:
    migrate.migrate(url)
    view = HIGH[HIGH.index("CREATE OR REPLACE VIEW") :]
    folder.write(low=LOW + view, high=HIGH.replace(view, ""))

    assert migrate.migrate(url) == FIRST[1:]

    assert objects(url) == ALL


def test_changed_signature_replaces_the_function(url: str, folder: Folder) -> None:
    migrate.migrate(url)
    folder.write(high=HIGH + "CREATE OR REPLACE FUNCTION add(x int) RETURNS int LANGUAGE sql RETURN x;")
    migrate.migrate(url)
    folder.write(high=HIGH + "CREATE OR REPLACE FUNCTION add(x int, y int) RETURNS int LANGUAGE sql RETURN x + y;")

    migrate.migrate(url)

    assert value(url, "SELECT count(*) FROM pg_proc WHERE proname = 'add'") == 1
    assert value(url, "SELECT add(1, 2)") == 3


def test_a_function_that_a_table_needs_is_not_dropped(url: str, folder: Folder) -> None:
    migrate.migrate(url)
    with psycopg.connect(url) as db:
        db.execute("CREATE TABLE kept (x int, y int GENERATED ALWAYS AS (four_times(x)) STORED)")
    folder.write(high="")

    said = r"^DROP ROUTINE .*four_times.*: cannot drop .* because other objects depend on them"
    with pytest.raises(schema.MigrationError, match=said):
        migrate.migrate(url)

    assert objects(url) == ALL


def test_a_broken_schema_file_is_named_and_leaves_everything_as_it_was(url: str, folder: Folder) -> None:
    migrate.migrate(url)
    folder.write(low=LOW.replace("2 * x", "20 * x"), high=HIGH + "SELECT nonsense;")

    with pytest.raises(schema.MigrationError, match=r"^schema/high\.sql, line 10: column .nonsense. does not exist"):
        migrate.migrate(url)

    assert value(url, "SELECT four_times(1)") == 4
    folder.write(high=HIGH)
    assert migrate.migrate(url) == ["schema/low.sql"]


def test_concurrent_runs_apply_a_schema_file_once(url: str, folder: Folder) -> None:
    migrate.migrate(url)
    folder.write(high=HIGH + "-- changed")

    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(migrate.migrate, [url] * 4))

    assert sorted(applied) == [[], [], [], ["schema/high.sql"]]


def test_locked_table_delays_its_trigger_but_not_other_writers(url: str, folder: Folder) -> None:
    migrate.migrate(url)
    folder.write(high=HIGH + "-- changed")
    with psycopg.connect(url) as busy, psycopg.connect(url, autocommit=True) as other:
        busy.execute("INSERT INTO notes VALUES (1)")
        applying = threading.Thread(target=migrate.migrate, args=(url,))
        applying.start()
        other.execute("SET statement_timeout = '30s'")
        for n in range(5):
            time.sleep(0.1)
            other.execute("INSERT INTO notes VALUES (%s)", (n,))
        assert applying.is_alive()
        busy.commit()
        applying.join(30)

    assert not applying.is_alive()
    assert migrate.migrate(url) == []


def test_schema_change_is_retried_after_a_deadlock(url: str, folder: Folder) -> None:
    trigger = "CREATE OR REPLACE TRIGGER note AFTER INSERT ON {} FOR EACH ROW EXECUTE FUNCTION note();"
    # The schema file locks the table `log` before `notes`; the service locks them in the opposite order.
    quiet = HIGH.replace("INSERT INTO log VALUES (four_times(NEW.x));", "")
    folder.write(
        high=quiet.replace(
            trigger.format("notes"), trigger.format("log") + "\nSELECT pg_sleep(0.1);\n" + trigger.format("notes")
        )
    )
    migrate.migrate(url)
    folder.write(high=(folder.path / "high.sql").read_text() + "-- changed")
    with psycopg.connect(url) as service:
        service.execute("INSERT INTO notes VALUES (1)")
        applying = threading.Thread(target=migrate.migrate, args=(url,))
        applying.start()
        time.sleep(0.05)
        service.execute("INSERT INTO log VALUES (1)")
        service.commit()
        applying.join(30)

    assert not applying.is_alive()
    assert migrate.migrate(url) == []


async def test_older_program_keeps_the_functions_of_a_newer_one(url: str, folder: Folder) -> None:
    migrate.migrate(url)
    with psycopg.connect(url) as db:
        db.execute("UPDATE schema_files SET version = '{99,1,2}', sha256 = 'newer' WHERE name = 'schema/low.sql'")

    with pytest.raises(
        schema.MigrationError, match=r"newer than this program: it has the functions of version 99\.1\.2"
    ):
        migrate.migrate(url)
    async with await psycopg.AsyncConnection.connect(url) as running:
        assert await migrate.is_current(running)


async def test_program_is_not_ready_before_its_functions_are_applied(url: str, folder: Folder) -> None:
    migrate.migrate(url)
    folder.write(high=HIGH + "-- changed")

    async with await psycopg.AsyncConnection.connect(url) as db:
        assert await migrate.differences(db) == (["schema/high.sql"], [])
        assert not await migrate.is_current(db)


def test_schema_files_are_in_the_order_of_imports() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.strip("()") for row in contracts[0]["layers"] for layer in row.split(" | ")]
    packages = [package for package in schema.PACKAGES if package != "constants"]

    assert packages == sorted(packages, key=lambda package: -layers.index(package))
    assert {file.stem for file in schema.FOLDER.glob("*.sql")} == set(schema.PACKAGES)
    assert schema.PACKAGES[0] == "constants"


@pytest.mark.parametrize("package", schema.PACKAGES)
def test_schema_file_starts_with_a_description(package: str) -> None:
    assert (schema.FOLDER / f"{package}.sql").read_text().startswith("-- ")


async def test_reapplying_every_schema_file_changes_nothing(db: Db, database_url: str) -> None:
    before = await _definitions(db)

    with psycopg.connect(database_url, autocommit=True) as here:
        schema.apply(here, list(schema.digests()))

    assert await _definitions(db) == before


async def _definitions(db: Db) -> list[tuple[str, ...]]:
    cursor = await db.execute(
        """SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
           UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1"""
    )
    return await cursor.fetchall()
