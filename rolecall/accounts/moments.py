"""Read the query parameter `asOf`: a time, or the number of an import."""

import re
from datetime import datetime

from rolecall.core import clock
from rolecall.core.checking import require_past
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from rolecall.core.errors import Invalid

_NUMBER = re.compile("[0-9]{1,9}")


async def moment_of(db: Db, text: str | None, config: Config, now: datetime) -> datetime | None:
    """Return the moment that `asOf` means, or None for now."""
    if text is None:
        return None
    if _NUMBER.fullmatch(text):
        return await moment_after(db, int(text))
    try:
        return require_past("asOf", clock.parse(text, config.timezone), now)
    except (ValueError, OverflowError):
        message = "As of must be an ISO 8601 date or date-time, or the number of an import"
        raise Invalid.on("asOf", message) from None


async def moment_after(db: Db, import_number: int) -> datetime:
    """Return when the last finished import up to this number ended.

    A number that no import has yet is refused: `20260301` is more likely a date without dashes.
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
        raise Invalid.on("asOf", f"No import numbered {import_number} or less has finished")
    return moment
