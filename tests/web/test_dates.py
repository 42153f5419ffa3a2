"""Test dates in a service whose time zone is not UTC."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import httpx2
import msgspec
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from tests.asgi import serving

WHO = {"firstName": "Ada", "lastName": "Lovelace"}


@pytest.fixture
async def auckland(config: Config, token: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Run a service thirteen hours ahead of UTC, where it is already 2 December."""
    clock.travel_to(datetime(2026, 12, 1, 12, tzinfo=UTC))
    async with serving(msgspec.structs.replace(config, timezone=ZoneInfo("Pacific/Auckland"))) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        yield client


async def onboard(client: httpx2.AsyncClient, date: str) -> httpx2.Response:
    return await client.post("/api/personnel-events/onboard", json={"identity": WHO, "effectiveDate": date})


@pytest.mark.parametrize(
    ("date", "needed_on"),
    [
        ("2026-12-02", "2026-12-01T11:00:00Z"),
        ("2026-12-02T09:30", "2026-12-01T20:30:00Z"),
        ("2026-12-02T09:30:00+01:00", "2026-12-02T08:30:00Z"),
        ("2026-12-01T11:00:00Z", "2026-12-01T11:00:00Z"),
    ],
)
async def test_date_without_offset_is_in_the_services_time_zone(
    auckland: httpx2.AsyncClient, date: str, needed_on: str
) -> None:
    answer = await onboard(auckland, date)

    assert answer.status_code == 201
    assert answer.json()["neededOn"] == needed_on


@pytest.mark.parametrize("date", ["2026-12-01", "2026-12-01T23:59:59", "2026-12-01T10:59:59Z"])
async def test_today_is_in_the_services_time_zone(auckland: httpx2.AsyncClient, date: str) -> None:
    answer = await onboard(auckland, date)

    assert answer.json()["errors"] == [{"field": "effectiveDate", "message": "Effective date must be today or later"}]
