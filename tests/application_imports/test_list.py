from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from rolecall.application_imports.actions import finish_canceling
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, make_pool
from tests.builders import an_application, an_import

PATH = "/api/application-imports"
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


async def page(client: httpx2.AsyncClient, **params: Any) -> dict[str, Any]:
    answer = await client.get(PATH, params=params)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_items_have_only_the_list_fields(client: httpx2.AsyncClient, db: Db) -> None:
    application_id = await an_application(db, "Payroll", priority="High")
    id = await an_import(db, application_id, "Finished", build_start=NOON, build_end=NOON + timedelta(seconds=90))

    body = await page(client)

    assert list(body) == ["items", "totalCount", "page", "pageSize", "totalPages"]
    (item,) = body["items"]
    assert list(item) == ["id", "kind", "number", "type", "status", "buildStart", "buildEnd", "application"]
    assert list(item["application"]) == ["id", "kind", "name", "priority", "isArchived", "lastUpdated"]
    assert (item["id"], item["kind"], item["number"], item["type"]) == (str(id), "Application Import", 1, "API")
    assert (item["buildStart"], item["buildEnd"]) == ("2026-12-01T12:00:00Z", "2026-12-01T12:01:30Z")
    assert (item["status"], item["application"]["id"]) == ("Finished", str(application_id))


async def test_imports_that_have_not_started_come_first_then_the_newest(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)
    for hours in (2, None, 1, 3, None):
        start = None if hours is None else NOON + timedelta(hours=hours)
        await an_import(db, id, "Pending" if start is None else "Running", build_start=start)

    assert [item["number"] for item in (await page(client))["items"]] == [5, 2, 4, 1, 3]


async def test_import_canceled_before_it_started_is_listed_at_its_cancellation(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    application = await an_application(db)
    earlier = await an_import(db, application, "Finished", build_start=NOON, build_end=NOON)
    canceled = await an_import(db, application, "Canceling")
    waiting = await an_import(db, application)
    async with make_pool(config) as pool:
        await finish_canceling(pool, config, NOON + timedelta(hours=1))
    later = await an_import(db, application, "Finished", build_start=NOON + timedelta(hours=2), build_end=NOON)

    listed = [item["id"] for item in (await page(client))["items"]]
    of_application = [item["id"] for item in (await page(client, applicationId=str(application)))["items"]]

    assert listed == of_application == [str(id) for id in (waiting, later, canceled, earlier)]


async def test_pages_do_not_overlap_if_imports_start_at_the_same_time(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)
    for number in range(120):
        start = NOON if number % 2 else None
        await an_import(db, id, "Running" if start else "Pending", build_start=start)

    pages = [await page(client, page=n) for n in (1, 2, 3, 4, 40_000_000)]

    numbers = [item["number"] for body in pages for item in body["items"]]
    assert numbers == [*range(119, 0, -2), *range(120, 0, -2)]
    assert [len(body["items"]) for body in pages] == [50, 50, 20, 0, 0]
    assert {(body["totalCount"], body["totalPages"]) for body in pages} == {(120, 3)}


async def test_empty_list_has_no_pages(client: httpx2.AsyncClient) -> None:
    assert await page(client) == {"items": [], "totalCount": 0, "page": 1, "pageSize": 50, "totalPages": 0}


async def test_list_can_be_filtered_by_application(client: httpx2.AsyncClient, db: Db) -> None:
    ids = [await an_application(db, name) for name in ("A", "B")]
    for _ in range(3):
        for id in ids:
            await an_import(db, id)

    body = await page(client, applicationId=str(ids[1]).upper())

    assert [item["number"] for item in body["items"]] == [6, 4, 2]
    assert (body["totalCount"], body["totalPages"]) == (3, 1)
    assert (await page(client))["totalCount"] == 6
    assert (await page(client, applicationId=str(uuid4())))["totalCount"] == 0


async def test_totals_follow_every_change(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)
    for status in ("Pending", "Running", "Finished"):
        await an_import(db, id, status)
    await execute(db, "UPDATE application_imports SET status = 'Canceling' WHERE status = 'Pending'")
    await execute(db, "DELETE FROM application_imports WHERE status = 'Finished'")

    assert (await page(client, applicationId=str(id)))["totalCount"] == 2


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5", ""])
async def test_invalid_page_is_refused(client: httpx2.AsyncClient, number: str) -> None:
    answer = await client.get(PATH, params={"page": number})

    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"field": "page", "message": "Page must be a whole number, 1 or more"}]


async def test_malformed_application_id_is_refused(client: httpx2.AsyncClient) -> None:
    answer = await client.get(PATH, params={"applicationId": "nonsense", "page": "0"})

    assert answer.status_code == 400
    assert [entry["field"] for entry in answer.json()["errors"]] == ["page", "applicationId"]


async def test_unknown_parameters_are_ignored(client: httpx2.AsyncClient, db: Db) -> None:
    await an_import(db)

    assert (await page(client, status="Finished", colour="blue"))["totalCount"] == 1
