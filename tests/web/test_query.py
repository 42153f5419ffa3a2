from typing import Any

import httpx2
import pytest

from rolecall.core.paging import LAST_PAGE

LISTS = ["/api/identities", "/api/personnel-events", "/api/applications", "/api/tokens"]


async def problems(client: httpx2.AsyncClient, path: str, **query: Any) -> list[dict[str, str]]:
    answer = await client.get(path, params=query)
    assert answer.status_code == 400
    assert answer.json()["error"] == "validation_error"
    return list(answer.json()["errors"])


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "page", ["0", "-1", "1.5", "one", "", " 1", "+1", "1e3", "٣", "²", "9" * 30, "0" * 5000 + "1", str(LAST_PAGE + 1)]
)
async def test_page_must_be_a_whole_number_from_one(client: httpx2.AsyncClient, path: str, page: str) -> None:
    message = "Page must be a whole number, 1 or more"

    assert await problems(client, path, page=page) == [{"field": "page", "message": message}]


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("page", [7, LAST_PAGE])
async def test_a_page_beyond_the_end_is_empty(client: httpx2.AsyncClient, path: str, page: int) -> None:
    answer = await client.get(path, params={"page": page})

    assert answer.status_code == 200
    assert answer.json()["page"] == page
    assert answer.json()["pageSize"] == 50
    if path != "/api/tokens":
        assert answer.json() == {"items": [], "totalCount": 0, "page": page, "pageSize": 50, "totalPages": 0}


async def test_every_invalid_parameter_has_an_error(client: httpx2.AsyncClient) -> None:
    assert await problems(client, "/api/personnel-events", page=0, identityId="me", type="Party", status="Lost") == [
        {"field": "page", "message": "Page must be a whole number, 1 or more"},
        {"field": "identityId", "message": "Identity ID must be a GUID"},
        {"field": "type", "message": "Type must be one of Onboard, Offboard, Role Transition, Absence"},
        {
            "field": "status",
            "message": "Status must be one of Pending, Open, Resolved, Completed, Canceled, Scheduled, Snoozed",
        },
    ]


async def test_a_parameter_given_twice_is_refused(client: httpx2.AsyncClient) -> None:
    assert await problems(client, "/api/identities", page=[1, 2]) == [
        {"field": "page", "message": "Page must be given once"}
    ]


@pytest.mark.parametrize("guid", ["{6f1c0000-0000-4000-8000-000000000000}", "6f1c000000004000800000000000000a", "6f1c"])
async def test_guid_must_be_hyphenated(client: httpx2.AsyncClient, guid: str) -> None:
    assert await problems(client, "/api/personnel-events", identityId=guid) == [
        {"field": "identityId", "message": "Identity ID must be a GUID"}
    ]


async def test_a_guid_that_matches_nothing_gives_an_empty_page(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/personnel-events", params={"identityId": "6F1C0000-0000-4000-8000-00000000000A"})

    assert answer.json() == {"items": [], "totalCount": 0, "page": 1, "pageSize": 50, "totalPages": 0}


async def test_unknown_parameters_are_ignored(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/api/identities", params={"color": "blue"})).status_code == 200


@pytest.mark.parametrize("id", ["x", "6f1c", "%00", "%ff", "a%20b", "6f1c0000-0000-4000-8000-00000000000a"])
async def test_unknown_or_malformed_id_is_404(client: httpx2.AsyncClient, id: str) -> None:
    answer = await client.get(f"/api/identities/{id}")

    assert answer.status_code == 404
    assert answer.json()["error"] == "not_found"
    assert answer.json()["message"].startswith("Identity with id ")
