import json

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from tests.console.company import a_company


@pytest.fixture
async def number(administrator: httpx2.AsyncClient, db: Db, config: Config) -> int:
    """The entry of a change made in the console."""
    company = await a_company(db, config)
    await administrator.post(f"/requests/{company.ids['requests']}/comment", data={"content": "<b>now</b>"})
    newest: int = await fetch_value(db, "SELECT max(number) FROM audit_events")
    return newest


async def test_a_change_in_the_console_is_an_entry_of_the_person(
    administrator: httpx2.AsyncClient, number: int
) -> None:
    listed = (await administrator.get("/audit?action=Comment")).text
    entry = (await administrator.get(f"/audit/{number}")).text

    assert f'href="/audit/{number}"' in listed
    assert "Person" in entry
    assert "&lt;b&gt;now" in entry
    assert "<b>now" not in entry


async def test_whoever_signs_in_is_named(administrator: httpx2.AsyncClient, db: Db) -> None:
    entry = json.loads(await fetch_value(db, "SELECT entry FROM audit_events WHERE action = 'Sign in'"))

    assert entry["caller"]["kind"] == "Person"
    assert entry["caller"]["id"] == entry["entity"]["id"]


async def test_the_console_verifies_and_exports_the_chain(
    administrator: httpx2.AsyncClient, number: int, db: Db
) -> None:
    assert f"All {number:,} entries fit" in (await administrator.get("/audit/verify")).text
    lines = (await administrator.get("/audit/export.jsonl")).text.splitlines()
    assert [json.loads(line)["number"] for line in lines] == list(range(1, number + 1))

    await execute(db, "DELETE FROM audit_events WHERE number = 2")

    assert "Entry <a" in (await administrator.get("/audit/verify")).text
