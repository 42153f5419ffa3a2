"""Parse the query parameters `from` and `until`, which are dates or times."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.errors import Invalid
from rolecall.web.bodies import Reader

_A_TIME = Reader(str, {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]})
A_PERIOD = {"from": _A_TIME, "until": _A_TIME}


def start_of(query: dict[str, Any], config: Config) -> datetime | None:
    return _bound(query, "from", config, timedelta())


def end_of(query: dict[str, Any], config: Config) -> datetime | None:
    """Return the exclusive end of the period; a date includes the whole day."""
    return _bound(query, "until", config, timedelta(days=1))


def _bound(query: dict[str, Any], name: str, config: Config, a_day: timedelta) -> datetime | None:
    """Return a bound of the period; a date means midnight in the service's time zone, plus `a_day`."""
    text: str | None = query.get(name)
    if text is None:
        return None
    try:
        moment = clock.parse(text, config.timezone)
        # Add the day in local time: a day on which the clocks change has 23 or 25 hours.
        return (moment.astimezone(config.timezone) + a_day).astimezone(UTC) if clock.is_date(text) else moment
    except (ValueError, OverflowError):
        raise Invalid.on(name, f"{name.capitalize()} must be an ISO 8601 date or date-time") from None
