from typing import Any

import httpx2
import pytest

from rolecall.core.db import Db
from tests.builders import an_identity
from tests.personnel_events.bodies import EVENTS, MISSING, created, day


async def listed(client: httpx2.AsyncClient, **params: Any) -> Any:
    answer = await client.get(EVENTS, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def numbers(page: Any) -> list[int]:
    return [item["number"] for item in page["items"]]


@pytest.fixture
async def four(client: httpx2.AsyncClient, db: Db) -> str:
    """Create one event of each type, numbered 1 to 4; the first affects another person."""
    ada = str(await an_identity(db))
    await created(client, "onboard", identity={"firstName": "Mary", "lastName": "S"}, effectiveDate=day(1))
    await created(client, "offboard", identityId=ada, effectiveDate=day(4))
    await created(client, "role-transition", identityId=ada, effectiveDate=day(2))
    await created(client, "leave-of-absence", identityId=ada, effectiveDate=day(2))
    return ada


async def test_list_items_have_only_the_list_fields(client: httpx2.AsyncClient, db: Db) -> None:
    event = await created(client, "offboard", identityId=str(await an_identity(db)), effectiveDate=day(4))

    [item] = (await listed(client))["items"]

    assert item == {name: event[name] for name in list(event)[:11]}
    assert list(item) == list(event)[:11]
    assert list(item)[-1] == "completedOn"


async def test_list_is_ordered_by_effective_date_then_number_descending(client: httpx2.AsyncClient, four: str) -> None:
    page = await listed(client)

    assert numbers(page) == [2, 4, 3, 1]
    assert (page["totalCount"], page["totalPages"]) == (4, 1)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"type": "onboard"}, [1]),
        ({"type": "RoleTransition"}, [3]),
        ({"type": "role transition"}, [3]),
        ({"type": "ABSENCE"}, [4]),
        ({"status": "sCheduled"}, [2, 4, 3, 1]),
        ({"status": "Completed"}, []),
        ({"type": "Offboard", "status": "Scheduled"}, [2]),
        ({"type": "Offboard", "status": "Open"}, []),
        ({"identityId": MISSING}, []),
    ],
)
async def test_filters_select_matching_events(
    client: httpx2.AsyncClient, four: str, filters: dict[str, str], expected: list[int]
) -> None:
    page = await listed(client, **filters)

    assert numbers(page) == expected
    assert page["totalCount"] == len(expected)


async def test_identity_filter_combines_with_others(client: httpx2.AsyncClient, four: str) -> None:
    everything = await listed(client, identityId=four)
    some = await listed(client, identityId=four, type="Absence", status="Scheduled")

    assert (numbers(everything), everything["totalCount"]) == ([2, 4, 3], 3)
    assert (numbers(some), some["totalCount"]) == ([4], 1)


async def test_all_invalid_filters_are_reported_at_once(client: httpx2.AsyncClient) -> None:
    answer = await client.get(EVENTS, params={"type": "Party", "status": "Odd", "identityId": "x", "page": "0"})

    assert answer.status_code == 400
    assert {problem["field"]: problem["message"] for problem in answer.json()["errors"]} == {
        "page": "Page must be a whole number, 1 or more",
        "identityId": "Identity ID must be a GUID",
        "type": "Type must be one of Onboard, Offboard, Role Transition, Absence",
        "status": "Status must be one of Pending, Open, Resolved, Completed, Canceled, Scheduled, Snoozed",
    }


async def test_pages_of_events_on_one_day_do_not_overlap(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))
    for _ in range(120):
        await created(client, "offboard", identityId=ada, effectiveDate=day(1))

    pages = [await listed(client, page=n) for n in (1, 2, 3, 4)]

    assert [number for page in pages for number in numbers(page)] == list(range(120, 0, -1))
    assert {(page["totalCount"], page["totalPages"], len(page["items"])) for page in pages} == {
        (120, 3, 50),
        (120, 3, 20),
        (120, 3, 0),
    }
