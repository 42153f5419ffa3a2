import asyncio

import psycopg

from rolecall.core.db import Db
from rolecall.core.nudge import listen, nudge


async def test_notification_wakes_only_the_loops_of_its_channel(clean_database: str, db: Db) -> None:
    wakers = [(channel, asyncio.Event()) for channel in ("imports", "imports", "tick")]
    listening = asyncio.create_task(listen(clean_database, wakers))
    first, second, other = (waker for _, waker in wakers)
    for _, waker in wakers:
        await asyncio.wait_for(waker.wait(), 60)
        waker.clear()

    await nudge(db, "imports")

    await asyncio.wait_for(asyncio.gather(first.wait(), second.wait()), 60)
    assert not other.is_set()
    listening.cancel()


async def test_notification_is_sent_at_commit(clean_database: str, db: Db) -> None:
    async with await psycopg.AsyncConnection.connect(clean_database, autocommit=True) as listening:
        await listening.execute("LISTEN imports")
        async with db.transaction():
            await nudge(db, "imports")
            before = [notice async for notice in listening.notifies(timeout=0.1)]
        after = [notice.channel async for notice in listening.notifies(timeout=60, stop_after=1)]

    assert (before, after) == ([], ["imports"])
