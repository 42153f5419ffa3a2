"""Test that the reason why an import failed is stored in a column, which the console shows."""

import random

import pytest

from rolecall.application_imports import queries
from rolecall.core.db import Db, execute
from rolecall.core.migrate import FOLDER
from tests.application_imports.running import Imports
from tests.builders import an_application, an_import

PEOPLE = "Employee ID,First Name,Last Name,State\n1,Ada,Byron,Inactive\n"
MIGRATION = FOLDER / "0019_import_failures.sql"


async def test_failed_import_stores_its_reason_without_the_timestamp_of_the_log(imports: Imports, db: Db) -> None:
    run = await imports.run(await an_application(db), {"Users": "Name\nAda\n"})

    failure = await queries.failure_of(db, run["id"])

    assert failure == "users.csv, line 1: the column Username is missing; the columns found are Name"
    assert run["log"].splitlines()[-1][21:] == f"Failed: {failure}"


async def test_finished_import_has_no_failure(imports: Imports, db: Db) -> None:
    run = await imports.finish(await an_application(db), {"Users": "Username\nada\n"})

    assert await queries.failure_of(db, run["id"]) is None


async def test_import_interrupted_too_often_stores_the_interruptions_as_its_failure(imports: Imports, db: Db) -> None:
    run = await imports.upload(await an_application(db), {"Users": "Username\nada\n"})
    await db.execute("UPDATE application_imports SET status = 'Running', build_start = now()")
    await db.execute("INSERT INTO import_runs (import_id, attempts) SELECT id, 3 FROM application_imports")

    await imports.work()

    assert await queries.failure_of(db, run["id"]) == "interrupted 3 times; it is not retried"


async def test_migration_takes_the_reasons_of_failed_imports_from_their_logs(db: Db) -> None:
    failed, finished = await an_import(db, status="Failed"), await an_import(db, status="Finished")
    for id in (failed, finished):
        for text in ("Started", "Failed: Users: /x.csv cannot be read: Failed: no route"):
            line = f"2026-11-16T05:00:00Z {text}"
            await execute(db, "INSERT INTO import_log (import_id, line) VALUES (%(id)s, %(line)s)", id=id, line=line)
    await db.execute("ALTER TABLE application_imports DROP COLUMN failure")

    await db.execute(MIGRATION.read_text())

    assert await queries.failure_of(db, failed) == "Users: /x.csv cannot be read: Failed: no route"
    assert await queries.failure_of(db, finished) is None


@pytest.mark.parametrize(
    ("group", "columns", "cells", "what"),
    [
        ("Users", "Username", "{}", "a username"),
        ("Users", "Username,Employee ID", "ada,{}", "a name, an e-mail address, an employee ID or a last login"),
        ("Groups", "Group", "{}", "the name of a group"),
        ("Groups", "Group,Parent", "Finance,{}", "the parent of a group"),
        ("Permissions", "Username,Permission", "ada,{}", "a permission with its section and its header"),
    ],
)  # fmt: skip
async def test_import_with_a_value_too_long_for_the_database_says_which(
    imports: Imports, db: Db, group: str, columns: str, cells: str, what: str
) -> None:
    # Random, so that the database cannot compress it.
    long = random.Random(1).randbytes(4000).hex()
    files = {"Users": "Username\nada\n", group: f"{columns}\n{cells.format(long)}\n"}

    run = await imports.run(await an_application(db), files)

    assert run["status"] == "Failed"
    assert str(await queries.failure_of(db, run["id"])).startswith(f"{what} is too long: the database accepts about")


@pytest.mark.parametrize(
    ("content", "field", "first", "renamed"),
    [
        ("users", "Active", "Username,State\nada,No\n", "Username,Account State\nada,No\n"),
        ("users", "Locked", "Username,State\nada,Yes\n", "Username,Account State\nada,Yes\n"),
        ("identities", "Status", PEOPLE, PEOPLE.replace("State", "Standing")),
    ],
)  # fmt: skip
async def test_import_without_the_mapped_column_of_a_state_fails(
    imports: Imports, db: Db, content: str, field: str, first: str, renamed: str
) -> None:
    group = {"name": "Files", "content": content, "columns": {"State": field}}
    connector = {"name": "Files", "files": [group]}
    application = await an_application(db, connector=connector, isIdentitySource=content == "identities")
    await imports.finish(application, {"Files": first})

    run = await imports.run(application, {"Files": renamed})

    assert run["status"] == "Failed"
    assert f"the column State, read as {field}, is missing" in run["log"]
