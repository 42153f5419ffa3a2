"""Test that events and their requests are locked in one order, and that two events of a person see each other."""

from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import httpx2

from rolecall.access_requests import moving
from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value, make_pool
from rolecall.personnel_events import actions
from rolecall.personnel_events.stages import follow_event
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.holdings import an_account
from tests.interleaving import Crew, Work, overlapping
from tests.personnel_events.bodies import created, day
from tests.personnel_events.test_restoring import Leave, another_leave, leave, suspended
from tests.working import let_the_worker_work

CLERK = Caller(UUID(int=5), "Clerk", frozenset(Scope))
BACK = datetime(2026, 12, 1, 1, tzinfo=UTC)
__all__ = ["leave"]


async def add_to(db: Db, event: str, request: UUID) -> None:
    await execute(
        db,
        """INSERT INTO related_items (request_id, item_id, kind, number, status, stage)
           SELECT %(request)s, id, 'Personnel Event', number, status, 'Approval' FROM personnel_events
           WHERE id = %(event)s""",
        request=request,
        event=event,
    )


async def beside_a_bulk_response(config: Config, db: Db, ids: list[UUID], work: Work) -> None:
    """Do the work while another transaction locks these requests one after the other, in number order."""
    async with make_pool(config) as pool:
        crew = Crew(pool, db)
        async with pool.connection() as bulk, bulk.transaction():
            await moving.lock(bulk, ids[:1])
            await crew.begin(work)
            for id in ids[1:]:
                await moving.lock(bulk, [id])
        await crew.end()


async def test_cancel_of_an_onboarding_locks_requests_in_number_order(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    event = await created(client, "onboard", identity={"firstName": "New", "lastName": "Comer"}, effectiveDate=day(30))
    newcomer = await fetch_value(db, "SELECT identity_id FROM personnel_events")
    ids = [await an_access_request(db, identity_id=newcomer) for _ in range(2)]
    # The first request was made by hand and is withheld, because the newcomer does not come.
    await add_to(db, event["id"], ids[1])

    async def cancel(db: Db) -> None:
        await actions.cancel_event(db, CLERK, UUID(event["id"]), {}, facts())

    await beside_a_bulk_response(config, db, ids, cancel)

    rows = await fetch_rows(db, "SELECT status FROM access_requests")
    assert rows == [("Canceled",)] * 2


async def test_end_of_a_leave_locks_requests_in_number_order(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    clock.travel_to(datetime(2026, 11, 2, 9, tzinfo=UTC))
    ada = await an_identity(db)
    by_hand = await an_access_request(db, identity_id=ada)
    event = await created(
        client, "leave-of-absence", identityId=str(ada), effectiveDate="2026-11-02", endDate="2026-12-01"
    )
    await let_the_worker_work(config)
    suspension = await an_access_request(db, "Suspend", identity_id=ada)
    await add_to(db, event["id"], suspension)

    async def end(db: Db) -> None:
        await follow_event(db, UUID(event["id"]), BACK)

    await beside_a_bulk_response(config, db, [by_hand, suspension], end)

    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=suspension) == "Canceled"


async def test_second_of_two_leaves_that_end_at_once_restores_the_access(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    bank = await an_application(db, "Bank")
    await an_account(db, bank, "ada", leave.ada, groups=("Tellers",))
    other = await another_leave(client, config, leave.ada, "11-02", "2026-12-01")
    rows = await fetch_rows(db, "SELECT id FROM access_requests WHERE status = 'Open' ORDER BY number")
    for (id,) in rows:
        await client.post(f"/api/access-requests/{id}/resolve")
    await execute(db, "DELETE FROM event_news")

    async with make_pool(config) as pool:
        crew = Crew(pool, db)
        async with pool.connection() as gate, gate.transaction():
            # Both workers lock all requests of the person.
            await moving.lock(gate, [id for (id,) in await fetch_rows(gate, "SELECT id FROM access_requests")])
            for event in (leave.event, other):
                await crew.begin(partial(follow_event, id=UUID(event["id"]), now=BACK))
        await crew.end()

    rows = await fetch_rows(db, "SELECT count(*) FROM access_requests WHERE action = 'Restore'")
    assert rows[0][0] > 0


async def test_second_of_two_new_people_with_one_email_must_confirm_it(db: Db, config: Config) -> None:
    caller = Caller(UUID(int=5), "Program", frozenset(Scope) - {Scope.IDENTITIES_WRITE})

    async def onboard(db: Db) -> None:
        identity = {"firstName": "New", "lastName": "Comer", "email": "new@example.com"}
        await actions.onboard(db, caller, {"identity": identity, "effectiveDate": day(30)}, facts())

    await overlapping(config, db, onboard, onboard)

    assert await fetch_value(db, "SELECT count(*) FROM identities") == 2
    assert await fetch_value(db, "SELECT count(*) FROM unconfirmed_emails") == 1
