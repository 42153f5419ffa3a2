"""Test the error body and every message that the specification gives."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from rolecall.core.db import Db
from tests.builders import an_application, an_identity
from tests.contract.tables import TEXT, Words, mismatches

UNKNOWN = "6f1c0000-0000-4000-8000-00000000000a"
YESTERDAY, TOMORROW = (str(datetime.now(UTC).date() + timedelta(days=n)) for n in (-1, 1))
INVALID = {
    "error": Words(["validation_error"]),
    "message": Words(["One or more validation errors occurred"]),
    "correlationId": TEXT,
    "errors": [{"field": TEXT, "message": TEXT}],
}
NOT_FOUND = {"error": Words(["not_found"]), "message": TEXT, "correlationId": TEXT}

Post = Callable[..., Awaitable[list[tuple[str, str]]]]


@pytest.fixture
def refused(client: httpx2.AsyncClient) -> Post:
    """Return a function that posts an invalid body and returns the errors of the response."""

    async def post(path: str, body: Any = None, **sent: Any) -> list[tuple[str, str]]:
        answer = await client.post(path, **({"json": body} if body is not None else sent))
        assert answer.status_code == 400, answer.text
        assert mismatches(answer.json(), INVALID) == []
        return [(entry["field"], entry["message"]) for entry in answer.json()["errors"]]

    return post


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/applications", "Application"),
        ("/api/access-requests", "AccessRequest"),
        ("/api/personnel-events", "PersonnelEvent"),
        ("/api/application-imports", "ApplicationImport"),
        ("/api/identities", "Identity"),
    ],
)
@pytest.mark.parametrize("id", [UNKNOWN, "not-a-guid"])
async def test_unknown_records_are_not_found(client: httpx2.AsyncClient, path: str, resource: str, id: str) -> None:
    answer = await client.get(f"{path}/{id}")

    assert answer.status_code == 404
    assert mismatches(answer.json(), NOT_FOUND) == []
    assert answer.json()["message"] == f"{resource} with id {id} not found"


async def test_messages_of_onboard_match_the_specification(refused: Post) -> None:
    body = {"identity": {"firstName": " ", "lastName": "Lovelace"}, "effectiveDate": YESTERDAY}

    assert await refused("/api/personnel-events/onboard", body) == [
        ("identity.firstName", "First name is required"),
        ("effectiveDate", "Effective date must be today or later"),
    ]
    assert await refused("/api/personnel-events/onboard", {}) == [
        ("identity", "Identity is required"),
        ("effectiveDate", "Effective date is required"),
    ]


async def test_all_length_limits_of_an_identity_are_reported_at_once(refused: Post) -> None:
    long = {"firstName": 256, "lastName": 256, "email": 256, "company": 256, "division": 256, "office": 256}
    long |= {"title": 256, "department": 128}
    identity = {name: "x" * (limit + 1) for name, limit in long.items()}
    identity |= {"identityType": "Robot", "supervisorId": UNKNOWN, "customField3": "blue"}

    entries = await refused("/api/personnel-events/onboard", {"identity": identity, "effectiveDate": "soon"})

    words = {"firstName": "First name", "lastName": "Last name"}
    expected = {
        f"identity.{name}": f"{words.get(name, name.title())} must be at most {limit} characters"
        for name, limit in long.items()
    }
    expected |= {
        "identity.supervisorId": f"Identity with id {UNKNOWN} not found",
        "identity.identityType": "Identity type must be one of Employee, Service Account, Vendor, Shared, Mailbox,"
        " Client, Temporary, Administrator, Auditor, Unknown",
        "identity.customField3": "Custom field 3 is not enabled",
        "effectiveDate": "Effective date must be an ISO 8601 date or date-time",
    }
    assert dict(entries) == expected
    assert len(entries) == len(expected)


async def test_messages_of_offboard_match_the_specification(refused: Post) -> None:
    assert await refused("/api/personnel-events/offboard", {"identityId": UNKNOWN, "effectiveDate": TOMORROW}) == [
        ("identityId", f"Identity with id {UNKNOWN} not found")
    ]
    assert await refused("/api/personnel-events/offboard", {"identityId": " ", "effectiveDate": " "}) == [
        ("identityId", "Identity ID is required"),
        ("effectiveDate", "Effective date is required"),
    ]


async def test_messages_of_role_transition_match_the_specification(refused: Post) -> None:
    assert await refused("/api/personnel-events/role-transition", {}) == [
        ("identityId", "Identity ID is required"),
        ("effectiveDate", "Effective date is required"),
    ]


async def test_messages_of_leave_of_absence_match_the_specification(refused: Post, db: Db) -> None:
    body = {"identityId": str(await an_identity(db)), "effectiveDate": TOMORROW, "endDate": TOMORROW}

    assert await refused("/api/personnel-events/leave-of-absence", body) == [
        ("endDate", "End date must be after effective date")
    ]


async def test_messages_of_stage_match_the_specification(refused: Post, db: Db) -> None:
    archived = await an_application(db, isArchived=True, schedule={"cron": "0 6 * * *", "locations": {}})

    assert await refused("/api/application-imports/stage", {"applicationId": str(archived)}) == [
        ("applicationId", "Application is archived")
    ]


async def test_messages_of_cancel_match_the_specification(refused: Post) -> None:
    assert await refused("/api/application-imports/cancel", {}) == [
        ("applicationImportId", "Application import ID is required")
    ]


async def test_messages_of_upload_match_the_specification(refused: Post, client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)
    groups = (await client.get(f"/api/applications/{id}")).json()["connector"]["files"]
    optional = {groups[1]["fileGroupId"]: ("groups.csv", b"Group\nClerks\n")}

    assert await refused(f"/api/application-imports/upload?applicationId={id}", files=optional) == [
        (groups[0]["fileGroupId"], "Required file missing: Users")
    ]
