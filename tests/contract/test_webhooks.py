from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db
from tests.builders import an_identity
from tests.contract.tables import DELIVERY, EVENTS, mismatches
from tests.contract.test_access_requests import REQUESTS, a_full_request


@pytest.fixture(autouse=True)
async def hook(client: httpx2.AsyncClient) -> None:
    body = {"name": "Ticketing", "url": "https://hooks.example.com/rolecall", "events": list(EVENTS)}
    assert (await client.post("/api/webhooks", json=body)).status_code == 201


async def deliveries(client: httpx2.AsyncClient) -> list[dict[str, Any]]:
    """Return the bodies of all deliveries in order of creation."""
    items = reversed((await client.get("/api/webhook-deliveries")).json()["items"])
    return [(await client.get(f"/api/webhook-deliveries/{item['id']}")).json()["body"] for item in items]


async def do(client: httpx2.AsyncClient, id: UUID, verb: str, **body: Any) -> None:
    answer = await client.post(f"{REQUESTS}/{id}/{verb}", json=body)
    assert answer.status_code == 200, answer.text


async def approve(client: httpx2.AsyncClient, id: UUID) -> None:
    for requirement in (await client.get(f"{REQUESTS}/{id}")).json()["requirements"]:
        for response in [each for rule in requirement["rules"] for each in rule["responses"]]:
            if requirement["type"] == "Approve":
                reviewer = response["reviewer"]["id"]
                await do(client, id, "respond", type="Approve", response="Approved", reviewerId=reviewer)


async def test_delivery_of_each_event_matches_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    id = await a_full_request(db)
    await do(client, id, "assign", assigneeId=str(await an_identity(db)))
    await approve(client, id)
    await do(client, id, "resolve")
    await do(client, id, "reopen")
    await do(client, id, "cancel")
    completed = await a_full_request(db)
    await approve(client, completed)
    await do(client, completed, "resolve")
    await do(client, completed, "verify")

    made = await deliveries(client)

    assert {delivery["event"]["name"] for delivery in made} == set(EVENTS)
    for delivery in made:
        assert mismatches(delivery, DELIVERY) == []
        event = delivery["event"]
        assert (event["display"], event["description"]) == EVENTS[event["name"]]
        assert delivery["callback"] == f"http://rolecall.test/webhooks/callback/{delivery['id']}"
    assert len({delivery["id"] for delivery in made}) == len(made)


async def test_delivery_of_a_new_request_has_no_later_fields(client: httpx2.AsyncClient, db: Db) -> None:
    mailbox = await an_identity(db, identityType="Mailbox", supervisorId=str(await an_identity(db)))
    await a_full_request(db, identity_id=mailbox, comment=None)

    (delivery,) = await deliveries(client)

    request = delivery["event"]["request"]
    assert (request["status"], request["assignee"], request["comments"]) == ("Pending", None, [])
    assert all(value is None for name, value in request.items() if name.endswith("On") or name == "scheduledStart")
    assert [entry["action"] for entry in request["activity"]] == ["Created"]
    assert request["target"]["affectedIdentity"]["type"] == "Bot"


async def test_callback_needs_no_token_and_returns_no_content(client: httpx2.AsyncClient, db: Db) -> None:
    await a_full_request(db)
    (delivery,) = await deliveries(client)
    del client.headers["Authorization"]

    answer = await client.post(
        f"/webhooks/callback/{delivery['id']}", content="Ticket 4711", headers={"Content-Type": "text/plain"}
    )

    assert (answer.status_code, answer.content) == (204, b"")
