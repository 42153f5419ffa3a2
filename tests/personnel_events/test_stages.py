from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.personnel_events.queries import to_follow
from tests.builders import an_application, an_identity
from tests.holdings import an_account, remove_account
from tests.personnel_events.bodies import EVENTS, created
from tests.working import let_the_worker_work

START = datetime(2026, 11, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def november() -> None:
    clock.travel_to(START)


async def read(client: httpx2.AsyncClient, event: Any) -> Any:
    return (await client.get(f"{EVENTS}/{event['id']}")).json()


def statuses(event: Any) -> list[str]:
    return [event["status"], *(stage["status"] for stage in event["stages"])]


def requests(event: Any, stage: int = 0) -> list[tuple[str, str, str, str]]:
    return [
        (request["action"], request["status"], request["target"]["application"]["name"], request["target"]["name"])
        for request in event["stages"][stage]["accessRequests"]
    ]


async def say(client: httpx2.AsyncClient, verb: str, event: Any, stage: int = 0) -> None:
    for request in event["stages"][stage]["accessRequests"]:
        answer = await client.post(f"/api/access-requests/{request['id']}/{verb}")
        assert answer.status_code == 200, answer.text


async def test_stage_opens_at_its_start_and_not_before(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    ada = str(await an_identity(db))
    event = await created(client, "offboard", identityId=ada, effectiveDate="2026-12-01")

    await let_the_worker_work(config, datetime(2026, 11, 23, 23, 55, tzinfo=UTC))
    assert statuses(await read(client, event)) == ["Scheduled", "Scheduled", "Scheduled", "Scheduled"]

    await let_the_worker_work(config, datetime(2026, 11, 24, tzinfo=UTC))
    opened = await read(client, event)
    # The system completes a stage without requests as soon as it opens. An event without an open stage is Scheduled.
    assert statuses(opened) == ["Scheduled", "Completed", "Scheduled", "Scheduled"]
    approval = opened["stages"][0]
    assert approval["startedOn"] == approval["completedOn"]
    assert approval["startedOn"].startswith("2026-11-24T00:0")
    assert approval["completedBy"] == {"id": "00000000-0000-0000-0000-000000000000", "name": "System"}
    assert [entry["action"] for entry in opened["activity"]] == ["Created", "Approval Started", "Approval Completed"]


async def test_event_is_followed_from_the_moment_its_stage_is_due(client: httpx2.AsyncClient, db: Db) -> None:
    event = await created(client, "offboard", identityId=str(await an_identity(db)), effectiveDate="2026-12-01")
    start = datetime.fromisoformat(event["stages"][0]["scheduledStart"])

    assert await to_follow(db, start - timedelta(microseconds=1), 10) == []
    assert await to_follow(db, start, 10) == [UUID(event["id"])]


async def test_event_without_requests_completes_on_its_effective_date(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    ada = str(await an_identity(db))
    event = await created(client, "offboard", identityId=ada, effectiveDate="2026-11-01")

    await let_the_worker_work(config)

    event = await read(client, event)
    assert statuses(event) == ["Completed", "Completed", "Completed", "Completed"]
    assert event["completedOn"] == event["stages"][-1]["completedOn"]
    assert event["activity"][-1]["action"] == "Completed"
    assert event["affectedIdentity"]["status"] == "Disabled"
    assert event["affectedIdentity"]["inactivatedDate"] == "2026-11-01T00:00:00Z"


async def test_offboarding_removes_every_account(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    ada = await an_identity(db)
    ledger, wiki = await an_application(db, "Ledger", priority="High"), await an_application(db, "Wiki")
    await an_account(db, ledger, "ada", ada, groups=("Posters",), permissions=(("Books", "Close", "Modify", "High"),))
    await an_account(db, wiki, "alovelace", ada, is_active=False)
    event = await created(client, "offboard", identityId=str(ada), effectiveDate="2026-12-01")

    await let_the_worker_work(config, datetime(2026, 11, 24, 1, tzinfo=UTC))
    event = await read(client, event)
    # A Remove needs no approval, and no request starts before the effective date.
    assert statuses(event) == ["Scheduled", "Completed", "Scheduled", "Scheduled"]
    assert requests(event) == [("Remove", "Scheduled", "Ledger", "ada"), ("Remove", "Scheduled", "Wiki", "alovelace")]
    first = event["stages"][0]["accessRequests"][0]
    assert first["scheduledStart"] == "2026-12-01T00:00:00Z"
    assert first["reporter"] == event["reporter"]
    detail = (await client.get(f"/api/access-requests/{first['id']}")).json()
    assert [
        (p["permission"]["header"], p["permission"]["permission"], p["initialAccess"], p["requestedAccess"])
        for p in detail["target"]["privileges"]
    ] == [("Group", "Posters", "Grant", "None"), ("Books", "Close", "Modify", "None")]
    assert detail["relatedItems"] == [
        {"id": event["id"], "kind": "Personnel Event", "number": event["number"], "status": "Scheduled"}
    ]

    await let_the_worker_work(config, datetime(2026, 12, 1, 1, tzinfo=UTC))
    event = await read(client, event)
    assert statuses(event) == ["Open", "Completed", "Open", "Scheduled"]
    assert {status for _, status, _, _ in requests(event)} == {"Open"}
    assert event["affectedIdentity"]["status"] == "Disabled"

    await say(client, "resolve", event)
    await let_the_worker_work(config)
    event = await read(client, event)
    # The priority of the ledger is high, so its owner verifies; the wiki needs no verification.
    assert [status for _, status, _, _ in requests(event)] == ["Resolved", "Completed"]
    assert statuses(event) == ["Resolved", "Completed", "Completed", "Open"]
    assert event["stages"][1]["completedBy"]["name"] == "API Token - tests"
    related = (await client.get(f"/api/access-requests/{first['id']}")).json()["relatedItems"]
    assert [item["status"] for item in related] == ["Resolved"]

    assert (await client.post(f"/api/access-requests/{first['id']}/reopen")).status_code == 200
    await let_the_worker_work(config)
    assert statuses(await read(client, event)) == ["Resolved", "Completed", "Completed", "Open"]

    for verb in ("resolve", "verify"):
        assert (await client.post(f"/api/access-requests/{first['id']}/{verb}")).status_code == 200
    await let_the_worker_work(config)
    event = await read(client, event)
    assert statuses(event) == ["Completed", "Completed", "Completed", "Completed"]
    assert event["completedOn"] is not None


async def test_role_transition_applies_its_fields_on_the_effective_date(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    await client.patch("/api/settings", json={"customFields": [{"number": n, "enabled": True} for n in (1, 2)]})
    boss = await an_identity(db, "Mary", "Somerville")
    ada = str(await an_identity(db, title="Programmer", customField1="old", customField2="kept"))
    changes = {"lastName": "Éking", "supervisorId": str(boss), "customField1": "new"}
    event = await created(client, "role-transition", identityId=ada, effectiveDate="2026-11-20", identity=changes)
    await let_the_worker_work(config, datetime(2026, 11, 19, 23, tzinfo=UTC))
    assert (await client.get(f"/api/identities/{ada}")).json()["lastName"] == "Lovelace"

    await let_the_worker_work(config, datetime(2026, 11, 20, tzinfo=UTC))

    identity = (await client.get(f"/api/identities/{ada}")).json()
    assert (identity["lastName"], identity["supervisorName"], identity["title"]) == (
        "Éking",
        "Somerville, Mary",
        "Programmer",
    )
    assert identity["updatedDate"].startswith("2026-11-20T00:0")
    [row] = await (
        await db.execute("SELECT custom_fields, last_name_key FROM identities WHERE id = %s", (ada,))
    ).fetchall()
    assert row[0] == {"1": "new", "2": "kept"}
    assert row[1].startswith("eking")
    event = await read(client, event)
    assert statuses(event) == ["Completed", "Completed", "Completed"]
    assert event["affectedIdentity"] == identity
    assert "Changed last name, supervisor id, custom field 1" in [entry["content"] for entry in event["activity"]]

    # A completed event shows the current fields of the person, including later changes.
    await db.execute("UPDATE identities SET title = 'Analyst' WHERE id = %s", (ada,))
    assert (await read(client, event))["affectedIdentity"]["title"] == "Analyst"


async def test_leave_suspends_active_accounts_and_restores_them(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    ada = await an_identity(db)
    ledger, mail, wiki = [await an_application(db, name) for name in ("Ledger", "Mail", "Wiki")]
    await an_account(db, ledger, "ada", ada, groups=("Posters", "Readers"))
    await an_account(db, mail, "ada@mail", ada)
    await an_account(db, wiki, "old", ada, is_active=False)
    event = await created(client, "leave-of-absence", identityId=str(ada), effectiveDate="2026-11-10")

    await let_the_worker_work(config, datetime(2026, 11, 10, tzinfo=UTC))
    event = await read(client, event)
    assert statuses(event) == ["Open", "Completed", "Open", "Snoozed"]
    assert requests(event) == [("Suspend", "Open", "Ledger", "ada"), ("Suspend", "Open", "Mail", "ada@mail")]
    await say(client, "resolve", event)
    await let_the_worker_work(config)
    event = await read(client, event)
    assert statuses(event) == ["Snoozed", "Completed", "Completed", "Snoozed"]

    answer = await client.post(f"{EVENTS}/{event['id']}/return-date", json={"endDate": "2027-02-01"})
    assert answer.status_code == 200
    assert statuses(answer.json()) == ["Scheduled", "Completed", "Completed", "Scheduled"]
    await remove_account(db, mail, "ada@mail")
    await let_the_worker_work(config, datetime(2027, 2, 1, tzinfo=UTC))
    event = await read(client, event)

    assert statuses(event) == ["Open", "Completed", "Completed", "Open"]
    assert requests(event, stage=2) == [("Restore", "Open", "Ledger", "ada")]
    assert [comment["content"] for comment in event["comments"]] == [
        "ada@mail is not restored: Mail no longer has this account"
    ]
    [restore] = event["stages"][2]["accessRequests"]
    detail = (await client.get(f"/api/access-requests/{restore['id']}")).json()
    assert [(p["permission"]["permission"], p["requestedAccess"]) for p in detail["target"]["privileges"]] == [
        ("Posters", "Grant"),
        ("Readers", "Grant"),
    ]

    await say(client, "resolve", event, stage=2)
    await let_the_worker_work(config)
    assert statuses(await read(client, event)) == ["Completed", "Completed", "Completed", "Completed"]


async def test_failing_event_does_not_block_others(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    event = await created(client, "offboard", identityId=str(await an_identity(db)), effectiveDate="2026-11-01")
    for id in ("00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"):
        await db.execute("INSERT INTO event_news (event_id, caller_id, caller_name) VALUES (%s, %s, 'x')", (id, id))

    await let_the_worker_work(config)

    assert (await read(client, event))["status"] == "Completed"
