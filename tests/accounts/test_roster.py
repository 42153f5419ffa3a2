"""Test the list of accounts across applications, and the access of one account."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db, execute, fetch_value
from tests.builders import an_application, an_identity
from tests.holdings import an_account, remove_account


async def listed(client: httpx2.AsyncClient, **params: Any) -> Any:
    answer = await client.get("/api/accounts", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def usernames(page: Any) -> list[str]:
    return [item["username"] for item in page["items"]]


async def totals(db: Db, application_id: UUID, accounts: int) -> None:
    """Store the totals of an application, as the end of an import does."""
    await execute(
        db,
        """INSERT INTO application_totals (application_id, import_number, accounts)
           SELECT %(id)s, max(number), %(accounts)s FROM application_imports WHERE application_id = %(id)s
           ON CONFLICT (application_id) DO UPDATE
           SET import_number = EXCLUDED.import_number, accounts = EXCLUDED.accounts""",
        id=application_id,
        accounts=accounts,
    )


@pytest.fixture
async def company(client: httpx2.AsyncClient, db: Db) -> UUID:
    """Create Bank and Wiki: Ada is active, Bo has left, one account of Wiki has no identity; return the id of Bank."""
    ada = await an_identity(db, "Ada", "Lovelace", email="ada@example.com", department="Finance")
    bo = await an_identity(db, "Bo", "Left", email="bo@example.com", department="Sales")
    bank, wiki = await an_application(db, "Bank"), await an_application(db, "Wiki")
    await an_account(db, bank, "ada", ada, permissions=(("Wires", "Approve", "Grant", "High"),))
    await an_account(db, bank, "bo", bo, is_active=False)
    await an_account(db, wiki, "ada.l", ada)
    await an_account(db, wiki, "batch", None)
    await execute(db, "UPDATE accounts SET pin = NULL, match = 'Unmatched' WHERE identity_id IS NULL")
    await execute(db, "UPDATE identities SET status = 'Disabled', inactivated_date = now() WHERE last_name = 'Left'")
    old = f"{datetime.now(UTC) - timedelta(days=100):%Y-%m-%dT%H:%M:%SZ}"
    await execute(db, "UPDATE account_versions SET last_login = %(old)s WHERE name = 'ada.l'", old=old)
    await totals(db, bank, 2)
    await totals(db, wiki, 2)
    id = await fetch_value(db, "SELECT id FROM permissions")
    await client.patch(f"/api/entitlements/{id}", json={"isPrivileged": True})
    return bank


async def test_age_counts_from_departure_or_lost_match_or_last_login(
    client: httpx2.AsyncClient, db: Db, company: UUID
) -> None:
    await execute(
        db, "UPDATE identities SET inactivated_date = now() - interval '7 days 1 hour' WHERE last_name = 'Left'"
    )
    await execute(db, "UPDATE accounts SET matched_on = now() - interval '3 days 1 hour' WHERE username = 'batch'")

    def ages(page: Any) -> dict[str, int | None]:
        return {item["username"]: item["ageDays"] for item in page["items"]}

    expected = {"ada": None, "bo": 7, "ada.l": 100, "batch": 3}
    assert ages(await listed(client)) == expected
    yesterday = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '20 days'")
    assert ages(await listed(client, asOf=yesterday))["ada.l"] == 99
    exported = await client.get("/api/accounts", params={"format": "jsonl"})
    assert {row["username"]: row["ageDays"] for row in map(json.loads, exported.text.splitlines())} == expected
    [bo] = [item["id"] for item in (await listed(client, search="bo"))["items"]]
    assert (await client.get(f"/api/accounts/{bo}")).json()["ageDays"] == 7


async def test_last_login_that_is_not_a_date_gives_no_age(client: httpx2.AsyncClient, db: Db, company: UUID) -> None:
    await execute(db, "UPDATE account_versions SET last_login = 'last Tuesday' WHERE name = 'ada.l'")

    assert {item["username"]: item["ageDays"] for item in (await listed(client))["items"]}["ada.l"] is None


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, ["ada", "bo", "ada.l", "batch"]),
        ({"match": "Unmatched"}, ["batch"]),
        ({"isActive": "false"}, ["bo"]),
        ({"isActive": "true", "match": "pinned"}, ["ada", "ada.l"]),
        ({"leaver": "true"}, ["bo"]),
        ({"leaver": "false"}, ["ada", "ada.l", "batch"]),
        ({"dormantDays": "90"}, ["ada.l"]),
        ({"dormantDays": "200"}, []),
        ({"privileged": "true"}, ["ada"]),
        # Bank reports no logins.
        ({"neverUsed": "true"}, ["batch"]),
        ({"neverUsed": "false"}, ["ada", "bo", "ada.l"]),
        ({"search": "ADA"}, ["ada", "ada.l"]),
        ({"page": "2"}, []),
    ],
)
async def test_accounts_across_applications_can_be_filtered(
    client: httpx2.AsyncClient, company: UUID, filters: dict[str, str], found: list[str]
) -> None:
    page = await listed(client, **filters)

    assert usernames(page) == found
    assert page["totalCount"] == (len(found) if "page" not in filters else 4)


async def test_accounts_are_filtered_by_application_and_identity(
    client: httpx2.AsyncClient, db: Db, company: UUID
) -> None:
    ada = await fetch_value(db, "SELECT id FROM identities WHERE last_name = 'Lovelace'")

    assert usernames(await listed(client, applicationId=str(company))) == ["ada", "bo"]
    assert usernames(await listed(client, identityId=str(ada))) == ["ada", "ada.l"]
    assert usernames(await listed(client, identityId=str(ada), applicationId=str(company))) == ["ada"]


async def test_page_can_span_two_applications(client: httpx2.AsyncClient, db: Db) -> None:
    for name, count in (("Bank", 60), ("Wiki", 50)):
        application = await an_application(db, name)
        await an_account(db, application, "aaa", None)
        await execute(
            db,
            """WITH made AS (INSERT INTO accounts (application_id, username)
                             SELECT %(id)s, 'user' || to_char(n, 'FM000') FROM generate_series(2, %(count)s) AS n
                             RETURNING number, username)
               INSERT INTO account_versions
               SELECT number, (SELECT max(number) FROM application_imports), NULL, username, '', '', '', '', true,
                      false, '', '', '{}', '', '' FROM made""",
            id=application,
            count=count,
        )
        await totals(db, application, count)

    pages = [await listed(client, page=n) for n in (1, 2, 3)]

    names = [(item["application"]["name"], item["username"]) for page in pages for item in page["items"]]
    assert [len(page["items"]) for page in pages] == [50, 50, 10]
    assert (len(set(names)), names) == (110, sorted(names))
    assert {page["totalCount"] for page in pages} == {110}


async def test_past_list_includes_accounts_that_were_removed_later(
    client: httpx2.AsyncClient, db: Db, company: UUID
) -> None:
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '9 days'")
    await remove_account(db, company, "ada")
    then = (datetime.now(UTC) - timedelta(days=3)).isoformat()

    assert usernames(await listed(client, search="ada")) == ["ada.l"]
    assert usernames(await listed(client, search="ada", asOf=then)) == ["ada", "ada.l"]


async def test_bad_filters_are_reported_together(client: httpx2.AsyncClient) -> None:
    future = (datetime.now(UTC) + timedelta(days=9)).isoformat()

    wrong = await client.get("/api/accounts", params={"dormantDays": "0", "leaver": "maybe", "match": "some"})
    ahead = await client.get("/api/accounts", params={"asOf": future})

    assert [problem["field"] for problem in wrong.json()["errors"]] == ["match", "leaver", "dormantDays"]
    assert ahead.json()["errors"] == [{"field": "asOf", "message": "As of must not be in the future"}]


async def test_account_without_an_identity_and_its_access_can_be_read(
    client: httpx2.AsyncClient, db: Db, company: UUID
) -> None:
    await an_account(db, company, "svc", None, permissions=(("Wires", "Reject", "Grant", "Low"),))
    id = await fetch_value(db, "SELECT id FROM accounts WHERE username = 'svc'")

    account = (await client.get(f"/api/accounts/{id}")).json()
    access = (await client.get(f"/api/accounts/{id}/access")).json()
    before = (await client.get(f"/api/accounts/{id}/access", params={"asOf": "2020-01-01"})).json()

    assert (account["username"], account["identity"], account["isPresent"]) == ("svc", None, True)
    assert account["firstSeen"] == account["lastSeen"]
    assert [(e["permission"], e["path"], e["why"]["accessRequests"]) for e in access["access"]] == [("Reject", [], [])]
    assert (access["identityId"], access["noDataBefore"]) != (None, None)
    assert (before["access"], before["noDataBefore"]) == ([], access["noDataBefore"])


async def test_an_unknown_account_is_not_found(client: httpx2.AsyncClient) -> None:
    for path in ("", "/access"):
        answer = await client.get(f"/api/accounts/nonsense{path}")
        assert (answer.status_code, answer.json()["message"]) == (404, "Account with id nonsense not found")


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"q": "ada@"}, ["Lovelace"]),
        ({"status": "Disabled"}, ["Left"]),
        ({"department": "finance"}, ["Lovelace"]),
        ({"q": "bo", "status": "Active"}, []),
        ({"type": "Employee"}, ["Left", "Lovelace"]),
    ],
)
async def test_people_are_found_by_email_department_status_and_type(
    client: httpx2.AsyncClient, company: UUID, params: dict[str, str], found: list[str]
) -> None:
    page = (await client.get("/api/identities/search", params=params)).json()

    assert ([item["lastName"] for item in page["items"]], page["totalCount"]) == (found, len(found))


async def matched(db: Db, username: str, identity_id: object, days_ago: int, match: str = "Email") -> None:
    await execute(
        db,
        """UPDATE accounts SET identity_id = %(id)s, match = %(match)s, pin = NULL,
           matched_on = now() - make_interval(days => %(days)s) WHERE username = %(name)s""",
        id=identity_id,
        match=match if identity_id else "Unmatched",
        days=days_ago,
        name=username,
    )


async def test_past_lists_show_the_identity_and_match_of_an_account_at_that_time(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await an_application(db, "Ledger")
    ada, bo = await an_identity(db, "Ada", "Lovelace"), await an_identity(db, "Bo", "Clark")
    await an_account(db, ledger, "approver", None, groups=("Approvers",))
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '80 days'")
    for person, days, match in ((ada, 50, "Email"), (None, 20, ""), (bo, 10, "Name")):
        await matched(db, "approver", person, days, match)
    group = await fetch_value(db, "SELECT id FROM groups")

    async def then(path: str, days: int, **params: str) -> Any:
        as_of = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        return (await client.get(path, params={"asOf": as_of, **params})).json()["items"]

    # For a time before the first recorded match, the first match is returned, so `matchedOn` is later than `asOf`.
    for days, person, match in ((70, ada, "Email"), (30, ada, "Email"), (15, None, "Unmatched"), (5, bo, "Name")):
        id = str(person) if person else None
        for path in ("/api/accounts", f"/api/applications/{ledger}/accounts"):
            [found] = await then(path, days)
            named = found["identity"]["id"] if found.get("identity") else found.get("identityId")
            assert (named, found["match"]) == (id, match), (path, days)
            assert await then(path, days, match=match) == [found]
            assert await then(path, days, match="Employee ID") == []
        [holding] = await then(f"/api/entitlements/{group}/holders", days)
        assert (holding["identity"] and holding["identity"]["id"]) == id
        for each in (ada, bo):
            answer = await client.get(
                f"/api/identities/{each}/access",
                params={"asOf": (datetime.now(UTC) - timedelta(days=days)).isoformat()},
            )
            assert bool(answer.json()["applications"]) == (each == person)


async def test_list_before_the_first_import_reports_missing_data_instead_of_being_empty(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await an_application(db, "Ledger")
    await an_account(db, ledger, "ada", None, groups=("Clerks",))
    await execute(db, "UPDATE application_imports SET build_end = '2026-05-01T08:00:00Z'")
    of_one = [f"/api/applications/{ledger}/{kind}" for kind in ("accounts", "groups", "permissions")]

    for path in of_one:
        before = await client.get(path, params={"asOf": "2026-04-30"})
        assert (before.status_code, before.json()["errors"]) == (
            400,
            [
                {
                    "field": "asOf",
                    "message": "There is no data about Ledger before 2026-05-01T08:00:00Z, when its first import "
                    "finished",
                }
            ],
        ), path
        # A date means the end of that day.
        assert (await client.get(path, params={"asOf": "2026-05-01"})).status_code == 200


async def test_archived_applications_are_left_out_now_and_listed_in_the_past(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await an_application(db, "Ledger")
    await an_account(db, ledger, "ada", None, groups=("Clerks",))
    payroll = await an_application(db, "Payroll")
    await an_account(db, payroll, "bo", None, groups=("Payers",))
    for id in (ledger, payroll):
        await totals(db, id, 1)
    await execute(db, "UPDATE applications SET is_archived = true WHERE id = %(id)s", id=ledger)
    before = datetime.now(UTC).isoformat()

    async def count(path: str, **params: str) -> int:
        return int((await client.get(path, params=params)).json()["totalCount"])

    for path in ("/api/entitlements", "/api/accounts"):
        assert await count(path) == 1
        assert await count(path, applicationId=str(ledger)) == 1
        assert await count(path, asOf=before) == 2


async def test_person_who_returned_is_still_a_leaver_on_a_past_day(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, ada = await an_application(db, "Ledger"), await an_identity(db, "Ada", "Lovelace")
    await an_account(db, ledger, "ada", ada)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '80 days'")
    left = "UPDATE identities SET status = 'Disabled', inactivated_date = now() - interval '50 days'"
    await execute(db, left)
    days = {ago: (datetime.now(UTC) - timedelta(days=ago)).isoformat() for ago in (60, 40)}

    async def leavers() -> list[list[str]]:
        past = [usernames(await listed(client, leaver="true", asOf=moment)) for moment in days.values()]
        return [*past, usernames(await listed(client, leaver="true"))]

    gone = await leavers()
    await execute(db, "UPDATE identities SET status = 'Active', inactivated_date = NULL")

    assert gone == [[], ["ada"], ["ada"]]
    assert await leavers() == [[], ["ada"], []]
