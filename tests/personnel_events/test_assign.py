import httpx2

from rolecall.core.db import Db
from tests.builders import an_identity
from tests.personnel_events.bodies import EVENTS, MISSING, created, day


async def test_event_can_be_assigned_and_reassigned(client: httpx2.AsyncClient, db: Db) -> None:
    grace, mary = await an_identity(db, "Grace", "Hopper"), await an_identity(db, "Mary", "Somerville")
    event = await created(client, "offboard", identityId=str(await an_identity(db)), effectiveDate=day(3))

    for person in (grace, mary):
        answer = await client.post(f"{EVENTS}/{event['id']}/assign", json={"assigneeId": str(person)})
        assert answer.status_code == 200, answer.text

    assert answer.json()["assignee"] == {"id": str(mary), "name": "Mary Somerville"}
    assert [(entry["action"], entry["content"]) for entry in answer.json()["activity"]][1:] == [
        ("Assigned", "Assigned to Grace Hopper"),
        ("Assigned", "Assigned to Mary Somerville"),
    ]
    assert (await client.get(f"{EVENTS}/{event['id']}")).json() == answer.json()


async def test_assignee_must_exist(client: httpx2.AsyncClient, db: Db) -> None:
    event = await created(client, "offboard", identityId=str(await an_identity(db)), effectiveDate=day(3))

    for body, message in [
        ({}, "Assignee ID is required"),
        ({"assigneeId": MISSING}, f"Identity with id {MISSING} not found"),
    ]:
        answer = await client.post(f"{EVENTS}/{event['id']}/assign", json=body)
        assert answer.status_code == 400
        assert answer.json()["errors"] == [{"field": "assigneeId", "message": message}]


async def test_canceled_event_cannot_be_assigned(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))
    event = await created(client, "offboard", identityId=ada, effectiveDate=day(3))
    await client.post(f"{EVENTS}/{event['id']}/cancel")

    answer = await client.post(f"{EVENTS}/{event['id']}/assign", json={"assigneeId": ada})

    assert answer.status_code == 409
    assert answer.json()["message"] == "Personnel event is already Canceled"


async def test_event_cannot_be_assigned_to_an_inactive_identity(client: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db)
    await db.execute("UPDATE identities SET status = 'Disabled' WHERE id = %s", (ada,))
    event = await created(client, "offboard", identityId=str(ada), effectiveDate=day(3))

    answer = await client.post(f"{EVENTS}/{event['id']}/assign", json={"assigneeId": str(ada)})

    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"field": "assigneeId", "message": "Ada Lovelace is Disabled; assign an active person"}
    ]
