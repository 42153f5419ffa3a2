from datetime import timedelta
from typing import Any

import httpx2

from rolecall.access_requests.creation import create_requests
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.core import clock
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db
from rolecall.settings.policy import RequestAction
from tests.access_requests.walking import STEPS, a_cast, a_request_that_is, done
from tests.builders import an_access_request, an_application, an_identity


async def stalled(client: httpx2.AsyncClient) -> list[dict[str, Any]]:
    answer = await client.get("/api/access-requests/stalled")
    assert answer.status_code == 200, answer.text
    page = answer.json()
    assert page["totalCount"] == len(page["items"])
    items: list[dict[str, Any]] = page["items"]
    return items


async def test_stalled_list_shows_reviewers_waiting_time_and_reasons(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    ids = {status: await a_request_that_is(client, db, status, cast) for status in STEPS}
    clock.travel_to(clock.now() + timedelta(days=3, hours=1))

    items = await stalled(client)

    grace, peter = {"id": cast.grace, "name": "Grace Hopper"}, {"id": cast.peter, "name": "Peter Naur"}
    assert [(item["id"], item["waitingFor"], item["reasons"]) for item in items] == [
        (ids["Pending"], [grace], ["The supervisor approves added and changed access"]),
        (ids["Open"], [peter], ["The provisioner makes the change"]),
        (ids["Resolved"], [grace], ["The application owner verifies changes in an application of high priority"]),
    ]
    assert {item["waitingDays"] for item in items} == {3}
    assert list(items[0]) == [
        "id", "kind", "number", "action", "status", "target", "waitingFor", "waitingSince", "waitingDays", "reasons",
    ]  # fmt: skip


async def test_open_request_waits_for_its_assignee(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    id = await a_request_that_is(client, db, "Open", cast)
    await done(client, id, "assign", assigneeId=cast.grace)

    (item,) = await stalled(client)

    assert item["waitingFor"] == [{"id": cast.grace, "name": "Grace Hopper"}]


async def test_request_waits_for_the_reviewers_of_unmet_rules_in_order(client: httpx2.AsyncClient, db: Db) -> None:
    responders = {
        "By provisioners": "Application Provisioner",
        "By the owner": "Application Owner",
        "By boss": "Supervisor",
    }
    policy = [{"type": "Approve", "reason": name, "responder": who} for name, who in responders.items()]
    assert (await client.patch("/api/settings", json={"approvalPolicy": policy})).status_code == 200
    cast = await a_cast(db)
    zoe, amy, olga = [str(await an_identity(db, name)) for name in ("Zoe", "Amy", "Olga")]
    application = await an_application(db, "Books", ownerId=olga, provisionerIds=[zoe, amy])
    id = await an_access_request(db, identity_id=cast.ada_id, application_id=application)
    await done(client, id, "assign", assigneeId=cast.peter)

    async def waits() -> tuple[list[str], list[str]]:
        (item,) = await stalled(client)
        return [person["id"] for person in item["waitingFor"]], item["reasons"]

    assert await waits() == ([zoe, amy, olga, cast.grace], ["By boss", "By provisioners", "By the owner"])
    await done(client, id, "respond", type="Approve", response="Approved", reviewerId=zoe)
    assert await waits() == ([olga, cast.grace], ["By boss", "By the owner"])


async def test_last_page_of_the_stalled_list_stays_exact_as_requests_change(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    first = await a_request_that_is(client, db, "Pending", cast)
    privilege = NewPrivilege(header="Ledger", permission="Post")
    asked = NewRequest(
        action=RequestAction.ADD,
        application_id=await an_application(db, "Books"),
        identity_id=cast.ada_id,
        privileges=[privilege],
    )
    async with db.transaction():
        ids = await create_requests(db, SYSTEM, [asked] * 119, clock.now())
    await done(client, ids[0], "cancel")
    clock.travel_to(clock.now() + timedelta(days=1))
    await done(client, first, "respond", type="Approve", response="Approved", reviewerId=cast.grace)

    page = (await client.get("/api/access-requests/stalled", params={"page": 3})).json()

    assert (page["totalCount"], page["totalPages"]) == (119, 3)
    assert [item["id"] for item in page["items"]] == [*(str(id) for id in ids[101:]), str(first)]
