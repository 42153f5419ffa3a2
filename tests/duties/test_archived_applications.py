"""Test that access in an archived application gives no duties."""

import httpx2

from rolecall.core.db import Db
from tests.builders import an_application
from tests.duties.separating import Company, a_company, a_duty, conflict_of, finish_again
from tests.holdings import an_account
from tests.nesting import some_groups


async def archive(client: httpx2.AsyncClient, company: Company, *, archived: bool = True) -> None:
    answer = await client.patch(f"/api/applications/{company.ledger}", json={"isArchived": archived})
    assert answer.status_code == 200, answer.text


async def test_archiving_an_application_ends_the_conflict_and_keeps_its_sides(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    id = await conflict_of(db, company.sofia)

    await archive(client, company)

    found = (await client.get(f"/api/conflicts/{id}")).json()
    assert found["status"] == "Ended"
    assert [side["duty"]["name"] for side in found["sides"]] == ["Prepare payments", "Release payments"]
    assert found["activity"][-1]["content"] == "The conflict ended: the application Finance Ledger was archived"
    assert (await client.get(f"/api/duties/{company.prepare}")).json()["holders"] == 0


async def test_conflict_begins_again_when_the_application_is_no_longer_archived(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    before = await conflict_of(db, company.sofia)

    await archive(client, company)
    await archive(client, company, archived=False)

    ended, begun = [
        (await client.get(f"/api/conflicts/{id}")).json() for id in (before, await conflict_of(db, company.sofia))
    ]
    assert (begun["status"], begun["since"]) == ("Open", ended["until"])


async def test_control_duty_of_an_archived_application_does_not_prevent_a_conflict(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    crm = await an_application(db, "CRM")
    run = await some_groups(db, crm, {"Reviewers": ""})
    await an_account(db, crm, "sofia", company.sofia, groups=("Reviewers",), run=run)
    await finish_again(db, run)
    review = await a_duty(db, "Review", {"application": "CRM", "group": "Reviewers"})
    await client.patch(f"/api/duty-rules/{company.rule}", json={"without": str(review)})
    await client.post(f"/api/duty-rules/{company.rule}/commit")
    assert await conflict_of(db, company.sofia) is None

    await client.patch(f"/api/applications/{crm}", json={"isArchived": True})

    assert await conflict_of(db, company.sofia)
