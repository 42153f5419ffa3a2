from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db
from rolecall.effective_access import queries
from tests.builders import an_access_model, an_application, an_identity
from tests.counting import counting
from tests.holdings import an_account, remove_account


async def access_of(client: httpx2.AsyncClient, id: UUID, **params: str) -> Any:
    answer = await client.get(f"/api/identities/{id}/access", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_identity_without_accounts_has_no_access(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db)

    assert await access_of(client, ada) == {"identityId": str(ada), "asOf": None, "applications": []}


async def test_every_entry_has_its_privilege_and_reasons(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db, department="Finance")
    ledger = await an_application(db, "Ledger")
    await an_account(db, ledger, "ada", ada, groups=("Posters",), permissions=(("Books", "Close", "Modify", "High"),))
    access: list[dict[str, Any]] = [{"applicationId": str(ledger), "groups": ["Posters"]}]
    model = await an_access_model(db, "Clerks", access=access)

    [there] = (await access_of(client, ada))["applications"]

    assert list(there["application"]) == ["id", "kind", "name", "priority", "isArchived", "lastUpdated"]
    [account] = there["accounts"]
    assert (account["username"], account["isActive"], account["isLocked"]) == ("ada", True, False)
    run = account["access"][0]["why"]["import"]
    assert run["number"] == 1
    assert run["buildEnd"] is not None
    [reason] = account["access"][0]["why"]["accessModels"]
    assert list(reason) == ["id", "name", "version", "committedBy", "committedOn"]
    assert (reason["id"], reason["name"], reason["version"]) == (str(model), "Clerks", 1)
    assert account["access"] == [
        {
            "header": "Group",
            "section": "",
            "permission": "Posters",
            "access": "Grant",
            "value": "",
            "riskRating": "None",
            "group": "",
            "path": [],
            "why": {"import": run, "accessRequests": [], "accessModels": [reason]},
        },
        {
            "header": "Books",
            "section": "",
            "permission": "Close",
            "access": "Modify",
            "value": "",
            "riskRating": "High",
            "group": "",
            "path": [],
            "why": {"import": run, "accessRequests": [], "accessModels": []},
        },
    ]


async def test_number_of_queries_for_access_does_not_depend_on_the_number_of_applications(clean_database: str) -> None:
    async with counting(clean_database) as counts:
        db = counts.db
        ada, grace = await an_identity(db), await an_identity(db, "Grace", "Hopper")
        for person, systems in ((ada, 1), (grace, 5)):
            for n in range(systems):
                there, held = await an_application(db, f"{person} {n}"), (("Books", f"Close {n}", "Grant", "Low"),)
                await an_account(db, there, f"user{n}", person, groups=(f"Group {n}",), permissions=held)

        of_one = await counts.of(queries.access_of(db, ada, None))
        of_five = await counts.of(queries.access_of(db, grace, None))
        found = await queries.access_of(db, grace, None)

    assert of_one == of_five
    assert [[e.permission for e in there.accounts[0].access] for there in found.applications] == [
        [f"Group {n}", f"Close {n}"] for n in range(5)
    ]


async def test_permission_through_a_group_has_the_groups_reasons(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db, department="Finance")
    ledger = await an_application(db, "Ledger")
    await an_account(db, ledger, "grace", None, permissions=(("Books", "Close", "Grant", "Low"),))
    await an_account(db, ledger, "ada", ada, groups=("Posters",))
    await db.execute("UPDATE assignments SET holder_number = (SELECT number FROM groups)")
    model = await an_access_model(db, "Clerks", access=[{"applicationId": str(ledger), "groups": ["Posters"]}])

    [there] = (await access_of(client, ada))["applications"]

    entries = there["accounts"][0]["access"]
    assert [(entry["permission"], entry["group"]) for entry in entries] == [("Posters", ""), ("Close", "Posters")]
    # The access starts when both the membership and the group's permission exist.
    assert [entry["why"]["import"]["number"] for entry in entries] == [2, 2]
    assert [each["id"] for each in entries[1]["why"]["accessModels"]] == [str(model)]


async def test_past_access_is_read_from_the_last_import_before_that_time(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db)
    ledger = await an_application(db, "Ledger")
    await an_account(db, ledger, "ada", ada, groups=("Posters",))
    await remove_account(db, ledger, "ada")
    today = datetime.now(UTC)
    for number, days in ((1, 30), (2, 10)):
        await db.execute(
            "UPDATE application_imports SET build_end = %s WHERE number = %s", (today - timedelta(days=days), number)
        )

    def then(days: int) -> str:
        return (today - timedelta(days=days)).isoformat()

    assert (await access_of(client, ada))["applications"] == []
    assert (await access_of(client, ada, asOf=then(5)))["applications"] == []
    [unknown] = (await access_of(client, ada, asOf=then(40)))["applications"]
    assert (unknown["accounts"], unknown["noDataBefore"][:10]) == ([], then(30)[:10])
    [there] = (await access_of(client, ada, asOf=then(20)))["applications"]
    assert [entry["permission"] for entry in there["accounts"][0]["access"]] == ["Posters"]


@pytest.mark.parametrize("text", ["yesterday", "", "0001-01-01T00:00:00+14:00"])
async def test_as_of_must_be_a_date_a_time_or_a_number(client: httpx2.AsyncClient, db: Db, text: str) -> None:
    answer = await client.get(f"/api/identities/{await an_identity(db)}/access", params={"asOf": text})

    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"field": "asOf", "message": "As of must be an ISO 8601 date or date-time, or the number of an import"}
    ]


async def test_as_of_an_unknown_import_number_is_refused(client: httpx2.AsyncClient, db: Db) -> None:
    answer = await client.get(f"/api/identities/{await an_identity(db)}/access", params={"asOf": "20260301"})

    assert answer.status_code == 400
    message = "No import has the number 20260301; write a date as 2026-03-01"
    assert answer.json()["errors"] == [{"field": "asOf", "message": message}]


async def test_as_of_must_not_be_in_the_future(client: httpx2.AsyncClient, db: Db) -> None:
    path, now = f"/api/identities/{await an_identity(db)}/access", datetime.now(UTC)

    answer = await client.get(path, params={"asOf": (now + timedelta(minutes=6)).isoformat()})
    soon = await client.get(path, params={"asOf": (now + timedelta(minutes=4)).isoformat()})

    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"field": "asOf", "message": "As of must not be in the future"}]
    assert soon.status_code == 200


async def test_unknown_identity_is_not_found(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/identities/nonsense/access")

    assert (answer.status_code, answer.json()["message"]) == (404, "Identity with id nonsense not found")
