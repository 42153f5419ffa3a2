from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.builders import an_identity
from tests.personnel_events.bodies import EVENTS, MISSING, created, day, midnight, planned, problems
from tests.working import let_the_worker_work


async def test_role_transition_shows_the_person_with_the_new_fields(client: httpx2.AsyncClient, db: Db) -> None:
    await client.patch("/api/settings", json={"customFields": [{"number": 1, "enabled": True}]})
    old, new = await an_identity(db, "Charles", "Babbage"), await an_identity(db, "Mary", "Somerville")
    ada = str(
        await an_identity(db, supervisorId=str(old), title="Programmer", office="London", email="ada@example.com")
    )
    before = (await client.get(f"/api/identities/{ada}")).json()
    changes = {
        "lastName": "King",
        "supervisorId": str(new),
        "title": "Countess",
        "email": "",
        "identityType": "Vendor",
        "customField1": "x",
    }

    event = await created(
        client, "role-transition", identityId=ada, effectiveDate=day(10), endDate=day(40), identity=changes
    )

    assert event["affectedIdentity"] == before | {
        "lastName": "King",
        "supervisorName": "Somerville, Mary",
        "title": "Countess",
        "emailAddress": "",
        "type": "Vendor",
    }
    assert list(event["affectedIdentity"]) == list(before)
    assert (event["type"], event["neededOn"], event["neededUntil"]) == ("Role Transition", midnight(10), midnight(40))
    assert planned(event) == [("Approval", "Scheduled", midnight(3)), ("Transition", "Scheduled", midnight(10))]
    assert (await client.get(f"/api/identities/{ada}")).json() == before
    assert (await client.get(f"{EVENTS}/{event['id']}")).json() == event
    [item] = (await client.get(EVENTS, params={"identityId": ada})).json()["items"]
    assert item["affectedIdentity"] == event["affectedIdentity"]


async def test_omitted_fields_show_the_current_values(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db, title="Programmer"))
    first = await created(client, "role-transition", identityId=ada, effectiveDate=day(1), identity={"office": "Paris"})

    await db.execute("UPDATE identities SET title = 'Analyst' WHERE id = %s", (ada,))

    shown = (await client.get(f"{EVENTS}/{first['id']}")).json()["affectedIdentity"]
    assert (shown["title"], shown["office"]) == ("Analyst", "Paris")


async def test_role_transition_needs_neither_changes_nor_end_date(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))

    nothing: list[Any] = [{}, None]
    for identity in nothing:
        event = await created(client, "role-transition", identityId=ada, effectiveDate=day(0), identity=identity)
        assert event["neededUntil"] is None
        assert event["affectedIdentity"] == (await client.get(f"/api/identities/{ada}")).json()


async def test_all_validation_errors_are_reported_at_once(client: httpx2.AsyncClient) -> None:
    identity = {
        "firstName": "",
        "lastName": "x" * 257,
        "department": "d" * 129,
        "supervisorId": "someone",
        "identityType": "Robot" * 11,
        "customField9": "x",
    }

    found = await problems(client, "role-transition", identityId=MISSING, identity=identity, endDate="soon")

    assert found.pop("identity.identityType").startswith("Identity type must be one of Employee, ")
    assert found == {
        "identityId": f"Identity with id {MISSING} not found",
        "effectiveDate": "Effective date is required",
        "endDate": "End date must be an ISO 8601 date or date-time",
        "identity.firstName": "First name must not be blank",
        "identity.lastName": "Last name must be at most 256 characters",
        "identity.department": "Department must be at most 128 characters",
        "identity.supervisorId": "Supervisor ID must be a GUID",
        "identity.customField9": "Custom field 9 is not enabled",
    }


async def test_empty_body_reports_all_required_fields(client: httpx2.AsyncClient) -> None:
    assert await problems(client, "role-transition") == {
        "identityId": "Identity ID is required",
        "effectiveDate": "Effective date is required",
    }


async def test_end_date_must_be_after_the_effective_date(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))

    found = await problems(client, "role-transition", identityId=ada, effectiveDate=day(5), endDate=day(5))

    assert found == {"endDate": "End date must be after effective date"}


async def test_white_space_around_changed_fields_is_removed(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))

    event = await created(
        client,
        "role-transition",
        identityId=ada,
        effectiveDate=day(1),
        identity={"lastName": " King ", "title": f" {'t' * 256}\n"},
    )

    assert (event["affectedIdentity"]["lastName"], event["affectedIdentity"]["title"]) == ("King", "t" * 256)


async def test_empty_supervisor_id_removes_the_supervisor(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    boss = str(await an_identity(db, "Charles", "Babbage"))
    ada = str(await an_identity(db, supervisorId=boss))
    body = {"identityId": ada, "effectiveDate": day(0), "identity": {"supervisorId": ""}}

    preview = await client.post(f"{EVENTS}/preview", json={"type": "RoleTransition", **body})
    event = await created(client, "role-transition", **body)

    assert preview.status_code == 200, preview.text
    assert event["affectedIdentity"]["supervisorName"] == ""
    assert (await client.get(f"/api/identities/{ada}")).json()["supervisorName"] == "Babbage, Charles"

    await let_the_worker_work(config, datetime.now(UTC))

    assert (await client.get(f"/api/identities/{ada}")).json()["supervisorName"] == ""
    changed = (await client.get(f"{EVENTS}/{event['id']}")).json()
    assert changed["affectedIdentity"]["supervisorName"] == ""
    assert "Changed supervisor id" in [entry["content"] for entry in changed["activity"]]


async def test_null_supervisor_id_keeps_the_supervisor(client: httpx2.AsyncClient, db: Db) -> None:
    boss = str(await an_identity(db, "Charles", "Babbage"))
    ada = str(await an_identity(db, supervisorId=boss))

    event = await created(
        client, "role-transition", identityId=ada, effectiveDate=day(0), identity={"supervisorId": None}
    )

    assert event["affectedIdentity"]["supervisorName"] == "Babbage, Charles"


@pytest.mark.parametrize("path", ["role-transition", "preview"])
async def test_person_cannot_become_their_own_supervisor(client: httpx2.AsyncClient, db: Db, path: str) -> None:
    ada = str(await an_identity(db))
    identity = {"supervisorId": ada.upper(), "lastName": " "}

    found = await problems(
        client, path, type="Role Transition", identityId=ada, effectiveDate=day(0), identity=identity
    )

    assert found == {
        "identity.supervisorId": "Supervisor ID must be another identity",
        "identity.lastName": "Last name must not be blank",
    }


async def test_names_must_be_visible_and_have_no_control_characters(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))
    identity = {"firstName": "\u200b\u2060", "lastName": "Love\nlace"}

    found = await problems(client, "role-transition", identityId=ada, effectiveDate=day(0), identity=identity)

    assert found == {
        "identity.firstName": "First name must not be blank",
        "identity.lastName": "Last name must not contain control characters",
    }


async def test_empty_optional_fields_keep_their_values(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db, identityType="Vendor"))

    event = await created(
        client,
        "role-transition",
        identityId=ada,
        effectiveDate=day(0),
        endDate="",
        comment=" ",
        identity={"identityType": ""},
    )

    assert (event["neededUntil"], event["comments"], event["affectedIdentity"]["type"]) == (None, [], "Vendor")
