"""Test that transactions that change the same requests in bulk wait for each other and never deadlock."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from rolecall.access_requests import moving
from rolecall.access_requests.closed_loop import close_loop
from rolecall.core.authors import by_system, written_by
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, fetch_rows, fetch_value, make_pool
from tests.builders import an_access_request, an_application, an_identity
from tests.holdings import an_account, finish_import

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


class Crew:
    """Run tasks in their own transactions; start each one when the previous task waits for a lock."""

    def __init__(self, pool: Pool, watcher: Db) -> None:
        self.pool, self.watcher = pool, watcher
        self.tasks: list[asyncio.Task[None]] = []

    async def begin(self, work: Callable[[Db], Awaitable[Any]]) -> None:
        pid = asyncio.get_running_loop().create_future()

        async def in_a_transaction() -> None:
            async with self.pool.connection() as db, written_by(db, "step", by_system("work", LATER)):
                pid.set_result(db.info.backend_pid)
                await work(db)

        self.tasks.append(asyncio.create_task(in_a_transaction()))
        async with asyncio.timeout(30):
            blocked = "SELECT cardinality(pg_blocking_pids(%(pid)s)) > 0"
            while not await fetch_value(self.watcher, blocked, pid=await pid):  # noqa: ASYNC110
                await asyncio.sleep(0.005)


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
            await asyncio.gather(*crew.tasks)

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
        await asyncio.gather(*crew.tasks)

    assert found == [(second,)]
