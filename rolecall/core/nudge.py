"""Wake workers with NOTIFY when a transaction that creates work commits.

The tables are the queue: a lost or repeated notification is harmless, because the next tick finds the work.
"""

import asyncio
from collections.abc import Sequence

from psycopg import AsyncConnection, OperationalError

from rolecall.core.db import Db, execute, reachable


async def nudge(db: Db, channel: str) -> None:
    await execute(db, "SELECT pg_notify(%(channel)s, '')", channel=channel)


async def listen(url: str, wakers: Sequence[tuple[str, asyncio.Event]]) -> None:
    """Set the asyncio events of a channel at each of its notifications, and all events after connecting.

    Reconnect after a failure; until then the tick finds the work.
    """
    while True:
        try:
            async with await AsyncConnection.connect(reachable(url), autocommit=True) as db:
                for channel in {channel for channel, _ in wakers}:
                    await db.execute(f'LISTEN "{channel}"')
                for _, waker in wakers:
                    waker.set()
                async for notice in db.notifies():
                    for channel, waker in wakers:
                        if channel == notice.channel:
                            waker.set()
        except OperationalError:
            await asyncio.sleep(1)
