"""The clock of the service, which tests and the sample company can set.

Actions and queries do not read the clock: they receive the time as the argument `now`, or in `facts`.
"""

import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

# The offsets of the time zones that are farthest from UTC.
_EAST, _WEST = timedelta(hours=14), timedelta(hours=12)
_WRITTEN = re.compile(r"[0-9W-]+([Tt ][0-9:.,]+([Zz]|[+-][0-9:.]+)?)?")
_offset = timedelta()
_stopped: datetime | None = None


def now() -> datetime:
    return _stopped or datetime.now(UTC) + _offset


def travel_to(moment: datetime) -> None:
    """Set the clock to `moment` and let it run from there; for tests and the sample company."""
    travel(moment - datetime.now(UTC))


def travel_home() -> None:
    travel(timedelta())


def travel(offset: timedelta) -> None:
    global _offset, _stopped
    _offset, _stopped = offset, None


def stop_at(moment: datetime) -> None:
    """Stop the clock in this process, for tests that must not depend on the machine's speed."""
    global _stopped  # noqa: PLW0603
    _stopped = moment


def traveled() -> timedelta:
    """Return how far the clock is shifted, so that child processes can apply the same shift."""
    return _offset


def is_date(text: str) -> bool:
    """Return whether a string that `parse` accepts is a date without a time."""
    return not re.search("[Tt ]", text)


def parse(text: str, zone: ZoneInfo) -> datetime:
    """Parse a date, as midnight in `zone`, or a date-time; without an offset, it is also in `zone`.

    Raise ValueError or OverflowError for any other string.
    """
    # Check the form first, because Python accepts any character between date and time.
    if not _WRITTEN.fullmatch(text):
        raise ValueError(f"{text} is not an ISO 8601 date or date-time")
    is_day = is_date(text)
    moment = datetime.combine(date.fromisoformat(text), time()) if is_day else datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    # Reject a time that overflows in any time zone: the zone of the service may change later.
    _ = moment.astimezone(UTC) + _EAST, moment.astimezone(UTC) - _WEST
    return moment.astimezone(UTC)


def local(moment: datetime, zone: ZoneInfo) -> datetime:
    """Convert a stored time to a zone; return it unchanged if the result is out of range for `datetime`."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment
