import asyncio
from typing import Any

import httpx2
import pytest

NOTHING_ENABLED = [{"number": number, "enabled": False, "label": ""} for number in range(1, 10)]


async def settings(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.get("/api/settings")
    assert answer.status_code == 200
    return dict(answer.json())


async def change(client: httpx2.AsyncClient, **body: Any) -> httpx2.Response:
    return await client.patch("/api/settings", json=body)


async def test_new_service_has_the_default_settings(client: httpx2.AsyncClient) -> None:
    fresh = await settings(client)

    assert fresh["customFields"] == NOTHING_ENABLED
    assert fresh["approvalLeadDays"] == 7
    assert fresh["guard"] == {"maxRemovedPercent": 20, "maxNewPercent": 50, "minCount": 100}


async def test_only_given_fields_of_the_guard_change(client: httpx2.AsyncClient) -> None:
    await change(client, guard={"maxNewPercent": 12.5})
    answer = await change(client, guard={"minCount": 10}, approvalLeadDays=14)
    wrong = await change(client, guard={"maxRemovedPercent": 101, "minCount": "many"})

    assert answer.json()["guard"] == {"maxRemovedPercent": 20, "maxNewPercent": 12.5, "minCount": 10}
    assert wrong.json()["errors"] == [
        {"field": "guard.maxRemovedPercent", "message": "Max removed percent must be at most 100"},
        {"field": "guard.minCount", "message": "Min count must be a whole number"},
    ]
    assert await settings(client) == answer.json()


async def test_only_given_fields_change(client: httpx2.AsyncClient) -> None:
    await change(client, customFields=[{"number": 3, "enabled": True, "label": "Badge"}])
    await change(client, customFields=[{"number": 3, "label": "Badge color"}, {"number": 9, "enabled": True}])
    answer = await change(client, approvalLeadDays=14)

    assert answer.status_code == 200
    assert answer.json() == await settings(client)
    assert answer.json()["approvalLeadDays"] == 14
    assert [field for field in answer.json()["customFields"] if field["enabled"]] == [
        {"number": 3, "enabled": True, "label": "Badge color"},
        {"number": 9, "enabled": True, "label": ""},
    ]


async def test_audit_contains_only_given_settings(client: httpx2.AsyncClient) -> None:
    await change(client, approvalLeadDays=9)
    await change(client, customFields=[{"number": 3, "enabled": True}], webhookRetentionDays=None)

    entries = (await client.get("/api/audit-events?action=Change settings")).json()["items"]

    assert [set(entry["after"]) for entry in entries] == [{"customFields"}, {"approvalLeadDays"}]


@pytest.mark.parametrize("days", [0, 100, "7", 7.5, True])
async def test_lead_days_are_a_whole_number_from_1_to_99(client: httpx2.AsyncClient, days: object) -> None:
    answer = await change(client, approvalLeadDays=days)

    assert answer.status_code == 400
    assert [entry["field"] for entry in answer.json()["errors"]] == ["approvalLeadDays"]
    assert (await settings(client))["approvalLeadDays"] == 7


async def test_concurrent_changes_are_all_stored(client: httpx2.AsyncClient) -> None:
    fields = [[{"number": number, "enabled": True}] for number in range(1, 10)]

    await asyncio.gather(*(change(client, customFields=field) for field in fields))

    assert all(field["enabled"] for field in (await settings(client))["customFields"])
