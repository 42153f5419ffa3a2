"""The tables are the truth; a nudge only wakes whoever works on them, when the writing transaction commits."""

import asyncio
from collections.abc import Iterable

from psycopg import AsyncConnection, OperationalError

from rolecall.core.db import Db, execute


async def nudge(db: Db, channel: str) -> None:
    await execute(db, "SELECT pg_notify(%(channel)s, '')", channel=channel)


async def listen(url: str, wakers: dict[str, asyncio.Event]) -> None:
    """Set a channel's event at each nudge. A lost connection is made anew: until then the tick does its work."""
    while True:
        try:
            async with await AsyncConnection.connect(url, autocommit=True) as db:
                for channel in wakers:
                    await db.execute(f'LISTEN "{channel}"')
                _wake(wakers.values())
                async for notice in db.notifies():
                    wakers[notice.channel].set()
        except OperationalError:
            await asyncio.sleep(1)


def _wake(events: Iterable[asyncio.Event]) -> None:
    for event in events:
        event.set()
