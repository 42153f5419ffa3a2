"""Test heads that contradict their chain, and the filters and the order of audit entries."""

from datetime import UTC, datetime
from uuid import uuid4

import httpx2
import pytest

from rolecall.audit.queries import Filter, get, newest_first, rows_of
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from tests.builders import an_identity

PATH = "/api/audit-events"


async def some_entries(client: httpx2.AsyncClient) -> None:
    for days in (10, 11, 12):
        assert (await client.patch("/api/settings", json={"approvalLeadDays": days})).status_code == 200


@pytest.mark.parametrize(
    ("tampering", "reason"),
    [
        ("UPDATE audit_heads SET hash = sha256('other')", "the chain was rewritten"),
        ("UPDATE audit_heads SET count = count + 1", "the chain has a different number"),
        ("UPDATE audit_heads SET count = count - 1", "the chain has a different number"),
        ("UPDATE audit_heads SET number = number + 1", "its end was cut off"),
    ],
)
async def test_head_that_contradicts_its_chain_is_reported(
    client: httpx2.AsyncClient, db: Db, tampering: str, reason: str
) -> None:
    await some_entries(client)
    assert (await client.get(f"{PATH}/verify")).json()["ok"] is True

    await execute(db, tampering)

    found = (await client.get(f"{PATH}/verify")).json()
    assert found["ok"] is False
    assert reason in found["broken"]["reason"]
    assert found["broken"]["number"] == await fetch_value(db, "SELECT max(number) FROM audit_heads")


async def test_first_of_several_broken_entries_is_reported(client: httpx2.AsyncClient, db: Db) -> None:
    await some_entries(client)
    await execute(db, "UPDATE audit_events SET entry = replace(entry, 'pproval', 'pprovaI') WHERE number IN (2, 4)")

    found = (await client.get(f"{PATH}/verify")).json()

    assert (found["ok"], found["broken"]["number"]) == (False, 2)


@pytest.fixture
async def application(client: httpx2.AsyncClient) -> str:
    return str((await client.post("/api/applications", json={"name": "Payroll"})).json()["id"])


@pytest.mark.parametrize("of_a_time", [{}, {"from": "2020-01-01"}, {"until": "2090-01-01"}])
async def test_entity_and_caller_filters_combine_with_time_filters(
    client: httpx2.AsyncClient, db: Db, application: str, of_a_time: dict[str, str]
) -> None:
    token = str(await fetch_value(db, "SELECT id FROM tokens"))
    await db.execute("UPDATE applications SET priority = 'Low'")
    await client.patch("/api/settings", json={"approvalLeadDays": 9})

    async def actions(**filters: str) -> list[str]:
        answer = (await client.get(PATH, params={**of_a_time, **filters})).json()
        assert answer["totalCount"] == len(answer["items"])
        return [entry["action"] for entry in answer["items"]]

    assert await actions(entityId=application) == ["Change", "Create application"]
    assert await actions(callerId=token) == ["Change settings", "Create application"]
    assert await actions(entityId=application, callerId=token) == ["Create application"]
    assert await actions(action="change SETTINGS", callerId=token) == ["Change settings"]
    assert await actions(action="Change settings", entityId=application) == []


async def test_entries_are_exported_in_the_order_they_were_made(
    client: httpx2.AsyncClient, db: Db, application: str
) -> None:
    await some_entries(client)

    async def numbers(which: Filter) -> list[int]:
        async with db.transaction():
            return [row.number async for row in rows_of(db, which)]

    everything = await numbers(Filter())
    assert everything == sorted(everything)
    assert len(everything) == await fetch_value(db, "SELECT count(*) FROM audit_events")
    assert len(await numbers(Filter(action="CHANGE settings"))) == 3
    assert await numbers(Filter(action="Change settings", entity_id=uuid4())) == []


@pytest.mark.parametrize("number", ["0", "-1", "x", "99999999999999999999", "٣"])
async def test_unknown_entry_is_not_found(client: httpx2.AsyncClient, db: Db, number: str) -> None:
    assert (await client.patch("/api/settings", json={"approvalLeadDays": 10})).status_code == 200

    with pytest.raises(NotFound):
        await get(db, number)


async def test_entry_is_read_by_its_number(client: httpx2.AsyncClient, db: Db) -> None:
    for limit in (10, 20, 30):
        assert (await client.patch("/api/settings", json={"approvalLeadDays": limit})).status_code == 200

    numbers = [number for (number,) in await fetch_rows(db, "SELECT number FROM audit_events ORDER BY number")]

    assert len(numbers) >= 3
    assert [(await get(db, str(number))).number for number in numbers] == numbers


async def test_entries_of_one_moment_are_listed_by_number_descending(db: Db) -> None:
    async with db.transaction():
        people = [await an_identity(db, name) for name in ("Ada", "Bo", "Eve")]
        await execute(db, "UPDATE identities SET title = 'Clerk' WHERE id = ANY(%(ids)s)", ids=people)

    found = await newest_first(db, 1, Filter(since=datetime(2020, 1, 1, tzinfo=UTC)))

    numbers = [item.number for item in found.items]
    assert len({item.created_date for item in found.items}) < len(numbers)
    assert numbers == sorted(numbers, reverse=True)


async def test_action_filter_has_1_to_128_characters(client: httpx2.AsyncClient) -> None:
    for action, status in (("x", 200), ("x" * 128, 200), ("x" * 129, 400), ("a\x00b", 400), ("", 400)):
        assert (await client.get(PATH, params={"action": action})).status_code == status, action
