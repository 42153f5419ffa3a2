"""Track messages in flight and their results, for the senders of webhooks and notifications.

A sender works in turns, each with one transaction. Results that arrive while a turn commits are recorded together in
the next turn, so that under load one transaction serves many messages.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Generic, TypeVar

from rolecall.core.alarm import Alarm

Result = TypeVar("Result")


class InFlight(Generic[Result]):
    def __init__(self, wake: Callable[[], None], gather_seconds: float = 0) -> None:
        """Start with nothing in flight.

        `wake` requests a turn. It is called when a result arrives or, if other messages are still in flight,
        `gather_seconds` later, so that one turn records several results.
        """
        self._wake, self._gather_seconds = wake, gather_seconds
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended: list[Result] = []
        self._alarm = Alarm(wake)
        self._gathering: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is in flight and every result is recorded."""
        return not self._tasks and not self._ended

    def start(self, sending: Coroutine[None, None, Result]) -> None:
        task = asyncio.create_task(self._run(sending))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, sending: Coroutine[None, None, Result]) -> None:
        self._ended.append(await sending)
        if not self._gather_seconds or len(self._tasks) == 1:
            self._wake()
        elif self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(self._gather_seconds, self._gathered)

    def _gathered(self) -> None:
        self._gathering = None
        self._wake()

    def ended(self) -> list[Result]:
        """Return the results to record.

        The calling code must `drop` them after the commit, so that the next turn records them again if this one fails.
        """
        return list(self._ended)

    def drop(self, recorded: list[Result]) -> None:
        del self._ended[: len(recorded)]

    async def finish(self) -> None:
        """Wait until nothing is in flight."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def set_alarm(self, due: datetime | None) -> None:
        """Request a turn at the next due time, which may be between two ticks."""
        self._alarm.set(due)

    def close(self) -> None:
        self.set_alarm(None)
        if self._gathering:
            self._gathering.cancel()
