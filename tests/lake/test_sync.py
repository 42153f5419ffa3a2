"""Test that the lake equals the database after a sync, even if earlier syncs were killed or used another database."""

import asyncio
import os
import random
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import psycopg
import pytest
from deltalake import DeltaTable, write_deltalake

from rolecall.core import clock
from rolecall.core.db import Db, execute, fetch_value
from rolecall.lake.sync import SYNCS, compact, location, sync
from rolecall.lake.tables import TABLES, TIME, LakeTable
from tests.builders import an_access_model, an_access_request, an_application, an_identity
from tests.cli.commands import environment, typed
from tests.conftest import with_database
from tests.holdings import an_account, remove_account

PAY = ("Payments", "Pay", "Grant", "High")
# The number of times that the sync is killed; the long tests use 50.
MOMENTS = int(os.environ.get("ROLECALL_LAKE_MOMENTS", "3"))


def in_lake(lake: Path, table: LakeTable) -> set[tuple[Any, ...]]:
    """Read a table as other engines do: the Parquet files that the Delta log lists."""
    opened = DeltaTable(location(str(lake), table.name))
    if not opened.file_uris():
        return set()
    columns = ", ".join(f'epoch_us("{name}")' if type == TIME else f'"{name}"' for name, type in table.schema.items())
    files = f"read_parquet({opened.file_uris()!r}, hive_partitioning = true, hive_types_autocast = false)"
    with duckdb.connect() as reader:
        return {_plain(row) for row in reader.execute(f"SELECT {columns} FROM {files}").fetchall()}


def in_database(url: str, table: LakeTable) -> set[tuple[Any, ...]]:
    columns = ", ".join(f'{sql} AS "{name}"' for name, (_, sql) in table.columns.items())
    with psycopg.connect(url) as db:
        db.execute("SET timezone = 'UTC'")
        return {_plain(row) for row in db.execute(f"SELECT {columns} FROM {table.source}").fetchall()}


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        value if value is None or isinstance(value, (int, str, bool))
        else round(value.timestamp() * 1_000_000) if isinstance(value, datetime)
        else tuple(value) if isinstance(value, list)
        else str(value)
        for value in row
    )  # fmt: skip


def assert_equal(lake: Path, url: str) -> None:
    for each in TABLES:
        opened = DeltaTable(location(str(lake), each.name))
        assert in_lake(lake, each) == in_database(url, each), each.name
        assert opened.count() == len(in_database(url, each)), each.name


def written(url: str, lake: Path, **options: bool) -> dict[str, int]:
    return {each.name: each.written for each in sync(url, str(lake), **options) if each.written}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


