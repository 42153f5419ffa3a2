"""Test that patterns match an application by its current and former names, so that a rename ends no conflict."""

from typing import Any

import httpx2

from rolecall.core.db import Db
from tests.access_requests.test_separation import ask
from tests.duties.separating import Company, a_company, a_duty, conflict_of


async def rename(client: httpx2.AsyncClient, company: Company, name: str) -> None:
    answer = await client.patch(f"/api/applications/{company.ledger}", json={"name": name})
    assert answer.status_code == 200, answer.text


async def test_renaming_an_application_ends_no_conflict_and_disables_no_rule(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    id = await conflict_of(db, company.sofia)

    await rename(client, company, "General Ledger")
    await rename(client, company, "Books")

    conflict = (await client.get(f"/api/conflicts/{id}")).json()
    assert (conflict["status"], len(conflict["sides"])) == ("Open", 2)
    assert (await client.get(f"/api/duties/{company.release}")).json()["warnings"] == []
    assert (await ask(client, company, company.noor, "Approvers")).status_code == 400


async def test_new_permission_of_a_renamed_application_is_matched_by_the_former_name(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    await client.patch(
        f"/api/duties/{company.release}", json={"patterns": [{"application": "finance*", "permission": "Release*"}]}
    )
    await rename(client, company, "General Ledger")

    body: dict[str, Any] = {
        "action": "Add",
        "applicationId": str(company.ledger),
        "identityId": str(company.noor),
        "privileges": [{"header": "Wires", "permission": "Release all", "access": "Grant"}],
    }
    assert (await client.post("/api/access-requests", json=body)).status_code == 400


async def test_renamed_application_is_matched_by_its_new_name_too(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    duty = await a_duty(db, "Books", {"application": "books", "group": "Officers"})

    await rename(client, company, "Books")
    found = (await client.get(f"/api/duties/{duty}/holders")).json()

    assert [each["identity"]["name"] for each in found["items"]] == ["Sofia Dubois", "Noor Hansen"]
