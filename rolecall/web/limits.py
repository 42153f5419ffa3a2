"""Rate limits: fixed windows of a minute, counted per process."""

from datetime import datetime

from rolecall.core.errors import RateLimited

# A minute.
FAILED_AUTHENTICATIONS = 300
SIGN_INS_FROM_AN_ADDRESS = 60
SIGN_INS_OF_A_PERSON = 10


class Counter:
    def __init__(self) -> None:
        self._minute = 0
        self._counts: dict[object, int] = {}

    def count(self, key: object, limit: int, now: datetime) -> None:
        """Count a request of `key`; raise RateLimited above the limit until the minute ends."""
        minute, second = divmod(int(now.timestamp()), 60)
        if minute != self._minute:
            self._minute, self._counts = minute, {}
        self._counts[key] = self._counts.get(key, 0) + 1
        if self._counts[key] > limit:
            raise RateLimited(60 - second)