async def transactions_ended(db: Db) -> None:
    """Wait until all transactions that are running on the server now have ended."""
    written = await fetch_value(db, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
    while await fetch_value(db, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint") < written:  # noqa: ASYNC110
        await asyncio.sleep(0.05)


async def some_access(db: Db, name: str = "Payroll") -> None:
    application = await an_application(db, name)
    ada = await an_identity(db)
    await an_account(db, application, "ada", ada, groups=("Clerks",), permissions=(PAY,))
    await an_access_model(db, f"Clerks of {name}")
    await an_access_request(db, application_id=application, identity_id=ada)


async def test_lake_equals_the_database(db: Db, clean_database: str, lake: Path) -> None:
    await some_access(db)

    written(clean_database, lake)

    assert_equal(lake, clean_database)
    assert DeltaTable(location(str(lake), SYNCS)).count() == 1


async def test_lake_does_not_depend_on_the_time_zone_of_the_session(
    db: Db, clean_database: str, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await some_access(db)
    monkeypatch.setenv("PGTZ", "Asia/Kathmandu")

    written(clean_database, lake)

    assert_equal(lake, clean_database)


async def test_sync_is_dated_by_the_clock_of_the_service(clean_database: str, lake: Path) -> None:
    moment = datetime(2030, 5, 6, 7, 8, 9, tzinfo=UTC)
    clock.stop_at(moment)

    written(clean_database, lake)

    assert pl.read_delta(location(str(lake), SYNCS)).get_column("synced_on").to_list() == [moment]


async def test_only_changes_are_written(db: Db, clean_database: str, lake: Path) -> None:
    await some_access(db)
    await transactions_ended(db)
    written(clean_database, lake)
    await an_identity(db, "Grace", "Hopper")
    await transactions_ended(db)

    assert written(clean_database, lake).keys() == {"identities", "audit"}
    assert written(clean_database, lake) == {}
    assert_equal(lake, clean_database)


async def test_changed_and_removed_rows_are_synchronized(db: Db, clean_database: str, lake: Path) -> None:
    await some_access(db)
    application = await fetch_value(db, "SELECT id FROM applications")
    written(clean_database, lake)
    await execute(db, "UPDATE identities SET title = 'Countess'")
    await remove_account(db, application, "ada")
    await execute(db, "DELETE FROM privileges")

    done = {each.name: each for each in sync(clean_database, str(lake))}

    assert done["request_privileges"].removed == done["request_privileges"].written + 1
    assert_equal(lake, clean_database)


async def test_rows_of_a_running_transaction_are_copied_by_the_next_sync(
    db: Db, clean_database: str, lake: Path
) -> None:
    """The row is written in a savepoint. Snapshots do not list the transaction id of a savepoint as running."""
    async with await psycopg.AsyncConnection.connect(clean_database) as slow:
        await slow.execute("SELECT pg_current_xact_id()")
        async with slow.transaction():
            await slow.execute("UPDATE lists SET name = name")
            await an_identity(slow, "Late", "Comer")
        await an_identity(db)
        written(clean_database, lake)
        await slow.commit()

    written(clean_database, lake)

    assert_equal(lake, clean_database)


async def test_killed_sync_can_be_repeated(db: Db, clean_database: str, lake: Path, tmp_path: Path) -> None:
    choose = random.Random(7)
    faults = tmp_path / "faults"
    faults.mkdir()
    command = [sys.executable, "-m", "rolecall", "lake", "sync", str(lake)]
    environ = environment(ROLECALL_DATABASE_URL=clean_database, ROLECALL_FAULTS=str(faults))
    for moment in range(MOMENTS):
        await some_access(db, f"Application {moment}")
        await execute(db, "UPDATE identities SET title = %(title)s", title=f"Title {moment}")
        await execute(db, "DELETE FROM privileges WHERE random() < 0.3")
        (faults / f"lake.{choose.choice(TABLES).name}").touch()

        killed = await asyncio.to_thread(subprocess.run, command, env=environ, capture_output=True, check=False)
        assert killed.returncode == -9, killed.stderr
        written(clean_database, lake)

        assert_equal(lake, clean_database)
    assert DeltaTable(location(str(lake), SYNCS)).count() == MOMENTS


async def test_tables_of_another_database_are_replaced(
    db: Db, clean_database: str, server_url: str, lake: Path
) -> None:
    await some_access(db)
    written(clean_database, lake)
    other = f"lake_{os.getpid()}"
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {other} TEMPLATE rolecall_template")
        try:
            written(with_database(server_url, other), lake)
            assert_equal(lake, with_database(server_url, other))
        finally:
            server.execute(f"DROP DATABASE {other} WITH (FORCE)")


async def test_table_that_another_program_changed_is_replaced(db: Db, clean_database: str, lake: Path) -> None:
    await some_access(db)
    written(clean_database, lake)
    DeltaTable(location(str(lake), "identities")).delete()

    written(clean_database, lake)

    assert_equal(lake, clean_database)


async def test_table_with_other_columns_is_replaced(db: Db, clean_database: str, lake: Path) -> None:
    await some_access(db)
    written(clean_database, lake)
    write_deltalake(
        location(str(lake), "accounts"), pl.DataFrame({"id": ["x"]}), mode="overwrite", schema_mode="overwrite"
    )

    written(clean_database, lake)

    assert_equal(lake, clean_database)


async def test_full_sync_replaces_every_table(db: Db, clean_database: str, lake: Path) -> None:
    await some_access(db)
    written(clean_database, lake)

    assert written(clean_database, lake, full=True)["identities"] == 1
    assert_equal(lake, clean_database)


async def test_compaction_keeps_all_rows(db: Db, clean_database: str, lake: Path) -> None:
    for number in range(4):
        await an_identity(db, f"Ada {number}")
        await transactions_ended(db)
        written(clean_database, lake)

    compact(str(lake))

    assert len(DeltaTable(location(str(lake), "identities")).file_uris()) == 1
    assert_equal(lake, clean_database)
    assert written(clean_database, lake) == {}


async def test_recorded_versions_come_from_one_snapshot(db: Db, clean_database: str, lake: Path) -> None:
    await an_identity(db)
    written(clean_database, lake)
    await an_identity(db, "Grace", "Hopper")
    written(clean_database, lake)

    versions = (
        pl.read_delta(location(str(lake), SYNCS))
        .sort("synced_on")["versions"]
        .str.json_decode(pl.Struct({"identities": pl.Int64(), "audit": pl.Int64()}))
    )
    counts = [
        [DeltaTable(location(str(lake), name), version=each[name]).count() for name in ("identities", "audit")]
        for each in versions
    ]

    assert counts == [[1, 1], [2, 2]]


async def test_concurrent_sync_is_refused(db: Db, clean_database: str, lake: Path) -> None:
    running = sync(clean_database, str(lake))
    next(running)

    refused = typed("lake", "sync", lake, ROLECALL_DATABASE_URL=clean_database)

    assert refused.returncode == 1
    assert "Another sync of the lake is running" in refused.stderr
    list(running)


async def test_command_prints_the_numbers_of_rows(db: Db, clean_database: str, lake: Path) -> None:
    await an_identity(db)

    done = typed("lake", "sync", lake, "--compact", ROLECALL_DATABASE_URL=clean_database)

    assert done.returncode == 0, done.stderr
    assert "identities" in done.stdout
    assert "1 rows   1 written, 0 removed" in done.stdout


async def test_error_names_a_lake_that_cannot_be_written(db: Db, clean_database: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")

    done = typed("lake", "sync", tmp_path / "file", ROLECALL_DATABASE_URL=clean_database)

    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert str(tmp_path / "file") in done.stderr
