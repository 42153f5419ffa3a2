from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.builders import an_application, an_identity
from tests.contract.tables import EVENT_DETAIL, EVENT_ITEM, mismatches, page_of
from tests.holdings import an_account
from tests.working import let_the_worker_work

EVENTS = "/api/personnel-events"


def at(days: int) -> str:
    return f"{datetime.now(UTC).date() + timedelta(days=days)}T00:00:00Z"


async def create(client: httpx2.AsyncClient, kind: str, **body: Any) -> dict[str, Any]:
    answer = await client.post(f"{EVENTS}/{kind}", json={"effectiveDate": at(30), "comment": "Agreed", **body})
    assert answer.status_code == 201, answer.text
    event: dict[str, Any] = answer.json()
    assert mismatches(event, EVENT_DETAIL) == []
    assert event["reporter"]["name"] == "API Token - tests"
    assert event["status"] == "Scheduled"
    assert event["assignee"] is event["completedOn"] is None
    assert [entry["action"] for entry in event["activity"]] == ["Created"]
    assert [comment["content"] for comment in event["comments"]] == ["Agreed"]
    assert all(stage["accessRequests"] == [] and stage["startedOn"] is None for stage in event["stages"])
    return event


def stages(event: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    return [(stage["name"], stage["status"], stage["scheduledStart"]) for stage in event["stages"]]


async def test_onboarding_matches_the_specification(client: httpx2.AsyncClient) -> None:
    event = await create(client, "onboard", identity={"firstName": "Ada", "lastName": "Lovelace"})

    assert (event["type"], event["neededOn"], event["neededUntil"]) == ("Onboard", at(30), None)
    assert stages(event) == [
        ("Approval", "Scheduled", at(23)),
        ("Provision", "Scheduled", at(30)),
        ("Verification", "Scheduled", None),
    ]
    assert (event["affectedIdentity"]["status"], event["affectedIdentity"]["type"]) == ("Active", "Employee")
    made = await client.get(f"/api/identities/{event['affectedIdentity']['id']}")
    assert made.json() == event["affectedIdentity"]


async def test_offboarding_matches_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    event = await create(client, "offboard", identityId=str(await an_identity(db)))

    assert (event["type"], event["neededOn"], event["neededUntil"]) == ("Offboard", at(30), None)
    assert [stage[0] for stage in stages(event)] == ["Approval", "Provision", "Verification"]


async def test_role_transition_matches_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    id = str(await an_identity(db))

    event = await create(client, "role-transition", identityId=id, endDate=at(60), identity={"title": "Countess"})
    without_end = await create(client, "role-transition", identityId=id)

    assert (event["type"], event["neededOn"], event["neededUntil"]) == ("Role Transition", at(30), at(60))
    assert [stage[0] for stage in stages(event)] == ["Approval", "Transition"]
    assert without_end["neededUntil"] is None


async def test_leave_of_absence_matches_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    id = str(await an_identity(db))

    event = await create(client, "leave-of-absence", identityId=id, endDate=at(60))
    without_end = await create(client, "leave-of-absence", identityId=id)

    assert (event["type"], event["neededOn"], event["neededUntil"]) == ("Absence", at(30), at(60))
    assert stages(event) == [
        ("Approval", "Scheduled", at(23)),
        ("Provision", "Scheduled", at(30)),
        ("Removal", "Scheduled", at(60)),
    ]
    assert stages(without_end)[2] == ("Removal", "Snoozed", None)


async def test_list_of_personnel_events_matches_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    id = str(await an_identity(db))
    for kind in ("offboard", "role-transition"):
        await create(client, kind, identityId=id)

    answer = await client.get(EVENTS, params={"identityId": id, "type": "Role Transition", "status": "scheduled"})

    assert answer.status_code == 200
    assert mismatches(answer.json(), page_of(EVENT_ITEM)) == []
    assert [item["type"] for item in answer.json()["items"]] == ["Role Transition"]


async def test_personnel_event_matches_the_specification(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    ada = await an_identity(db)
    await an_account(db, await an_application(db), "ada", ada)
    made = await create(client, "offboard", identityId=str(ada))
    await let_the_worker_work(config, datetime.now(UTC) + timedelta(days=24))

    answer = await client.get(f"{EVENTS}/{made['id']}")

    assert answer.status_code == 200
    assert mismatches(answer.json(), EVENT_DETAIL) == []
    assert [len(stage["accessRequests"]) for stage in answer.json()["stages"]] == [1, 0, 0]
    assert answer.json()["stages"][0]["startedOn"] is not None
