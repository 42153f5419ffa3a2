from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Conflict
from rolecall.personnel_events import actions
from rolecall.personnel_events.permitted import OWN_LEAVE
from tests.builders import an_identity, facts
from tests.personnel_events.bodies import EVENTS, created, day, midnight, planned
from tests.working import let_the_worker_work


async def returning(client: httpx2.AsyncClient, event: Any, end: object) -> httpx2.Response:
    return await client.post(f"{EVENTS}/{event['id']}/return-date", json={"endDate": end})


async def test_return_date_schedules_the_removal_stage_and_can_change(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))
    event = await created(client, "leave-of-absence", identityId=ada, effectiveDate=day(10))

    for end in (60, 30):
        answer = await returning(client, event, day(end))
        assert answer.status_code == 200
        shown = answer.json()
        assert shown["neededUntil"] == midnight(end)
        assert planned(shown)[2] == ("Removal", "Scheduled", midnight(end))
        assert shown["activity"][-1]["content"] == f"Return date set to {day(end)}"


async def test_return_date_before_the_leave_is_rejected(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db))
    event = await created(client, "leave-of-absence", identityId=ada, effectiveDate=day(10))

    answer = await returning(client, event, day(10))

    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"field": "endDate", "message": "End date must be after effective date"}]
    assert (await returning(client, event, None)).json()["errors"] == [
        {"field": "endDate", "message": "End date is required"}
    ]


async def test_only_a_leave_has_a_return_date(client: httpx2.AsyncClient, db: Db) -> None:
    event = await created(client, "offboard", identityId=str(await an_identity(db)), effectiveDate=day(3))

    answer = await returning(client, event, day(10))

    assert (answer.status_code, answer.json()["message"]) == (409, "Only a leave of absence has a return date")


async def test_return_date_of_a_completed_leave_cannot_change(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    ada = str(await an_identity(db))
    event = await created(client, "leave-of-absence", identityId=ada, effectiveDate=day(0))
    # The return date may be in the past, as long as it is after the start.
    start = f"{day(0)}T00:00:01"
    assert (await returning(client, event, start)).status_code == 200
    await let_the_worker_work(config)

    answer = await returning(client, event, day(10))

    assert (answer.status_code, answer.json()["message"]) == (409, "Personnel event is already Completed")


async def test_person_on_leave_cannot_set_their_own_return_date(db: Db, client: httpx2.AsyncClient) -> None:
    ada = await an_identity(db)
    leave = await created(client, "leave-of-absence", identityId=str(ada), effectiveDate=day(1))
    themselves = Caller(ada, "Ada Lovelace", frozenset(Scope))

    with pytest.raises(Conflict, match=OWN_LEAVE):
        await actions.set_return_date(db, themselves, UUID(leave["id"]), {"endDate": day(9)}, facts())

    assert (await client.get(f"{EVENTS}/{leave['id']}")).json()["neededUntil"] is None
