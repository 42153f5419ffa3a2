from typing import Any

import httpx2
import pytest

from rolecall.core.db import Db
from tests.builders import an_identity
from tests.contract.tables import DELIVERY, mismatches
from tests.contract.test_access_requests import a_full_request


@pytest.fixture
async def delivered(client: httpx2.AsyncClient, db: Db) -> Any:
    """The body of the delivery that a new request makes."""
    hook = {"name": "Ticketing", "url": "https://hooks.example.com/rolecall", "events": ["AccessRequestCreated"]}
    assert (await client.post("/api/webhooks", json=hook)).status_code == 201
    await a_full_request(db, identity_id=await an_identity(db, identityType="Mailbox"))
    (item,) = (await client.get("/api/webhook-deliveries")).json()["items"]
    return (await client.get(f"/api/webhook-deliveries/{item['id']}")).json()["body"]


async def test_a_delivery(delivered: Any) -> None:
    assert mismatches(delivered, DELIVERY) == []
    assert delivered["callback"] == f"http://rolecall.test/webhooks/callback/{delivered['id']}"
    event = delivered["event"]
    assert (event["name"], event["display"], event["description"]) == (
        "AccessRequestCreated",
        "Access Request Created",
        "An access request is created",
    )
    request = event["request"]
    assert (request["status"], request["assignee"]) == ("Pending", None)
    assert all(value is None for name, value in request.items() if name.endswith("On") or name == "scheduledStart")
    assert len(request["activity"]) == 1
    assert request["target"]["affectedIdentity"]["type"] == "Bot"


async def test_the_callback(anonymous: httpx2.AsyncClient, delivered: Any) -> None:
    del anonymous.headers["Authorization"]

    answer = await anonymous.post(
        f"/webhooks/callback/{delivered['id']}", content="Ticket 4711", headers={"Content-Type": "text/plain"}
    )

    assert (answer.status_code, answer.content) == (204, b"")
