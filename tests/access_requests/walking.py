"""Helpers that bring requests to any status through the verbs of the API."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
from psycopg.rows import dict_row

from rolecall.core.db import Db
from tests.builders import an_access_request, an_application, an_identity

PATH = "/api/access-requests"
TOMORROW = (datetime.now(UTC) + timedelta(days=1)).isoformat()


class Cast:
    """Ada is the affected person, Grace is her supervisor and owns the application, Peter provisions it."""

    def __init__(self, ada: UUID, grace: UUID, peter: UUID) -> None:
        self.ada_id = ada
        self.ada, self.grace, self.peter = str(ada), str(grace), str(peter)


async def a_cast(db: Db) -> Cast:
    grace = await an_identity(db, "Grace", "Hopper")
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(grace), identityType="Vendor")
    return Cast(ada, grace, await an_identity(db, "Peter", "Naur"))


async def do(client: httpx2.AsyncClient, id: object, verb: str, **body: Any) -> httpx2.Response:
    return await client.post(f"{PATH}/{id}/{verb}", json=body)


async def done(client: httpx2.AsyncClient, id: object, verb: str, **body: Any) -> dict[str, Any]:
    answer = await do(client, id, verb, **body)
    assert answer.status_code == 200, answer.text
    detail: dict[str, Any] = answer.json()
    return detail


async def detail_of(client: httpx2.AsyncClient, id: object) -> dict[str, Any]:
    answer = await client.get(f"{PATH}/{id}")
    assert answer.status_code == 200, answer.text
    detail: dict[str, Any] = answer.json()
    return detail


# The verbs that lead from a new request to each status.
STEPS: dict[str, list[str]] = {
    "Pending": [],
    "Scheduled": ["approve"],
    "Open": ["approve"],
    "Snoozed": ["approve", "snooze"],
    "Resolved": ["approve", "resolve"],
    "Completed": ["approve", "resolve", "verify"],
    "Canceled": ["cancel"],
}


def body_of(verb: str, cast: Cast) -> tuple[str, dict[str, Any]]:
    match verb:
        case "approve":
            return "respond", {"type": "Approve", "response": "Approved", "reviewerId": cast.grace}
        case "reject":
            return "respond", {"type": "Approve", "response": "Rejected", "reviewerId": cast.grace}
        case "assign":
            return "assign", {"assigneeId": cast.peter}
        case "snooze":
            return "snooze", {"until": TOMORROW}
    return verb, {}


async def a_request_that_is(
    client: httpx2.AsyncClient, db: Db, status: str, cast: Cast, *, priority: str = "High"
) -> str:
    """Create a request and bring it to a status. An application of high priority requires verification."""
    application = await an_application(
        db, f"CRM for {status}", ownerId=cast.grace, provisionerIds=[cast.peter], priority=priority
    )
    start = datetime.fromisoformat(TOMORROW) if status == "Scheduled" else None
    id = await an_access_request(db, identity_id=cast.ada_id, application_id=application, scheduled_start=start)
    for step in STEPS[status]:
        verb, body = body_of(step, cast)
        await done(client, id, verb, **body)
    assert (await detail_of(client, id))["status"] == status
    return str(id)


async def events_of(db: Db, id: object) -> list[dict[str, Any]]:
    async with db.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            "SELECT name, caller_name, request FROM access_request_events WHERE request_id = %s ORDER BY number", (id,)
        )
        return await cursor.fetchall()
