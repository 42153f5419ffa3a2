"""Wake a loop at a set time, because a retry may be due between two ticks."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from rolecall.core import clock


class Alarm:
    """A timer that calls `wake` at a set time, or at once if that time has passed."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._timer: asyncio.TimerHandle | None = None

    def set(self, due: datetime | None) -> None:
        """Replace the time; None turns the alarm off."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if due:
            seconds = max((due - clock.now()).total_seconds(), 0)
            self._timer = asyncio.get_running_loop().call_later(seconds, self._wake)
