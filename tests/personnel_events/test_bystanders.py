"""Test that a change to one event leaves all other events unchanged."""

from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows
from tests.builders import an_access_model, an_application, an_identity
from tests.holdings import an_account
from tests.personnel_events.bodies import EVENTS, created
from tests.working import let_the_worker_work

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)


@pytest.fixture
async def bystanders(client: httpx2.AsyncClient, db: Db, config: Config) -> list[str]:
    """Create events about Grace: a leave in effect, a transition with a request to approve, and a later transition."""
    clock.travel_to(NOW)
    boss = str(await an_identity(db, "Mary", "Somerville"))
    grace = await an_identity(db, "Grace", "Hopper", department="Finance", supervisorId=boss)
    wiki, ledger = await an_application(db, "Wiki"), await an_application(db, "Ledger")
    await an_account(db, wiki, "grace", grace)
    legal = [[{"field": "department", "operator": "is", "value": "Legal"}]]
    await an_access_model(db, conditions=legal, access=[{"applicationId": str(ledger), "groups": ["Lawyers"]}])
    on_leave = await created(client, "leave-of-absence", identityId=str(grace), effectiveDate="2026-11-02")
    moving = {"identityId": str(grace), "identity": {"department": "Legal"}}
    soon = await created(client, "role-transition", **moving, effectiveDate="2026-11-09")
    later = await created(client, "role-transition", **moving, effectiveDate="2027-11-09")
    await let_the_worker_work(config)
    return [event["id"] for event in (on_leave, soon, later)]


async def everything_of(client: httpx2.AsyncClient, db: Db, ids: list[str]) -> Any:
    events = [(await client.get(f"{EVENTS}/{id}")).json() for id in ids]
    stored = await fetch_rows(db, "SELECT * FROM personnel_events WHERE id = ANY(%(ids)s) ORDER BY number", ids=ids)
    stages = await fetch_rows(db, "SELECT * FROM stages WHERE event_id = ANY(%(ids)s) ORDER BY 1, 2", ids=ids)
    related = await fetch_rows(db, "SELECT * FROM related_items WHERE item_id = ANY(%(ids)s) ORDER BY 1, 2", ids=ids)
    return events, stored, stages, related


@pytest.mark.parametrize("verb", ["assign", "return-date", "cancel", "comment"])
async def test_verb_changes_only_its_own_event(
    client: httpx2.AsyncClient, db: Db, config: Config, bystanders: list[str], verb: str
) -> None:
    ada = str(await an_identity(db))
    leave = await created(client, "leave-of-absence", identityId=ada, effectiveDate="2026-11-02")
    await let_the_worker_work(config)
    before = await everything_of(client, db, bystanders)
    body = {"assigneeId": ada, "endDate": "2027-01-01", "content": "Done", "comment": "Done"}

    answer = await client.post(f"{EVENTS}/{leave['id']}/{verb}", json=body)

    assert answer.status_code == 200, answer.text
    assert await everything_of(client, db, bystanders) == before


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("offboard", {}),
        ("leave-of-absence", {"endDate": "2026-11-04"}),
        ("role-transition", {"identity": {"department": "Legal"}}),
    ],
)
async def test_event_that_takes_effect_changes_only_its_own_stages(
    client: httpx2.AsyncClient, db: Db, config: Config, bystanders: list[str], kind: str, fields: dict[str, Any]
) -> None:
    ada = await an_identity(db)
    await an_account(db, await an_application(db, "Payroll"), "ada", ada, groups=("Clerks",))
    before = await everything_of(client, db, bystanders)

    event = await created(client, kind, identityId=str(ada), effectiveDate="2026-11-03", **fields)
    for day in (3, 4):
        await let_the_worker_work(config, datetime(2026, 11, day, 1, tzinfo=UTC))
        found = (await client.get(f"{EVENTS}/{event['id']}")).json()
        for request in found["stages"][0]["accessRequests"]:
            await client.post(f"/api/access-requests/{request['id']}/resolve")
    await let_the_worker_work(config)

    assert found["stages"][1]["status"] != "Scheduled"
    assert await everything_of(client, db, bystanders) == before
