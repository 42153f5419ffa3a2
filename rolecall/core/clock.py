"""The one place that reads the time; everything else is handed `now`."""

import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

_WRITTEN = re.compile(r"[0-9W-]+([Tt ][0-9:.,]+([Zz]|[+-][0-9:.]+)?)?")
_offset = timedelta()
_stopped: datetime | None = None


def now() -> datetime:
    return _stopped or datetime.now(UTC) + _offset


def travel_to(moment: datetime) -> None:
    """Let time run on from `moment`; for tests and the sample company."""
    travel(moment - datetime.now(UTC))


def travel_home() -> None:
    travel(timedelta())


def travel(offset: timedelta) -> None:
    global _offset, _stopped
    _offset, _stopped = offset, None


def stop_at(moment: datetime) -> None:
    """Let time stand still, in this process; for tests that count seconds on a machine that may pause."""
    global _stopped  # noqa: PLW0603
    _stopped = moment


def traveled() -> timedelta:
    """For the processes that a traveller starts: they travel along."""
    return _offset


def parse(text: str, zone: ZoneInfo) -> datetime:
    """A date is midnight in `zone`; a date-time without offset is local to it. Raises ValueError or OverflowError."""
    # Python takes any character between date and time.
    if not _WRITTEN.fullmatch(text):
        raise ValueError(f"{text} is no ISO 8601 date or date-time")
    moment = datetime.fromisoformat(text)
    if len(text) == len("2026-12-01") and "T" not in text:
        moment = datetime.combine(moment.date(), time())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    # Through the zone: a moment that has no date there is refused here, not where it is shown.
    return moment.astimezone(zone).astimezone(UTC)
