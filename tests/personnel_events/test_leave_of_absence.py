from datetime import UTC, datetime

import httpx2

from rolecall.core import clock
from rolecall.core.config import Config, load
from rolecall.core.db import Db
from tests.asgi import a_service
from tests.builders import an_identity
from tests.personnel_events.bodies import created, day, midnight, planned, problems


async def test_leave_with_a_return_date_schedules_its_removal_stage(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))

    event = await created(client, "leave-of-absence", identityId=ada, effectiveDate=day(14), endDate=day(100))

    assert (event["type"], event["neededOn"], event["neededUntil"]) == ("Absence", midnight(14), midnight(100))
    assert planned(event) == [
        ("Approval", "Scheduled", midnight(7)),
        ("Provision", "Scheduled", midnight(14)),
        ("Removal", "Scheduled", midnight(100)),
    ]


async def test_leave_without_a_return_date_snoozes_its_removal_stage(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))

    event = await created(client, "leave-of-absence", identityId=ada, effectiveDate=day(14))

    assert (event["status"], event["neededUntil"]) == ("Scheduled", None)
    assert planned(event)[1:] == [("Provision", "Scheduled", midnight(14)), ("Removal", "Snoozed", None)]


async def test_past_start_and_earlier_end_are_both_reported(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))

    found = await problems(client, "leave-of-absence", identityId=ada, effectiveDate=day(-1), endDate=day(-2))

    assert found == {
        "effectiveDate": "Effective date must be today or later",
        "endDate": "End date must be after effective date",
    }


async def test_end_date_is_not_compared_with_an_invalid_start(client: httpx2.AsyncClient) -> None:
    found = await problems(client, "leave-of-absence", effectiveDate="soon", endDate=day(-2))

    assert found == {
        "identityId": "Identity ID is required",
        "effectiveDate": "Effective date must be an ISO 8601 date or date-time",
    }


async def test_dates_are_days_in_the_time_zone_of_the_service(config: Config, db: Db, token: str) -> None:
    clock.travel_to(datetime(2026, 10, 20, 23, 0, tzinfo=UTC))  # October 21 in Zurich
    ada = str(await an_identity(db))
    local = load({"ROLECALL_TIMEZONE": "Europe/Zurich"}, database_url=config.database_url, base_url=config.base_url)
    headers = {"Authorization": f"Bearer {token}"}

    async with a_service(local) as app:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url=config.base_url, headers=headers) as client:
            found = await problems(client, "leave-of-absence", identityId=ada, effectiveDate="2026-10-20")
            today = await created(client, "leave-of-absence", identityId=ada, effectiveDate="2026-10-21")
            winter = await created(client, "leave-of-absence", identityId=ada, effectiveDate="2026-10-28")

    assert found == {"effectiveDate": "Effective date must be today or later"}
    assert today["neededOn"] == "2026-10-20T22:00:00Z"
    assert today["activity"][0]["content"] == "Absence with effect from 2026-10-21"
    # Both starts are at midnight, although the clocks go back on October 25.
    assert [start for _, _, start in planned(winter)] == ["2026-10-20T22:00:00Z", "2026-10-27T23:00:00Z", None]
