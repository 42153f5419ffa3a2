from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from rolecall.access_requests.model import NewPrivilege
from rolecall.conflicts import queries
from rolecall.core.db import Db, execute
from rolecall.duties.actions import evaluate_waiting
from tests.builders import an_access_request
from tests.duties.separating import Company, a_company, conflict_of, finish_again, join, leave
from tests.holdings import a_finished_import
from tests.nesting import give

URL = "/api/conflicts"


async def listed(client: httpx2.AsyncClient, **params: Any) -> list[tuple[str, str]]:
    answer = await client.get(URL, params=params)
    assert answer.status_code == 200, answer.text
    return [(item["identity"]["name"], item["status"]) for item in answer.json()["items"]]


async def test_conflict_begins_with_an_import_and_ends_with_another(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    began = await join(db, company, "noor", "Approvers")
    ended = await leave(db, company, "noor", "Officers")

    page = (await client.get(URL, params={"identityId": str(company.noor)})).json()

    [conflict] = page["items"]
    assert (conflict["sinceImport"], conflict["untilImport"], conflict["status"]) == (began, ended, "Ended")
    assert await listed(client, status="Open") == [("Sofia Dubois", "Open")]
    assert await listed(client, asOf=began) == [("Noor Hansen", "Open"), ("Sofia Dubois", "Open")]
    assert await listed(client, asOf=company.run) == [("Sofia Dubois", "Open")]
    assert await listed(client, ruleId=str(company.prepare)) == []


async def test_detail_has_both_sides_with_their_groups_and_the_number_of_days(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)

    conflict = (await client.get(f"{URL}/{await conflict_of(db, company.sofia)}")).json()

    [prepare, release] = conflict["sides"]
    assert (prepare["duty"]["name"], release["duty"]["name"]) == ("Prepare payments", "Release payments")
    [held] = prepare["access"]
    assert (held["access"]["path"], held["access"]["account"]["username"]) == (["Juniors", "Officers"], "sofia")
    assert (conflict["conflictingGroups"], conflict["days"], conflict["rule"]["risk"]) == ([], 0, "Critical")


async def test_through_names_the_request_that_completed_the_conflict(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    asked = [NewPrivilege(header="Group", permission="Approvers")]
    id = await an_access_request(db, application_id=company.ledger, identity_id=company.noor, privileges=asked)
    await execute(
        db,
        "UPDATE access_requests SET status = 'Completed', resolved_on = now(), completed_on = now() WHERE id = %(id)s",
        id=id,
    )
    await execute(db, "UPDATE privileges SET approved_access = requested_access")
    await join(db, company, "noor", "Approvers")

    items = (await client.get(URL, params={"identityId": str(company.noor)})).json()["items"]

    through = items[0]["through"]
    assert [request["id"] for request in through["accessRequests"]] == [str(id)]
    assert [(each["duty"]["name"], each["account"], each["path"], each["name"]) for each in through["access"]] == [
        ("Prepare payments", "noor", ["Officers"], "Prepare run"),
        ("Release payments", "noor", ["Approvers"], "Release run"),
    ]


async def test_group_that_gives_both_duties_is_shown(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    await give_both(db, company)

    conflict = (await client.get(f"{URL}/{await conflict_of(db, company.noor)}")).json()

    [found] = conflict["conflictingGroups"]
    assert (found["group"], found["duties"]) == ("Officers", ["Prepare payments", "Release payments"])


async def give_both(db: Db, company: Company) -> None:
    """Let the group Officers, which prepares payments, release them too."""
    run = await a_finished_import(db, company.ledger)
    await give(db, company.ledger, "Officers", "Release run", run)
    await finish_again(db, run)


async def test_each_ended_conflict_is_read_as_of_its_end(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    await join(db, company, "noor", "Approvers")
    await leave(db, company, "noor", "Approvers")
    await join(db, company, "noor", "Approvers")
    await join(db, company, "noor", "Juniors")
    await leave(db, company, "noor", "Officers")
    await leave(db, company, "noor", "Juniors")
    await join(db, company, "noor", "Officers")
    now = datetime.now(UTC)

    together = await queries.of_identity(db, company.noor, now)
    items = (await client.get(URL, params={"identityId": str(company.noor)})).json()["items"]

    assert [each.status for each in together] == ["Ended", "Ended", "Open"]
    assert together == [await queries.get(db, each.id, now) for each in together]
    paths = [[held.access.path for held in each.sides[0].access] for each in together]
    assert paths == [[["Officers"]], [["Juniors", "Officers"]], [["Officers"]]]
    assert [item["id"] for item in items] == [str(each.id) for each in reversed(together)]


async def test_conflict_follows_the_match_of_an_account(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    later = datetime.now(UTC) + timedelta(minutes=1)

    await execute(
        db,
        "UPDATE accounts SET identity_id = %(noor)s, matched_on = %(now)s WHERE username = 'sofia'",
        noor=company.noor,
        now=later,
    )
    async with db.transaction():
        await evaluate_waiting(db, later)

    assert await listed(client, status="Open") == [("Noor Hansen", "Open")]
    assert await listed(client, status="Ended") == [("Sofia Dubois", "Ended")]


async def test_unknown_conflict_is_not_found(client: httpx2.AsyncClient) -> None:
    assert (await client.get(f"{URL}/00000000-0000-4000-8000-000000000000")).status_code == 404
