from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from rolecall.core.db import Db
from tests.builders import an_access_request, an_application, an_identity


async def page_of(client: httpx2.AsyncClient, **params: Any) -> dict[str, Any]:
    answer = await client.get("/api/access-requests", params=params)
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


async def numbers(client: httpx2.AsyncClient, **params: Any) -> list[int]:
    page = await page_of(client, **params)
    assert page["totalCount"] == len(page["items"])
    return [item["number"] for item in page["items"]]


async def test_list_item_has_exactly_the_fields_of_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    await an_access_request(db, identity_id=await an_identity(db, email="ada@example.com"))

    (item,) = (await page_of(client))["items"]

    assert list(item) == [
        "id", "kind", "number", "action", "status", "reporter", "assignee", "target", "scheduledStart", "startedOn",
        "approvedOn", "resolvedOn", "verifiedOn", "completedOn", "canceledOn",
    ]  # fmt: skip
    assert list(item["target"]) == ["type", "name", "affectedIdentity", "application"]
    assert list(item["target"]["application"]) == ["id", "kind", "name", "priority", "isArchived", "lastUpdated"]
    assert item["target"]["affectedIdentity"]["kind"] == "Identity"
    assert (item["kind"], item["action"], item["status"]) == ("Access Request", "Add", "Pending")
    assert (item["target"]["type"], item["target"]["name"]) == ("User", "ada@example.com")
    assert item["reporter"] == {"id": "00000000-0000-0000-0000-000000000000", "name": "System"}
    assert item["assignee"] is None


async def test_only_group_targets_have_a_nomenclature(client: httpx2.AsyncClient, db: Db) -> None:
    await an_access_request(db, "Change", identity_id=None, target_name="Clerks", nomenclature="Role")

    (item,) = (await page_of(client))["items"]

    assert list(item["target"]) == ["type", "name", "nomenclature", "affectedIdentity", "application"]
    assert item["target"]["type"] == "Group"
    assert item["target"]["nomenclature"] == "Role"
    assert item["target"]["affectedIdentity"] is None


async def test_list_is_ordered_by_creation_then_number_descending(client: httpx2.AsyncClient, db: Db) -> None:
    identity, application = await an_identity(db), await an_application(db)
    for day in (2, 1, 2, 3):
        at = datetime(2026, 1, day, tzinfo=UTC)
        await an_access_request(db, identity_id=identity, application_id=application, now=at)

    assert await numbers(client) == [4, 3, 1, 2]


async def test_pages_of_requests_created_at_the_same_time_do_not_overlap(client: httpx2.AsyncClient, db: Db) -> None:
    identity, application = await an_identity(db), await an_application(db)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for _ in range(105):
        await an_access_request(db, identity_id=identity, application_id=application, now=at)

    pages = [await page_of(client, page=n) for n in (1, 2, 3, 4)]

    assert [item["number"] for page in pages for item in page["items"]] == list(range(105, 0, -1))
    assert {(page["totalCount"], page["totalPages"]) for page in pages} == {(105, 3)}
    assert pages[3]["items"] == []


async def test_filters_select_matching_requests_and_combine(client: httpx2.AsyncClient, db: Db) -> None:
    ada, bob = await an_identity(db, "Ada"), await an_identity(db, "Bob")
    payroll, crm = await an_application(db, "Payroll"), await an_application(db, "CRM")
    await an_access_request(db, "Add", identity_id=ada, application_id=payroll)
    await an_access_request(db, "Remove", identity_id=ada, application_id=crm)
    await an_access_request(db, "Add", identity_id=bob, application_id=crm)
    await an_access_request(db, "Suspend", identity_id=bob, application_id=payroll)

    assert await numbers(client) == [4, 3, 2, 1]
    assert await numbers(client, identityId=str(ada)) == [2, 1]
    assert await numbers(client, applicationId=str(crm)) == [3, 2]
    assert await numbers(client, identityId=str(ada), applicationId=str(crm)) == [2]
    assert await numbers(client, status="open") == [4, 2]
    assert await numbers(client, status=" Pending ") == [3, 1]
    assert await numbers(client, type="ADD") == [3, 1]
    assert await numbers(client, type="add", status="Open") == []
    assert await numbers(client, type="remove", status="OPEN", identityId=str(ada)) == [2]
    assert await numbers(client, identityId=str(uuid4())) == []


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"identityId": "7"}, "Identity ID must be a GUID"),
        ({"applicationId": ""}, "Application ID must be a GUID"),
        ({"status": "Done"}, "Status must be one of Pending, Open, Resolved, Completed, Canceled, Scheduled, Snoozed"),
        ({"type": "Grant"}, "Type must be one of Add, Change, Remove, Suspend, Restore"),
        ({"page": "0"}, "Page must be a whole number, 1 or more"),
    ],
)
async def test_invalid_filter_value_is_rejected(
    client: httpx2.AsyncClient, params: dict[str, str], message: str
) -> None:
    answer = await client.get("/api/access-requests", params=params)

    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"field": next(iter(params)), "message": message}]
