"""Test that only accounts affected by an import or an identity change are matched again, and never concurrently."""

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2
import psycopg
import pytest

from rolecall.accounts import matching
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from tests.application_imports.running import Imports
from tests.builders import an_application, an_identity

HEADER = "Username,First Name,Last Name,Email,Employee ID\n"
LATER = datetime(2035, 1, 1, tzinfo=UTC)


@pytest.fixture
def imports(client: httpx2.AsyncClient, config: Config) -> Imports:
    return Imports(client, config)


async def accounts(client: httpx2.AsyncClient, application: UUID) -> dict[str, dict[str, Any]]:
    items = (await client.get(f"/api/applications/{application}/accounts")).json()["items"]
    return {item["username"]: item for item in items}


async def match_later(db: Db) -> int:
    async with db.transaction():
        return await matching.match_changed_identities(db, LATER)


async def matched_later(client: httpx2.AsyncClient, application: UUID) -> dict[str, str]:
    """Return the match of each account whose match changed after its import."""
    found = await accounts(client, application)
    return {name: item["match"] for name, item in found.items() if item["matchedOn"] == "2035-01-01T00:00:00Z"}


async def test_account_is_matched_to_a_new_identity_by_employee_id_email_or_name(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    application = await an_application(db)
    lines = "by-id,,,,e7\nby-mail,,,ADA@x.test,\nby-name,Eve,Moss,,\nother,Eve,Stone,eve@x.test,E8\nnobody,,,,\n"
    await imports.finish(application, {"Users": HEADER + lines})

    seven = await an_identity(db, "Sue", "Seven")
    await db.execute("UPDATE identities SET employee_id = 'E7' WHERE id = %s", (seven,))
    ada = await an_identity(db, "Ada", "Lovelace", email="ada@X.test")
    eve = await an_identity(db, "Eve", "Moss")

    assert await match_later(db) == 3
    assert await matched_later(client, application) == {"by-id": "Employee ID", "by-mail": "Email", "by-name": "Name"}
    found = await accounts(client, application)
    assert [found[name]["identityId"] for name in ("by-id", "by-mail", "by-name", "other", "nobody")] == [
        str(seven),
        str(ada),
        str(eve),
        None,
        None,
    ]


async def test_account_is_matched_by_name_when_its_email_no_longer_matches(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    ada = await an_identity(db, "Ada", "Lovelace", email="ada@x.test")
    application = await an_application(db)
    await imports.finish(application, {"Users": HEADER + "ada,Ada,Lovelace,ada@x.test,\nbob,Bob,Stone,,\n"})

    await db.execute("UPDATE identities SET email_address = 'countess@x.test' WHERE id = %s", (ada,))
    assert await match_later(db) == 1
    assert await matched_later(client, application) == {"ada": "Name"}


async def test_match_that_stays_the_same_keeps_its_date(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db, "Ada", "Lovelace", email="ada@x.test")
    application = await an_application(db)
    await imports.finish(application, {"Users": HEADER + "ada,,,ada@x.test,\n"})

    await db.execute("UPDATE identities SET first_name = 'Augusta', first_name_key = 'augusta' WHERE id = %s", (ada,))

    assert await match_later(db) == 0
    assert await matched_later(client, application) == {}


async def test_former_values_of_an_account_do_not_match(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, {"Users": HEADER + "moved,Eve,Moss,old@x.test,E1\ngone,,,gone@x.test,\n"})
    await imports.finish(application, {"Users": HEADER + "moved,Eva,Moos,new@x.test,E2\n"})

    old = await an_identity(db, "Eve", "Moss", email="old@x.test")
    await db.execute("UPDATE identities SET employee_id = 'E1' WHERE id = %s", (old,))
    await an_identity(db, "Gone", "Goner", email="gone@x.test")

    assert await match_later(db) == 0
    assert (await accounts(client, application))["moved"]["match"] == "Unmatched"
    assert await fetch_value(db, "SELECT count(*) FROM accounts WHERE match <> 'Unmatched'") == 0


async def test_import_log_counts_only_accounts_of_the_current_import(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    await an_identity(db, "Ada", "Lovelace", email="ada@x.test")
    for _ in range(2):
        await an_identity(db, "John", "Smith")
    other, application = await an_application(db, "Other"), await an_application(db)
    await imports.finish(other, {"Users": HEADER + "a,,,ada@x.test,\nb,,,b@x.test,\n"})
    first = await imports.finish(
        application, {"Users": HEADER + "a,,,ada@x.test,\nj,John,Smith,,\nu,,,u@x.test,\nv,,,v@x.test,\n"}
    )
    second = await imports.finish(application, {"Users": HEADER + "a,,,ada@x.test,\nv,Vic,,v@x.test,\n"})

    assert "Accounts: 1 matched, 2 unmatched, 1 disputed" in str(first["log"])
    assert "Accounts: 1 matched, 1 unmatched, 0 disputed" in str(second["log"])


async def test_unpinning_an_account_does_not_match_other_accounts(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    await an_identity(db, "Ada", "Lovelace", email="ada@x.test")
    application = await an_application(db)
    await imports.finish(application, {"Users": HEADER + "a,,,ada@x.test,\nb,,,ada@x.test,\n"})
    found = await accounts(client, application)
    for item in found.values():
        await client.put(f"/api/accounts/{item['id']}/match", json={"never": True})
    # Remove the pin of b in the table, so that b would match Ada again if it were matched along with a.
    await db.execute("UPDATE accounts SET pin = NULL WHERE username = 'b'")

    assert (await client.delete(f"/api/accounts/{found['a']['id']}/match")).status_code == 204

    assert {name: item["match"] for name, item in (await accounts(client, application)).items()} == {
        "a": "Email",
        "b": "Never",
    }


@pytest.mark.parametrize("what", ["changed identities", "an import"])
async def test_concurrent_matchings_are_serialized(db: Db, clean_database: str, what: str) -> None:
    """Concurrent matchings would miss each other's uncommitted changes."""
    await an_identity(db)
    async with await psycopg.AsyncConnection.connect(clean_database) as other:
        await matching.take_turn(other)
        now = clock.now()
        work = (
            matching.match_imported(db, 1, now) if what == "an import" else matching.match_changed_identities(db, now)
        )
        waiting = asyncio.create_task(_in_transaction(db, work))
        await until_one_waits(other)
        assert not waiting.done()
        await other.rollback()
        await waiting


async def _in_transaction(db: Db, work: Any) -> None:
    async with db.transaction():
        await work


async def until_one_waits(db: Db) -> None:
    """Wait until another transaction is blocked by a lock."""
    sql = """SELECT count(*) FROM pg_locks WHERE NOT granted
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
    async with asyncio.timeout(60):
        while not await fetch_value(db, sql):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
