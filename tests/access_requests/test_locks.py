"""Test that transactions that change the same requests in bulk wait for each other and never deadlock."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

import pytest

from rolecall.access_requests import moving
from rolecall.access_requests.closed_loop import close_loop
from rolecall.access_requests.model import NewPrivilege
from rolecall.access_requests.opening import move_due
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value, make_pool
from tests.builders import an_access_request, an_application, an_identity
from tests.duties.separating import a_company
from tests.holdings import an_account, finish_import
from tests.interleaving import Crew, people_against_the_order

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
ROUNDS, REQUESTS = 9, 6


async def a_finished_import_with_resolved_requests(db: Db) -> tuple[UUID, list[UUID]]:
    """Create resolved removals of accounts, and an import in which every second account is gone.

    The closed loop verifies and reopens these requests alternately. Return the ids of the import and of the requests.
    """
    application = await an_application(db, f"Application {datetime.now(UTC)}", priority="High")
    ada, ids = await an_identity(db), []
    for n in range(REQUESTS):
        if n % 2 == 0:
            await an_account(db, application, f"ada{n}", ada, groups=("Posters",))
        asked = {"application_id": application, "identity_id": ada, "target_name": f"ada{n}"}
        ids.append(await an_access_request(db, "Remove", now=NOON, **asked))
    await moving.resolve(db, ids, SYSTEM, NOON)
    number = await finish_import(db, application, "Users", "Memberships", at=LATER)
    return await fetch_value(db, "SELECT id FROM application_imports WHERE number = %(n)s", n=number), ids


@pytest.mark.timeout(900)
async def test_concurrent_bulk_work_on_the_same_requests_does_not_deadlock(config: Config, db: Db) -> None:
    async with make_pool(config) as pool:
        for turn in range(ROUNDS):
            import_id, ids = await a_finished_import_with_resolved_requests(db)
            backwards = list(reversed(ids))

            async def answer_several(db: Db, chosen: list[UUID] = backwards) -> None:
                """Lock all requests first and then decide each one, as the console does."""
                await moving.lock(db, chosen)
                for id in chosen:
                    await moving.verify(db, [id], SYSTEM, LATER)

            async def cancel_all(db: Db, chosen: list[UUID] = backwards) -> None:
                await moving.cancel(db, chosen, SYSTEM, LATER)

            async def close(db: Db, id: UUID = import_id) -> None:
                await close_loop(db, id, LATER)

            everyone: list[Callable[[Db], Awaitable[None]]] = [cancel_all, close, answer_several]
            crew = Crew(pool, db)
            # One transaction locks the first request, so all tasks queue for it, in a different order in each round.
            async with pool.connection() as first, first.transaction():
                await moving.lock(first, ids[:1])
                for n in range(len(everyone)):
                    await crew.begin(everyone[(turn + n) % len(everyone)])
            await crew.end()

            rows = await fetch_rows(db, "SELECT status FROM access_requests WHERE id = ANY(%(ids)s)", ids=ids)
            assert {status for (status,) in rows} <= {"Completed", "Canceled"}


async def test_requests_of_a_person_are_locked_in_number_order(config: Config, db: Db) -> None:
    ada = await an_identity(db)
    first, second = [await an_access_request(db, identity_id=ada) for _ in range(2)]
    async with make_pool(config) as pool:
        crew = Crew(pool, db)
        async with pool.connection() as holder, holder.transaction():
            await moving.lock(holder, [first])
            await crew.begin(partial(moving.lock_unfinished, identity_id=ada))
            free = "SELECT id FROM access_requests WHERE id = %(id)s FOR UPDATE SKIP LOCKED"
            found = await fetch_rows(db, free, id=second)
        await crew.end()

    assert found == [(second,)]


async def test_worker_locks_all_people_of_due_requests_in_order(config: Config, db: Db) -> None:
    """It starts some requests and then resumes others, and each step checks its requests."""
    company = await a_company(db)
    people = await people_against_the_order(db)
    due = {"Scheduled": "scheduled_start", "Snoozed": "snoozed_until"}
    for person, (status, column) in zip(people, due.items(), strict=True):
        officer = [NewPrivilege(header="Group", permission="Officers")]
        id = await an_access_request(db, identity_id=person, application_id=company.ledger, privileges=officer)
        sql = f"UPDATE access_requests SET status = %(status)s, {column} = now() - interval '1 hour' WHERE id = %(id)s"
        await execute(db, sql, status=status, id=id)

    async with make_pool(config) as pool:
        crew = Crew(pool, db)
        async with pool.connection() as other, other.transaction():
            await lock_person(other, people[1])
            await crew.begin(lambda db: move_due(db, datetime.now(UTC)))
            await lock_person(other, people[0])
        await crew.end()

    assert await fetch_value(db, "SELECT count(*) FROM access_requests WHERE status = 'Open'") == 2


async def lock_person(db: Db, id: UUID) -> None:
    await execute(db, "SELECT take_turns('person', ARRAY[%(id)s])", id=str(id))
