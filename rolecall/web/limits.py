"""Limit the rate of requests in fixed windows of a minute, and the number of tasks at once, both per process."""

import asyncio
from collections import Counter as Counts
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from weakref import WeakValueDictionary

from rolecall.core.errors import RateLimited

# Limits per minute. The limit of failed authentications is high, because nobody can guess the secret of a token.
FAILED_AUTHENTICATIONS = 300
SIGN_INS_FROM_AN_ADDRESS = 60
SIGN_INS_OF_A_PERSON = 10


class Counter:
    def __init__(self) -> None:
        self._minute = 0
        self._counts: dict[object, int] = {}

    def count(self, key: object, limit: int, now: datetime) -> None:
        """Count a request under `key`; raise RateLimited if there were more than `limit` in this minute."""
        minute, second = divmod(int(now.timestamp()), 60)
        if minute != self._minute:
            self._minute, self._counts = minute, {}
        self._counts[key] = self._counts.get(key, 0) + 1
        if self._counts[key] > limit:
            raise RateLimited(60 - second)


class Slots:
    """Limit how many tasks of a kind run at once in this process."""

    def __init__(self) -> None:
        self._taken = Counts[object]()

    @contextmanager
    def taken(self, most: int, what: str, key: object, most_of_key: int) -> Iterator[None]:
        """Hold a slot for `key`; raise RateLimited if `most` slots, or `most_of_key` slots of this key, are taken."""
        running = self._taken.total()
        if running >= most or self._taken[key] >= most_of_key:
            raise RateLimited(_RETRY_SECONDS, f"{running} {what} are running; try again in {_RETRY_SECONDS} s")
        self._taken[key] += 1
        try:
            yield
        finally:
            # Subtract with `-=`, which also removes keys whose count becomes zero.
            self._taken -= Counts([key])


class Turns:
    """Run the tasks of a key one after another in this process, so that those that wait need no connection."""

    def __init__(self) -> None:
        self._slots = Slots()
        self._locks = WeakValueDictionary[object, asyncio.Lock]()

    @asynccontextmanager
    async def turn(self, most: int, what: str, key: object, most_of_key: int) -> AsyncGenerator[None]:
        """Wait for the earlier tasks of `key`; raise RateLimited if too many run or wait, as `Slots.taken` does."""
        with self._slots.taken(most, what, key, most_of_key):
            # A lock is in the dictionary only as long as a task uses it.
            lock = self._locks.setdefault(key, asyncio.Lock())
            async with lock:
                yield


_RETRY_SECONDS = 10
