from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.core.db import Db
from rolecall.personnel_events import queries
from tests.builders import an_identity
from tests.personnel_events.bodies import EVENTS, MISSING, created, day


async def test_event_reads_back_as_created(client: httpx2.AsyncClient, db: Db) -> None:
    event = await created(
        client, "offboard", identityId=str(await an_identity(db)), effectiveDate=day(3), comment="Thanks"
    )

    assert (await client.get(f"{EVENTS}/{event['id']}")).json() == event


async def test_events_read_in_one_batch_keep_their_own_stages_and_comments(client: httpx2.AsyncClient, db: Db) -> None:
    events = [
        await created(
            client, "offboard", identityId=str(await an_identity(db)), effectiveDate=day(n), comment=f"Thanks {n}"
        )
        for n in (3, 9)
    ]

    found = await queries.by_id(db, [UUID(event["id"]) for event in reversed(events)])

    assert [msgspec.to_builtins(event) for event in found.values()] == events


@pytest.mark.parametrize("id", [MISSING, "nonsense", "1"])
async def test_unknown_event_is_not_found(client: httpx2.AsyncClient, id: str) -> None:
    answer = await client.get(f"{EVENTS}/{id}")

    assert answer.status_code == 404
    error = answer.json()
    assert (error["error"], error["message"]) == ("not_found", f"PersonnelEvent with id {id} not found")
