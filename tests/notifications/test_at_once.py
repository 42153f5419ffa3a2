"""Test that sending and reading notifications does not stop changes of requests, which mark them as read."""

import asyncio
from uuid import UUID

from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, make_pool
from rolecall.notifications import actions
from rolecall.notifications.sender import MessageSender
from tests.interleaving import Crew
from tests.notifications.notifying import Company, ask, notified


async def notifications(db: Db, company: Company, count: int) -> list[UUID]:
    for _ in range(count):
        await ask(db, company)
    return [id for (id,) in await fetch_rows(db, "SELECT id FROM notifications ORDER BY number")]


async def mark_read(db: Db, id: UUID) -> None:
    """Change a notification as a change of its request does."""
    await execute(db, "UPDATE notifications SET is_read = true WHERE id = %(id)s", id=id)


async def test_change_of_requests_succeeds_in_a_deadlock_with_the_sender(
    db: Db, company: Company, config: Config
) -> None:
    first, second, third = await notifications(db, company, 3)
    # Without its own limit, the sender would wait for so long that the change notices the deadlock first.
    async with (
        make_pool(config, deadlock_timeout="60s") as patient,
        make_pool(config) as pool,
        MessageSender(patient, config, lambda: None) as sender,
    ):
        crew = Crew(pool, db)
        async with pool.connection() as change, change.transaction():
            await mark_read(change, third)
            async with pool.connection() as gate, gate.transaction():
                await mark_read(gate, second)
                sending = asyncio.create_task(sender.turn(patient, config, clock.now()))
                await crew.until("SELECT count(*) = 1 FROM pg_locks WHERE NOT granted")
                changing = asyncio.create_task(mark_read(change, first))
                await crew.until("SELECT count(*) = 2 FROM pg_locks WHERE NOT granted")
            await changing
        await sending
        await sender.send_due()

    assert await notified(db, company.grace) == [("Waiting", "Console")] * 3


async def test_reading_all_notifications_waits_for_no_change(db: Db, company: Company, config: Config) -> None:
    first, second = await notifications(db, company, 2)
    grace = Caller(company.grace, "Grace Hopper", frozenset(Scope))
    async with make_pool(config) as pool, pool.connection() as change, change.transaction():
        await mark_read(change, first)
        async with db.transaction():
            await execute(db, "SET LOCAL lock_timeout = '5s'")
            await actions.mark_all_read(db, grace)

    assert await fetch_rows(db, "SELECT id FROM notifications WHERE is_read ORDER BY number") == [(first,), (second,)]
