"""Test that `asOf` means the same in every list: the end of a day, or the time when an import finished.

Applications without data at that time are reported.
"""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.accounts.queries import account_at
from rolecall.core.db import Db, execute, fetch_value
from tests.builders import an_application
from tests.entitlements.test_list import a_ledger, entitlement
from tests.holdings import a_finished_import, an_account, remove_account
from tests.reports.reporting import a_report, rows_of


async def built(db: Db, number: int, moment: str) -> None:
    await execute(
        db, "UPDATE application_imports SET build_end = %(moment)s WHERE number = %(n)s", n=number, moment=moment
    )


async def total(client: httpx2.AsyncClient, path: str, **params: Any) -> int:
    answer = await client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["totalCount"])


async def test_a_date_means_the_end_of_that_day(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = '2026-02-01'")
    second = await a_finished_import(db, ledger)
    await execute(db, "UPDATE memberships SET until_import = %(n)s", n=second)
    await built(db, second, "2026-03-01T23:59:59.999999Z")
    group = (await entitlement(client, "Wire approvers"))["id"]
    report = await a_report(client, "access", "Access", filters={"kind": "Group"})

    for day, holders in (("2026-02-28", 2), ("2026-03-01", 0), ("2026-03-02T00:00:00Z", 0)):
        assert await total(client, f"/api/entitlements/{group}/holders", asOf=day) == holders
        assert len({row["account"]["id"] for row in await rows_of(client, report["id"], asOf=day)}) == holders


async def test_today_is_not_in_the_future(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    today = str(await fetch_value(db, "SELECT (now() AT TIME ZONE 'UTC')::date"))

    assert await total(client, "/api/accounts", asOf=today) == 2


async def test_an_import_number_means_the_time_when_the_import_finished(client: httpx2.AsyncClient, db: Db) -> None:
    bank, mail = await an_application(db, "Bank"), await an_application(db, "Mail")
    slow = await a_finished_import(db, bank)
    await an_account(db, bank, "ada", None, run=slow)
    quick = await a_finished_import(db, mail)
    await an_account(db, mail, "bo", None, run=quick)
    await built(db, slow, "2026-03-01T12:00:00Z")
    await built(db, quick, "2026-03-01T10:00:00Z")

    for path, params in (("/api/accounts", {"applicationId": str(bank)}), (f"/api/applications/{bank}/accounts", {})):
        assert await total(client, path, asOf=slow, **params) == 1
        assert (await client.get(path, params={"asOf": quick, **params})).status_code == 400
    assert (await total(client, "/api/accounts", asOf=slow), await total(client, "/api/accounts", asOf=quick)) == (2, 1)


@pytest.fixture
async def younger(db: Db) -> UUID:
    """Create two applications, the second imported two months after the first; return the id of the second."""
    await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = '2026-03-01T08:00:00Z'")
    younger = await a_ledger(db, "Treasury")
    await execute(
        db,
        "UPDATE application_imports SET build_end = '2026-05-01T10:00:00.5Z' WHERE application_id = %(id)s",
        id=younger,
    )
    return younger


NO_DATA = "There is no data about Treasury before 2026-05-01T10:00:01Z, when its first import finished"


@pytest.mark.parametrize(
    "path",
    [
        "/api/entitlements?applicationId={id}",
        "/api/accounts?applicationId={id}",
        "/api/accounts?applicationId={id}&format=csv",
        "/api/applications/{id}/accounts",
        "/api/applications/{id}/groups",
        "/api/applications/{id}/permissions",
    ],
)
async def test_a_list_of_one_application_before_its_first_import_is_refused(
    client: httpx2.AsyncClient, younger: UUID, path: str
) -> None:
    base, _, filters = path.format(id=younger).partition("?")
    params = dict(pair.split("=") for pair in filters.split("&") if pair)

    refused = await client.get(base, params={**params, "asOf": "2026-05-01T10:00:00Z"})
    answered = await client.get(base, params={**params, "asOf": "2026-05-01T10:00:01Z"})

    assert (refused.status_code, answered.status_code) == (400, 200)
    assert refused.json()["errors"] == [{"field": "asOf", "message": NO_DATA}]


async def test_list_of_several_applications_names_the_ones_without_data(
    client: httpx2.AsyncClient, younger: UUID
) -> None:
    missing = [{"applicationId": str(younger), "application": "Treasury", "noDataBefore": "2026-05-01T10:00:01Z"}]
    for path in ("/api/entitlements", "/api/accounts"):
        early = (await client.get(path, params={"asOf": "2026-04-01"})).json()
        late = (await client.get(path, params={"asOf": "2026-06-01"})).json()
        now = (await client.get(path)).json()
        assert (early["noDataBefore"], late["noDataBefore"], now["noDataBefore"]) == (missing, [], [])


async def test_manifests_name_the_applications_without_data(client: httpx2.AsyncClient, younger: UUID) -> None:
    report = await a_report(client, "access", "Access", filters={"asOf": "2026-04-01"})
    rows = await rows_of(client, report["id"])
    refused = await client.post(f"/api/reports/{report['id']}/run", json={"filters": {"applicationId": str(younger)}})

    [run] = (await client.get(f"/api/reports/{report['id']}/runs")).json()["items"]
    assert (len(rows), [one["application"] for one in run["noDataBefore"]]) == (6, ["Treasury"])
    assert refused.json()["errors"] == [{"field": "asOf", "message": NO_DATA}]


async def test_account_has_an_import_only_while_its_imports_show_it(db: Db) -> None:
    ledger = await an_application(db, "Ledger")
    await a_finished_import(db, ledger)
    await an_account(db, ledger, "ada", None)
    await remove_account(db, ledger, "ada")
    for number in (1, 2, 3):
        await built(db, number, f"2026-03-0{number}")
    id = await fetch_value(db, "SELECT id FROM accounts")

    found = [await account_at(db, id, datetime(2026, 3, day, tzinfo=UTC)) for day in (1, 2, 3)]
    before = await account_at(db, id, datetime(2026, 2, 28, tzinfo=UTC))

    assert [number for _, number, _ in (before, *found, await account_at(db, id, None))] == [0, 0, 2, 0, 0]
