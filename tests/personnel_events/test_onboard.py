from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core import clock
from rolecall.core.db import Db, fetch_rows
from tests.builders import an_identity
from tests.personnel_events.bodies import EVENTS, MISSING, created, day, midnight, planned, problems

ADA = {"firstName": "Ada", "lastName": "Lovelace"}


async def test_onboarding_with_all_fields_returns_the_specified_shape(client: httpx2.AsyncClient, db: Db) -> None:
    clock.travel_to(datetime(2026, 11, 1, 9, 30, tzinfo=UTC))
    await client.patch("/api/settings", json={"customFields": [{"number": 3, "enabled": True}]})
    supervisor = await an_identity(db, "Charles", "Babbage")
    identity = {
        **ADA,
        "email": "ada@example.com",
        "supervisorId": str(supervisor),
        "company": "Engines",
        "division": "Analytical",
        "department": "Notes",
        "office": "London",
        "title": "Programmer",
        "identityType": "serviceaccount",
        "customField3": "blue",
    }

    event = await created(
        client, "onboard", identity=identity, effectiveDate="2026-12-01", comment="Desk by the window"
    )

    token = {"id": event["reporter"]["id"], "name": "API Token - tests"}
    now = event["affectedIdentity"]["createdDate"]
    person = event["affectedIdentity"]["id"]
    assert now.startswith("2026-11-01T09:3")
    stage: dict[str, Any] = {"status": "Scheduled", "startedOn": None, "completedOn": None, "completedBy": None}
    stage |= {"accessRequests": []}
    expected = {
        "id": event["id"],
        "kind": "Personnel Event",
        "number": 1,
        "type": "Onboard",
        "status": "Scheduled",
        "reporter": token,
        "assignee": None,
        "affectedIdentity": {
            "id": person,
            "kind": "Identity",
            "firstName": "Ada",
            "lastName": "Lovelace",
            "emailAddress": "ada@example.com",
            "type": "Service Account",
            "title": "Programmer",
            "company": "Engines",
            "division": "Analytical",
            "department": "Notes",
            "office": "London",
            "supervisorName": "Babbage, Charles",
            "createdDate": now,
            "updatedDate": now,
            "firstSeenDate": now,
            "inactivatedDate": None,
            "status": "Active",
        },
        "neededOn": "2026-12-01T00:00:00Z",
        "neededUntil": None,
        "completedOn": None,
        "stages": [
            stage | {"name": "Approval", "scheduledStart": "2026-11-24T00:00:00Z"},
            stage | {"name": "Provision", "scheduledStart": "2026-12-01T00:00:00Z"},
            stage | {"name": "Verification", "scheduledStart": None},
        ],
        "activity": [
            {
                "createdDate": now,
                "author": "API Token - tests",
                "action": "Created",
                "content": "Onboard with effect from 2026-12-01",
            }
        ],
        "comments": [{"createdDate": now, "author": "API Token - tests", "content": "Desk by the window"}],
    }
    assert event == expected
    assert list(event) == list(expected)
    assert list(event["affectedIdentity"]) == list(expected["affectedIdentity"])
    order = ["name", "status", "startedOn", "scheduledStart", "completedOn", "completedBy", "accessRequests"]
    assert [list(stage) for stage in event["stages"]] == [order] * 3
    assert list(event["activity"][0]) == ["createdDate", "author", "action", "content"]
    assert list(event["comments"][0]) == ["createdDate", "author", "content"]
    UUID(event["id"])
    assert (await client.get(f"/api/identities/{person}")).json() == event["affectedIdentity"]
    rows = await (await db.execute("SELECT custom_fields FROM identities WHERE id = %s", (person,))).fetchall()
    assert rows == [({"3": "blue"},)]


async def test_onboarding_requires_only_names_and_date(client: httpx2.AsyncClient) -> None:
    event = await created(client, "onboard", identity=ADA, effectiveDate=day(0))

    identity = event["affectedIdentity"]
    assert (identity["type"], identity["title"], identity["supervisorName"]) == ("Employee", "", "")
    assert event["comments"] == []


async def test_approval_lead_is_a_setting(client: httpx2.AsyncClient) -> None:
    await client.patch("/api/settings", json={"approvalLeadDays": 30})

    event = await created(client, "onboard", identity=ADA, effectiveDate=day(40))

    assert planned(event)[0] == ("Approval", "Scheduled", midnight(10))


async def test_stage_with_a_past_start_is_still_scheduled_at_creation(client: httpx2.AsyncClient) -> None:
    event = await created(client, "onboard", identity=ADA, effectiveDate=day(0))

    assert event["status"] == "Scheduled"
    assert planned(event) == [
        ("Approval", "Scheduled", midnight(-7)),
        ("Provision", "Scheduled", midnight(0)),
        ("Verification", "Scheduled", None),
    ]


async def test_empty_body_reports_identity_and_date_once_each(client: httpx2.AsyncClient) -> None:
    expected = {"identity": "Identity is required", "effectiveDate": "Effective date is required"}

    assert await problems(client, "onboard") == expected
    assert await problems(client, "onboard", identity=None, effectiveDate=None) == expected


