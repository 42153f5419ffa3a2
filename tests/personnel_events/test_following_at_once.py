import asyncio
from collections import Counter
from datetime import UTC, datetime

import httpx2

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, make_pool
from rolecall.worker import follow_events, open_due_requests
from tests.builders import an_application, an_identity
from tests.holdings import an_account
from tests.personnel_events.bodies import EVENTS, created


async def test_concurrent_workers_and_callers_take_every_step_once(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    clock.travel_to(datetime(2026, 11, 2, 9, tzinfo=UTC))
    applications = [await an_application(db, f"Application {n}") for n in range(3)]
    events = []
    for n in range(6):
        person = await an_identity(db, f"Person {n}")
        for application in applications:
            await an_account(db, application, f"person{n}", person)
        events.append(await created(client, "offboard", identityId=str(person), effectiveDate="2026-11-02"))

    async with make_pool(config) as pool:

        async def a_worker() -> None:
            for _ in range(12):
                await follow_events(pool, config, clock.now())
                await open_due_requests(pool, config, clock.now())

        async def a_person(event_id: str) -> None:
            for _ in range(12):
                event = (await client.get(f"{EVENTS}/{event_id}")).json()
                for request in event["stages"][0]["accessRequests"]:
                    if request["status"] == "Open":
                        await client.post(f"/api/access-requests/{request['id']}/resolve")

        people = [a_person(event["id"]) for event in events]
        await asyncio.gather(*(a_worker() for _ in range(4)), *people)
        await asyncio.gather(*(a_person(event["id"]) for event in events))
        await a_worker()

    for event in events:
        ended = (await client.get(f"{EVENTS}/{event['id']}")).json()
        assert ended["status"] == "Completed"
        assert len(ended["stages"][0]["accessRequests"]) == 3
        steps = Counter(entry["action"] for entry in ended["activity"])
        assert set(steps.values()) == {1}, steps
        assert len(steps) == 8
