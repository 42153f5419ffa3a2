from collections.abc import Mapping, Set
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

# The NOTIFY channel that wakes the worker to write a report.
CHANNEL = "reports"
MOST_ATTEMPTS = 3
# The filters that a period sets.
AS_OF, FROM, UNTIL = "asOf", "from", "until"


class ReportPeriod(StrEnum):
    """The period that a report covers. Its dates are computed at each run."""

    NOW = "Now"
    YESTERDAY = "Yesterday"
    LAST_WEEK = "Last Week"
    LAST_MONTH = "Last Month"
    LAST_QUARTER = "Last Quarter"
    LAST_YEAR = "Last Year"


def _bounds(period: ReportPeriod, today: date) -> tuple[date, date]:
    """Return the first day of the last complete period, and the first day after the period."""
    match period:
        # Now is never passed in (see `filters_of`), but the match must be exhaustive.
        case ReportPeriod.NOW | ReportPeriod.YESTERDAY:
            end = today
            return end - timedelta(days=1), end
        case ReportPeriod.LAST_WEEK:
            end = today - timedelta(days=today.weekday())
            return end - timedelta(days=7), end
        case ReportPeriod.LAST_MONTH:
            end = today.replace(day=1)
            return _months_before(end, 1), end
        case ReportPeriod.LAST_QUARTER:
            end = today.replace(month=today.month - (today.month - 1) % 3, day=1)
            return _months_before(end, 3), end
        case ReportPeriod.LAST_YEAR:
            end = today.replace(month=1, day=1)
            return end.replace(year=end.year - 1), end


def _months_before(first: date, months: int) -> date:
    year, month = divmod(first.year * 12 + first.month - 1 - months, 12)
    return first.replace(year=year, month=month + 1)


def filters_of(period: ReportPeriod, known: Set[str], now: datetime, zone: ZoneInfo) -> Mapping[str, str]:
    """Return the filters of a period.

    They are `from` and `until` or, if the list does not have these filters, `asOf` with the last day of the period.
    The period Now needs no filters.
    """
    if period == ReportPeriod.NOW:
        return {}
    first, end = _bounds(period, now.astimezone(zone).date())
    if FROM not in known:
        return {AS_OF: (end - timedelta(days=1)).isoformat()}
    return {name: datetime.combine(day, time(), zone).isoformat() for name, day in ((FROM, first), (UNTIL, end))}


def has_past(known: Set[str]) -> bool:
    """Return whether a list with these filters can be read for a past time."""
    return bool(known & {AS_OF, FROM})
