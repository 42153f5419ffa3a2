from typing import Any

import httpx2
import pytest

from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from tests.builders import an_application
from tests.entitlements.test_list import a_ledger, entitlement
from tests.holdings import a_finished_import, an_account
from tests.nesting import give, some_groups


async def read(client: httpx2.AsyncClient, id: str, what: str = "holders", **params: Any) -> Any:
    answer = await client.get(f"/api/entitlements/{id}/{what}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ways(page: Any) -> list[tuple[str, list[str]]]:
    return [(item["account"]["username"], item["path"]) for item in page["items"]]


async def test_holders_are_listed_by_username_with_the_groups_on_their_path(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)

    approve = await read(client, (await entitlement(client, "Approve"))["id"])
    approvers = await read(client, (await entitlement(client, "Wire approvers"))["id"])
    close = await read(client, (await entitlement(client, "Close"))["id"])

    assert ways(approve) == [("ada", ["Clerks", "Wire approvers"]), ("bo", ["Wire approvers"])]
    assert ways(approvers) == [("ada", ["Clerks"]), ("bo", [])]
    assert ways(close) == [("ada", [])]
    [ada, bo] = approve["items"]
    assert (ada["identity"]["name"], ada["identity"]["status"], bo["identity"]) == ("Ada Ledger", "Active", None)
    assert (ada["access"], ada["until"], ada["since"]["number"]) == ("Grant", None, 1)
    assert approve["totalCount"] == 2


async def test_account_is_listed_once_per_path_and_counted_once(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await an_application(db, "Ledger")
    run = await some_groups(db, ledger, {"Approvers": "", "Clerks": "Approvers"})
    await give(db, ledger, "Approvers", "Approve", run)
    await give(db, ledger, "Clerks", "Approve", run)
    await an_account(db, ledger, "ada", None, groups=("Clerks", "Approvers"), run=run)
    found = await entitlement(client, "Approve")

    page = await read(client, found["id"])

    assert sorted(ways(page)) == [("ada", ["Approvers"]), ("ada", ["Clerks"]), ("ada", ["Clerks", "Approvers"])]
    assert found["holders"] == {"accounts": 1, "identities": 0}


async def test_holder_of_an_assignment_that_was_removed_and_restored_is_listed_once(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await an_application(db, "Ledger")
    first = await a_finished_import(db, ledger)
    approve = ("Wires", "Approve", "Grant", "Low")
    await an_account(db, ledger, "ada", None, permissions=(approve,), run=first)
    second = await a_finished_import(db, ledger)
    await execute(db, "UPDATE assignments SET until_import = %(run)s", run=second)
    third = await a_finished_import(db, ledger)
    await execute(
        db,
        """INSERT INTO assignments SELECT holder_number, permission_number, access, %(run)s, NULL, value
           FROM assignments""",
        run=third,
    )
    id = (await entitlement(client, "Approve"))["id"]

    page = await read(client, id)

    assert [(item["account"]["username"], item["since"]["number"]) for item in page["items"]] == [("ada", third)]


async def test_denied_access_and_no_access_are_not_held(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await an_application(db, "Ledger")
    run = await a_finished_import(db, ledger)
    held = (("Wires", "Approve", "Deny", "Low"), ("Wires", "Reject", "None", "Low"))
    await an_account(db, ledger, "ada", None, permissions=held, run=run)

    for name in ("Approve", "Reject"):
        found = await entitlement(client, name)
        assert (found["holders"]["accounts"], (await read(client, found["id"]))["items"]) == (0, [])


async def test_history_has_a_row_for_each_period_of_access(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    ledger = await fetch_value(db, "SELECT id FROM applications")
    out, back = await a_finished_import(db, ledger), await a_finished_import(db, ledger)
    group = "(SELECT number FROM groups WHERE name = 'Clerks')"
    await execute(db, f"UPDATE memberships SET until_import = %(n)s WHERE group_number = {group}", n=out)
    await execute(
        db,
        f"INSERT INTO memberships SELECT number, {group}, %(n)s, NULL FROM accounts WHERE username = 'ada'",
        n=back,
    )
    id = (await entitlement(client, "Approve"))["id"]

    history = await read(client, id, "history")
    early = await read(client, id, "history", asOf="1")

    def periods(page: Any) -> list[tuple[str, int, int | None]]:
        return [
            (item["account"]["username"], item["since"]["number"], item["until"] and item["until"]["number"])
            for item in page["items"]
        ]

    assert periods(history) == [("ada", back, None), ("ada", 1, out), ("bo", 1, None)]
    assert periods(early) == [("ada", 1, None), ("bo", 1, None)]


async def test_holders_are_computed_once_for_all_pages(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await an_application(db, "Ledger")
    run = await some_groups(db, ledger, {"Everyone": "", "Staff": "Everyone"})
    await execute(
        db,
        """WITH made AS (INSERT INTO accounts (application_id, username)
                         SELECT %(application)s, 'user' || to_char(n, 'FM000') FROM generate_series(1, 120) AS n
                         RETURNING number)
           INSERT INTO memberships SELECT m.number, g.number, %(run)s, NULL FROM made m, groups g
           WHERE name = 'Staff'""",
        application=ledger,
        run=run,
    )
    id = (await entitlement(client, "Everyone"))["id"]

    pages = [await read(client, id, page=n) for n in (3, 1, 2, 4)]

    assert [len(page["items"]) for page in pages] == [20, 50, 50, 0]
    assert {(page["totalCount"], page["totalPages"]) for page in pages} == {(120, 3)}
    assert pages[0]["items"][0]["account"]["username"] == "user101"
    stored = await fetch_rows(db, "SELECT page FROM stored_pages WHERE list LIKE 'holders of %%' ORDER BY 1")
    assert [page for (page,) in stored] == [0, 1, 2, 3]


async def test_walking_up_from_accounts_and_down_from_the_entitlement_finds_the_same_holdings(db: Db) -> None:
    ledger = await an_application(db, "Ledger")
    nesting = {"A": "B", "B": "C", "C": "A", "D": "B", "E": ""}
    first = await some_groups(db, ledger, nesting)
    await give(db, ledger, "C", "Approve", first)
    await give(db, ledger, "E", "Approve", first, access="Modify")
    for n, group in enumerate("ABCDE"):
        await an_account(db, ledger, f"user{n}", None, groups=tuple({group, "E"}), run=first)
    await execute(
        db,
        """INSERT INTO assignments SELECT a.number, p.number, 'Grant', %(run)s, NULL, '' FROM accounts a, permissions p
           WHERE a.username = 'user0'""",
        run=first,
    )
    second = await some_groups(db, ledger, {**nesting, "D": ""})
    for as_of in (first, second, None):
        rows = await fetch_rows(
            db,
            """SELECT e.name, ARRAY(SELECT h::text FROM holdings_of(e.id, %(as_of)s) AS h ORDER BY 1)
                            = ARRAY(SELECT h::text FROM holdings_of_accounts(e.id, %(as_of)s, ARRAY(
                                        SELECT number FROM accounts)) AS h ORDER BY 1)
               FROM entitlements e""",
            as_of=as_of,
        )
        assert {name for name, is_same in rows if is_same} == {"A", "B", "C", "D", "E", "Approve"}, as_of
        each = """SELECT h.id, h.account, h.path, h.access, h.during
                  FROM entitlements e CROSS JOIN LATERAL holdings_of(e.id, %(as_of)s) AS h WHERE h.id = e.id"""
        together = "SELECT id, account, path, access, during FROM holdings_within(%(id)s, %(as_of)s)"
        found = [
            await fetch_rows(db, f"SELECT * FROM ({sql}) AS h ORDER BY h::text", id=ledger, as_of=as_of)
            for sql in (each, together)
        ]
        assert found[0] == found[1]
        assert len(found[0]) > 10


@pytest.mark.parametrize("what", ["holders", "history"])
@pytest.mark.parametrize("format", ["json", "csv"])
async def test_a_moment_before_the_first_import_has_no_data(
    client: httpx2.AsyncClient, db: Db, what: str, format: str
) -> None:
    await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = '2026-03-01T08:00:00Z'")
    id = (await entitlement(client, "Approve"))["id"]

    answer = await client.get(f"/api/entitlements/{id}/{what}", params={"asOf": "2026-02-01", "format": format})

    assert answer.status_code == 400
    message = "There is no data about Ledger before 2026-03-01T08:00:00Z, when its first import finished"
    assert answer.json()["errors"] == [{"field": "asOf", "message": message}]


@pytest.mark.parametrize("what", ["holders", "history"])
async def test_a_moment_in_the_future_is_refused(client: httpx2.AsyncClient, db: Db, what: str) -> None:
    await a_ledger(db)
    id = (await entitlement(client, "Approve"))["id"]

    answer = await client.get(f"/api/entitlements/{id}/{what}", params={"asOf": "2199-01-01"})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "asOf"
