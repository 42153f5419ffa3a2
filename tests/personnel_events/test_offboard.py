import httpx2

from rolecall.core.db import Db
from tests.builders import an_identity
from tests.personnel_events.bodies import MISSING, created, day, midnight, planned, problems


async def test_offboarding_keeps_the_identity_active_until_the_effective_date(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ada = str(await an_identity(db))

    event = await created(client, "offboard", identityId=ada, effectiveDate=day(20), comment="Last day")

    assert (event["type"], event["neededOn"], event["neededUntil"]) == ("Offboard", midnight(20), None)
    assert planned(event) == [
        ("Approval", "Scheduled", midnight(13)),
        ("Provision", "Scheduled", midnight(20)),
        ("Verification", "Scheduled", None),
    ]
    assert event["affectedIdentity"] == (await client.get(f"/api/identities/{ada}")).json()
    assert event["affectedIdentity"]["status"] == "Active"
    assert [comment["content"] for comment in event["comments"]] == ["Last day"]


async def test_empty_body_reports_all_required_fields(client: httpx2.AsyncClient) -> None:
    expected = {"identityId": "Identity ID is required", "effectiveDate": "Effective date is required"}

    assert await problems(client, "offboard") == expected
    assert await problems(client, "offboard", identityId="", effectiveDate="") == expected


async def test_unknown_identity_and_past_date_are_reported_together(client: httpx2.AsyncClient) -> None:
    assert await problems(client, "offboard", identityId=MISSING, effectiveDate=day(-1)) == {
        "identityId": f"Identity with id {MISSING} not found",
        "effectiveDate": "Effective date must be today or later",
    }


async def test_malformed_identity_id_is_rejected(client: httpx2.AsyncClient) -> None:
    found = await problems(client, "offboard", identityId="ada", effectiveDate=day(0))

    assert found == {"identityId": "Identity ID must be a GUID"}


async def test_person_can_have_several_events_at_once(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))

    numbers = [(await created(client, "offboard", identityId=ada, effectiveDate=day(1)))["number"] for _ in range(2)]

    assert numbers == [1, 2]
