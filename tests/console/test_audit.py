import json
import re
from html import unescape

import httpx2
import pytest

from rolecall.console import actions
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.roles import Role
from tests.audit.test_list import made_at
from tests.builders import an_identity
from tests.console.company import a_company
from tests.console.test_matrix import sign_in


@pytest.fixture
async def number(administrator: httpx2.AsyncClient, db: Db, config: Config) -> int:
    """Make a change in the console and return the number of its audit entry."""
    company = await a_company(db, config)
    await administrator.post(f"/requests/{company.ids['requests']}/comment", data={"content": "<b>now</b>"})
    newest: int = await fetch_value(db, "SELECT max(number) FROM audit_events")
    return newest


async def test_change_in_the_console_is_audited_with_the_person_as_author(
    administrator: httpx2.AsyncClient, number: int
) -> None:
    listed = (await administrator.get("/audit?action=Comment")).text
    entry = (await administrator.get(f"/audit/{number}")).text

    assert f'href="/audit/{number}"' in listed
    assert "Person" in entry
    assert "&lt;b&gt;now" in entry
    assert "<b>now" not in entry


async def test_sign_in_is_audited_with_the_person_as_author(administrator: httpx2.AsyncClient, db: Db) -> None:
    entry = json.loads(await fetch_value(db, "SELECT entry FROM audit_events WHERE action_key = 'sign in'"))

    assert entry["caller"]["kind"] == "Person"
    assert entry["caller"]["id"] == entry["entity"]["id"]


async def test_console_verifies_and_exports_the_audit_chain(
    administrator: httpx2.AsyncClient, number: int, db: Db
) -> None:
    assert f"All {number:,} entries verified; the chain is intact." in (await administrator.get("/audit/verify")).text
    lines = (await administrator.get("/audit/export.jsonl")).text.splitlines()
    assert [json.loads(line)["number"] for line in lines] == list(range(1, number + 1))

    await execute(db, "DELETE FROM audit_events WHERE number = 2")

    assert "Entry <a" in (await administrator.get("/audit/verify")).text


async def test_day_filter_uses_the_time_zone_of_the_reader(administrator: httpx2.AsyncClient, db: Db) -> None:
    await administrator.post("/applications/new", data={"name": "Late", "priority": "Low"})
    application = await fetch_value(db, "SELECT id FROM applications")
    # In Honolulu, ten hours behind UTC, it is still March 1.
    await made_at(db, application, "2036-03-02T05:00:00Z")
    number = await fetch_value(db, "SELECT max(number) FROM audit_events")

    for zone, day, is_there in (
        ("Pacific/Honolulu", "2036-03-01", True),
        ("Pacific/Honolulu", "2036-03-02", False),
        ("", "2036-03-02", True),
        ("No/Where", "2036-03-01", False),
    ):
        asked = {"from": day, "until": day, "zone": zone, "action": "create application"}
        page = (await administrator.get("/audit", params=asked)).text
        export = unescape(re.search(r'href="(/audit/export[^"]*)"', page)[1])  # type: ignore[index]
        lines = (await administrator.get(export)).text.splitlines()

        assert (f'href="/audit/{number}"' in page) == is_there, (zone, day)
        assert [json.loads(line)["number"] for line in lines] == [number] * is_there


async def test_invalid_day_in_a_filter_is_reported(administrator: httpx2.AsyncClient) -> None:
    answer = await administrator.get("/audit", params={"from": "0001-01-01"})

    assert answer.status_code == 400
    assert "From must be a date such as 2030-01-31" in answer.text


async def test_entry_links_to_a_webhook_only_for_people_who_may_open_it(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    hook = {"name": "Desk", "url": "https://desk.example.com/", "events": ["AccessRequestCreated"]}
    await administrator.post("/webhooks/new", data=hook)
    number = await fetch_value(db, "SELECT max(number) FROM audit_events")
    id = await fetch_value(db, "SELECT id FROM webhooks")
    auditor = await an_identity(db, "Arthur", "Auditor")
    await actions.set_role(db, auditor, Role.AUDITOR)

    linked = (await administrator.get(f"/audit/{number}")).text
    await sign_in(administrator, db, auditor)
    named = (await administrator.get(f"/audit/{number}")).text

    assert [f'href="/webhooks/{id}"' in page for page in (linked, named)] == [True, False]
    assert "Desk" in named
