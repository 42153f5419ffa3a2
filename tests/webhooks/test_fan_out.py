from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db, fetch_rows
from tests.builders import an_access_request, an_application
from tests.webhooks.sending import a_hook, deliveries

URL = "http://127.0.0.1:9/hook"


async def test_each_matching_webhook_gets_its_own_delivery(client: httpx2.AsyncClient, db: Db) -> None:
    hooks = [(await a_hook(client, URL, name=f"Hook {n}"))["id"] for n in range(5)]

    request = await an_access_request(db)

    made = await deliveries(client, accessRequestId=str(request))
    assert sorted(each["webhookId"] for each in made) == sorted(hooks)
    assert len({each["id"] for each in made}) == 5
    assert {UUID(each["id"]).version for each in made} == {4}
    assert all(each["body"]["id"] == each["id"] and each["body"]["callback"].endswith(each["id"]) for each in made)


async def test_only_configured_events_and_applications_are_delivered(client: httpx2.AsyncClient, db: Db) -> None:
    payroll, crm = await an_application(db, "Payroll"), await an_application(db, "CRM")
    by_event = await a_hook(client, URL, name="By event", events=["AccessRequestProvisioning"])
    by_application = await a_hook(client, URL, name="By application", applicationId=str(crm))
    await a_hook(client, URL, name="Off", enabled=False)

    await an_access_request(db, "Remove", application_id=payroll)
    await an_access_request(db, "Add", application_id=crm)

    assert [(each["webhookId"], each["event"]) for each in await deliveries(client)] == [
        (by_event["id"], "AccessRequestProvisioning"),
        (by_application["id"], "AccessRequestCreated"),
    ]


async def test_rolled_back_request_leaves_no_delivery(client: httpx2.AsyncClient, db: Db) -> None:
    await a_hook(client, URL)

    async with db.transaction(force_rollback=True):
        await an_access_request(db)
        assert await fetch_rows(db, "SELECT id FROM webhook_deliveries")

    assert await deliveries(client) == []


async def test_every_event_has_its_deliveries_in_the_same_transaction(client: httpx2.AsyncClient, db: Db) -> None:
    await a_hook(client, URL)

    async with db.transaction():
        await an_access_request(db, "Remove")

    rows = await fetch_rows(
        db,
        """SELECT e.name, d.event, e.xmin::text = d.initially
           FROM access_request_events e
           JOIN (SELECT *, xmin::text AS initially FROM webhook_deliveries) d
             ON d.access_request_id = e.request_id AND d.event = e.name ORDER BY e.number""",
    )
    assert rows == [
        (event, event, True) for event in ("AccessRequestCreated", "AccessRequestApproved", "AccessRequestProvisioning")
    ]


async def test_deliveries_are_listed_newest_first_with_every_filter(client: httpx2.AsyncClient, db: Db) -> None:
    one, other = await a_hook(client, URL, name="One"), await a_hook(client, URL, name="Other")
    requests = [await an_access_request(db) for _ in range(30)]

    page = (await client.get("/api/webhook-deliveries")).json()
    assert (page["totalCount"], page["totalPages"], len(page["items"])) == (60, 2, 50)
    assert list(page["items"][0]) == [
        "id", "webhookId", "accessRequestId", "event", "status", "attemptCount", "createdDate", "nextAttemptOn",
    ]  # fmt: skip
    times = [item["createdDate"] for item in page["items"]]
    assert times == sorted(times, reverse=True)

    for filters, count in [
        ({"webhookId": one["id"]}, 30),
        ({"webhookId": other["id"], "status": "pending"}, 30),
        ({"accessRequestId": str(requests[3])}, 2),
        ({"accessRequestId": str(requests[3]), "webhookId": one["id"]}, 1),
        ({"status": "Failed"}, 0),
    ]:
        found = (await client.get("/api/webhook-deliveries", params=filters)).json()
        assert (found["totalCount"], len(found["items"])) == (count, count), filters

    answer = await client.get("/api/webhook-deliveries", params={"status": "lost", "webhookId": "x", "page": "0"})
    assert [problem["field"] for problem in answer.json()["errors"]] == ["page", "webhookId", "status"]


@pytest.mark.parametrize("id", ["00000000-0000-0000-0000-000000000000", "seven"])
async def test_an_unknown_delivery_is_not_found(client: httpx2.AsyncClient, id: str) -> None:
    for answer in [
        await client.get(f"/api/webhook-deliveries/{id}"),
        await client.post(f"/api/webhook-deliveries/{id}/resend"),
    ]:
        assert answer.status_code == 404
        assert answer.json()["message"] == f"Delivery with id {id} not found"
