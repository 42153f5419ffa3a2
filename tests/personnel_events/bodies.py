"""Helpers for tests of personnel events: bodies and dates."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

EVENTS = "/api/personnel-events"
MISSING = "00000000-0000-4000-8000-000000000001"


def day(offset: int) -> str:
    """Return the date `offset` days from today, in the format of request bodies."""
    return (datetime.now(UTC).date() + timedelta(days=offset)).isoformat()


def midnight(offset: int) -> str:
    """Return the date `offset` days from today, in the format of responses."""
    return f"{day(offset)}T00:00:00Z"


async def created(client: httpx2.AsyncClient, kind: str, **body: Any) -> Any:
    answer = await client.post(f"{EVENTS}/{kind}", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def problems(client: httpx2.AsyncClient, kind: str, **body: Any) -> dict[str, str]:
    answer = await client.post(f"{EVENTS}/{kind}", json=body)
    assert answer.status_code == 400, answer.text
    error = answer.json()
    assert (error["error"], error["message"]) == ("validation_error", "One or more validation errors occurred")
    found = {problem["field"]: problem["message"] for problem in error["errors"]}
    assert len(found) == len(error["errors"])
    return found


def planned(event: Any) -> list[tuple[str, str, str | None]]:
    return [(stage["name"], stage["status"], stage["scheduledStart"]) for stage in event["stages"]]
