from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.builders import an_identity
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


async def test_a_stage_opens_at_its_start_and_not_before(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    ada = str(await an_identity(db))
    event = await created(client, "offboard", identityId=ada, effectiveDate="2026-12-01")

    await let_the_worker_work(config, datetime(2026, 11, 23, 23, 59, 50, tzinfo=UTC))
    assert statuses(await read(client, event)) == ["Scheduled", "Scheduled", "Scheduled", "Scheduled"]

    await let_the_worker_work(config, datetime(2026, 11, 24, tzinfo=UTC))
    opened = await read(client, event)
    # Nothing to do: completed as it opens, by the system; with no stage at work the event waits again.
    assert statuses(opened) == ["Scheduled", "Completed", "Scheduled", "Scheduled"]
    approval = opened["stages"][0]
    assert approval["startedOn"] == approval["completedOn"]
    assert approval["startedOn"].startswith("2026-11-24T00:00:0")
    assert approval["completedBy"] == {"id": "00000000-0000-0000-0000-000000000000", "name": "System"}
    assert [entry["action"] for entry in opened["activity"]] == ["Created", "Approval Started", "Approval Completed"]


async def test_an_event_without_work_completes_at_its_day(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    ada = str(await an_identity(db))
    event = await created(client, "offboard", identityId=ada, effectiveDate="2026-11-01")

    await let_the_worker_work(config)

    event = await read(client, event)
    assert statuses(event) == ["Completed", "Completed", "Completed", "Completed"]
    assert event["completedOn"] == event["stages"][-1]["completedOn"]
    assert event["activity"][-1]["action"] == "Completed"
    assert event["affectedIdentity"]["status"] == "Disabled"
    assert event["affectedIdentity"]["inactivatedDate"] == "2026-11-01T00:00:00Z"


async def test_a_transition_applies_its_fields_at_its_day(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
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
    assert identity["updatedDate"].startswith("2026-11-20T00:00:0")
    [row] = await (
        await db.execute("SELECT custom_fields, last_name_key FROM identities WHERE id = %s", (ada,))
    ).fetchall()
    assert row[0] == {"1": "new", "2": "kept"}
    assert row[1].startswith("eking")
    event = await read(client, event)
    assert statuses(event) == ["Completed", "Completed", "Completed"]
    assert event["affectedIdentity"] == identity
    assert "Changed last name, supervisor id, custom field 1" in [entry["content"] for entry in event["activity"]]

    # Applied is applied: later changes of the person show.
    await db.execute("UPDATE identities SET title = 'Analyst' WHERE id = %s", (ada,))
    assert (await read(client, event))["affectedIdentity"]["title"] == "Analyst"