async def test_all_validation_errors_are_reported_at_once(client: httpx2.AsyncClient) -> None:
    await client.patch("/api/settings", json={"customFields": [{"number": 4, "enabled": True}]})
    identity = {
        "lastName": " ",
        "email": "e" * 257,
        "supervisorId": MISSING,
        "company": "c" * 257,
        "division": "d" * 257,
        "department": "d" * 129,
        "office": "o" * 257,
        "title": 7,
        "identityType": "Robot",
        "customField3": "blue",
        "customField4": "x" * 2049,
    }

    assert await problems(client, "onboard", identity=identity, effectiveDate=day(-1), comment=["no"]) == {
        "identity.firstName": "First name is required",
        "identity.lastName": "Last name is required",
        "identity.email": "Email must be at most 256 characters",
        "identity.supervisorId": f"Identity with id {MISSING} not found",
        "identity.company": "Company must be at most 256 characters",
        "identity.division": "Division must be at most 256 characters",
        "identity.department": "Department must be at most 128 characters",
        "identity.office": "Office must be at most 256 characters",
        "identity.title": "Title must be a string",
        "identity.identityType": "Identity type must be one of Employee, Service Account, Vendor, Shared, Mailbox, "
        "Client, Temporary, Administrator, Auditor, Unknown",
        "identity.customField3": "Custom field 3 is not enabled",
        "identity.customField4": "Custom field 4 must be at most 2048 characters",
        "effectiveDate": "Effective date must be today or later",
        "comment": "Comment must be a string",
    }
    assert (await client.get("/api/identities")).json()["totalCount"] == 0


async def test_identity_that_is_not_an_object_is_one_error(client: httpx2.AsyncClient) -> None:
    wrong: list[Any] = ["Ada", 7, []]
    for identity in wrong:
        found = await problems(client, "onboard", identity=identity, effectiveDate=day(0))
        assert found == {"identity": "Identity must be an object"}


@pytest.mark.parametrize(
    "date", ["tomorrow", "2026-13-01", "2030-01-02X10:00", 20261201, True, {}, "9999-12-31T23:59:59-05:00"]
)
async def test_invalid_date_is_rejected(client: httpx2.AsyncClient, date: object) -> None:
    found = await problems(client, "onboard", identity=ADA, effectiveDate=date)

    assert found == {"effectiveDate": "Effective date must be an ISO 8601 date or date-time"}


async def test_latest_possible_date_is_accepted(client: httpx2.AsyncClient) -> None:
    event = await created(client, "onboard", identity=ADA, effectiveDate="9999-12-31")

    assert event["neededOn"] == "9999-12-31T00:00:00Z"


async def test_blank_comment_and_unknown_fields_are_ignored(client: httpx2.AsyncClient) -> None:
    event = await created(client, "onboard", identity=ADA, effectiveDate=day(0), comment="  ", status="Completed")

    assert (event["comments"], event["status"]) == ([], "Scheduled")


async def test_same_idempotency_key_creates_one_event_and_one_identity(client: httpx2.AsyncClient) -> None:
    body = {"identity": ADA, "effectiveDate": day(1)}
    answers = [
        await client.post(f"{EVENTS}/onboard", json=body, headers={"Idempotency-Key": "join-1"}) for _ in range(2)
    ]

    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert (await client.get("/api/identities")).json()["totalCount"] == 1


async def test_white_space_around_fields_is_removed_and_within_is_kept(client: httpx2.AsyncClient, db: Db) -> None:
    await client.patch("/api/settings", json={"customFields": [{"number": 3, "enabled": True}]})
    said = {
        "firstName": " Ada  May\t",
        "lastName": "\u00a0Lovelace ",
        "department": " Notes ",
        "customField3": " blue\n",
    }

    event = await created(client, "onboard", identity=said | {"email": " ada@example.com "}, effectiveDate=day(1))

    person = event["affectedIdentity"]
    assert (person["firstName"], person["lastName"]) == ("Ada  May", "Lovelace")
    assert (person["department"], person["emailAddress"]) == ("Notes", "ada@example.com")
    [(custom,)] = await fetch_rows(db, "SELECT custom_fields FROM identities")
    assert custom == {"3": "blue"}


async def test_white_space_around_a_text_does_not_count_towards_its_length(client: httpx2.AsyncClient) -> None:
    long = {"firstName": f" {'a' * 256} ", "lastName": "Lovelace", "department": f"{'d' * 128}   "}

    event = await created(client, "onboard", identity=long, effectiveDate=day(1))

    assert event["affectedIdentity"]["firstName"] == "a" * 256
    assert await problems(
        client, "onboard", identity=long | {"firstName": f" {'a' * 257}", "lastName": " \t "}, effectiveDate=day(1)
    ) == {
        "identity.firstName": "First name must be at most 256 characters",
        "identity.lastName": "Last name is required",
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("\u200b\u200d\ufeff", "First name is required"),
        ("\u3164", "First name is required"),
        ("Ada\nByron", "First name must not contain control characters"),
        ("Ada\x1b[31m", "First name must not contain control characters"),
        ("Ada\u2028Byron", "First name must not contain control characters"),
    ],
)
async def test_names_must_be_visible_and_have_no_control_characters(
    client: httpx2.AsyncClient, name: str, message: str
) -> None:
    found = await problems(client, "onboard", identity=ADA | {"firstName": name}, effectiveDate=day(0))

    assert found == {"identity.firstName": message}


async def test_empty_optional_fields_count_as_absent(client: httpx2.AsyncClient) -> None:
    identity = ADA | {"supervisorId": "", "identityType": "", "email": ""}

    event = await created(client, "onboard", identity=identity, effectiveDate=day(0), comment="")

    person = event["affectedIdentity"]
    assert (person["supervisorName"], person["type"], person["emailAddress"]) == ("", "Employee", "")
    assert event["comments"] == []
