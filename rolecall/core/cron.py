"""Check cron expressions, and compute when schedules are due."""

from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator

from rolecall.core.checking import Name256, broken


def _fires(cron: str) -> bool:
    try:
        return next(CronSim(cron, datetime(2000, 1, 1, tzinfo=UTC)), None) is not None
    except CronSimError:
        return False


def _a_cron_line(cron: str) -> str:
    if _fires(cron):
        return cron
    minute, hour, day, month, weekday = [*cron.split(), *"*****"][:5]
    # If the schedule fires with any day, and also with any month, then this month has no such day.
    if all(map(_fires, (f"{minute} {hour} * {month} {weekday}", f"{minute} {hour} {day} * {weekday}"))):
        raise broken("{name} never fires: there is no such day in that month; choose another day")
    raise broken("{name} must be a cron expression such as 0 6 * * 1-5")


CronLine = Annotated[Name256, AfterValidator(_a_cron_line)]


def is_due(cron: str, fired_at: datetime | None, now: datetime, zone: ZoneInfo) -> bool:
    """Return whether a schedule is due.

    A schedule that has never fired is due: firing it records the time from which its next time is computed.
    """
    due = now if fired_at is None else next(CronSim(cron, fired_at.astimezone(zone)), None)
    return due is not None and due <= now


def next_time(cron: str, now: datetime, zone: ZoneInfo) -> datetime | None:
    """Return when the schedule fires next; None if never."""
    return next(CronSim(cron, now.astimezone(zone)), None)
