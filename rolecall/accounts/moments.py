"""Parse the query parameter `asOf`: a date (the end of that day), a time, or the number of an import.

Lists report applications without data at that time: an empty list would suggest that there was no access.
"""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from rolecall.core import clock
from rolecall.core.checking import require_past
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_all, fetch_value
from rolecall.core.errors import Invalid
from rolecall.core.paging import Page, PastPage, WithoutData

T = TypeVar("T")
# SQL for a string that identifies the matches of all accounts at a moment. It differs between two moments if an account
# changed its identity in between. The first match of an account is left out, because it also applies to earlier times.
# A later correction of past matches changes `matchings.number` instead.
MATCHES_THEN = """concat_ws(' ',
    (SELECT max(since) FROM past_matches WHERE since <= %(moment)s::timestamptz),
    (SELECT max(until) FROM past_matches WHERE until <= %(moment)s::timestamptz),
    (SELECT max(a.matched_on) FROM past_matches p JOIN accounts a ON a.number = p.account_number
     WHERE a.matched_on <= %(moment)s::timestamptz))"""
# At most nine digits, so that the number fits the SQL type int.
_NUMBER = re.compile("[0-9]{1,9}")


async def moment_of(db: Db, text: str | None, config: Config, now: datetime) -> datetime | None:
    """Return the moment that `asOf` means; None means the present."""
    if text is None:
        return None
    if _NUMBER.fullmatch(text):
        return await moment_after(db, int(text))
    try:
        moment = require_past("asOf", clock.parse(text, config.timezone), now)
        if clock.is_date(text):
            # Today means now, because the day has not ended.
            return min(end_of_day(moment.astimezone(config.timezone).date(), config.timezone), now)
        return moment
    except (ValueError, OverflowError):
        message = "As of must be an ISO 8601 date or date-time, or the number of an import"
        raise Invalid.on("asOf", message) from None


def end_of_day(day: date, zone: ZoneInfo) -> datetime:
    """Return the last moment of a day, so that a list as of that day includes the imports of the day."""
    # Subtract in UTC: if clocks go back at midnight, the last hour of the day occurs twice.
    return datetime.combine(day + timedelta(days=1), time(), zone).astimezone(UTC) - timedelta(microseconds=1)


async def require_data(db: Db, application_id: UUID, as_of: datetime | None) -> None:
    """Reject a moment before the application's first import: an empty list would suggest that there was no access."""
    if as_of is None:
        return
    for each in await _without_data(db, as_of, application_id):
        said = f"before {each.no_data_before.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}, when its first import finished"
        raise Invalid.on("asOf", f"There is no data about {each.application} {said}")


async def moment_after(db: Db, import_number: int) -> datetime:
    """Return the end of the last finished import with this number or a lower one.

    Refuse a number higher than that of any import: `20260301` is more likely a date without dashes.
    """
    if import_number > (await fetch_value(db, "SELECT max(number) FROM application_imports") or 0):
        raise Invalid.on("asOf", f"No import has the number {import_number}; write a date as 2026-03-01")
    moment: datetime | None = await fetch_value(
        db,
        """SELECT build_end FROM application_imports WHERE status = 'Finished' AND number <= %(number)s
           ORDER BY number DESC LIMIT 1""",
        number=import_number,
    )
    if moment is None:
        message = f"No import with the number {import_number} or lower has finished; use a higher number"
        raise Invalid.on("asOf", message)
    return moment


async def with_missing(db: Db, found: Page[T], application_id: UUID | None, as_of: datetime | None) -> PastPage[T]:
    """Add to a page the applications without data at that moment; if `application_id` has none, raise Invalid."""
    missing: list[WithoutData] = []
    if application_id is not None:
        await require_data(db, application_id, as_of)
    elif as_of is not None:
        missing = await _without_data(db, as_of)
    if isinstance(found, PastPage):
        return msgspec.structs.replace(found, no_data_before=missing)
    return PastPage(found.items, found.total_count, found.page, found.page_size, found.total_pages, missing)


async def _without_data(db: Db, as_of: datetime, application_id: UUID | None = None) -> list[WithoutData]:
    """List all applications, or the given one, whose first import ended after this moment, with the time of its end."""
    # Round up to a whole second, so that a list as of the returned time has data.
    return await fetch_all(
        db,
        WithoutData,
        """SELECT a.id AS application_id, a.name AS application,
                  date_trunc('second', first.build_end + interval '0.999999 s') AS no_data_before
           FROM applications a CROSS JOIN LATERAL (
               SELECT r.build_end FROM application_imports r
               WHERE r.application_id = a.id AND r.status = 'Finished' ORDER BY r.number LIMIT 1
           ) AS first
           WHERE first.build_end > %(as_of)s AND a.id = coalesce(%(application)s, a.id) ORDER BY a.name_key, a.id""",
        as_of=as_of,
        application=application_id,
    )
