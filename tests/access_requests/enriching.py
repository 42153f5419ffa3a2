"""Helpers that create requests over HTTP and read their enriched privileges."""

from typing import Any
from uuid import UUID

import httpx2

from tests.access_requests.walking import PATH


async def created(client: httpx2.AsyncClient, application: UUID, **body: Any) -> dict[str, Any]:
    answer = await client.post(PATH, json={"action": "Change", "applicationId": str(application), **body})
    assert answer.status_code == 201, answer.text
    request: dict[str, Any] = answer.json()
    return request


def privileges_of(request: dict[str, Any]) -> list[tuple[str, str, str, str, list[str]]]:
    return [
        (
            each["permission"]["permission"],
            each["initialAccess"],
            each["requestedAccess"],
            each["permission"]["riskRating"],
            each["sources"],
        )
        for each in request["target"]["privileges"]
    ]
