"""Record whether each channel works. A failing channel is paused, and administrators are notified once."""

from datetime import datetime

from rolecall.core.db import Db, execute, fetch_value
from rolecall.notifications.model import PAUSES, Channel


async def mark_working(db: Db, channel: Channel) -> None:
    await execute(
        db,
        """UPDATE notification_channels SET failures = 0, failing_since = NULL, last_error = NULL, paused_until = NULL
           WHERE channel = %(channel)s AND (failures > 0 OR paused_until IS NOT NULL)""",
        channel=channel,
    )


async def mark_failing(db: Db, channel: Channel, error: str, now: datetime) -> datetime:
    """Count a failure of the channel, pause it, and return the end of the pause."""
    await execute(db, "INSERT INTO notification_channels (channel) VALUES (%(c)s) ON CONFLICT DO NOTHING", c=channel)
    # Lock the row, so that a concurrent failure reads the increased count and chooses the next pause.
    failures = await fetch_value(
        db, "SELECT failures FROM notification_channels WHERE channel = %(c)s FOR NO KEY UPDATE", c=channel
    )
    until = now + PAUSES[min(failures, len(PAUSES) - 1)]
    # Fires the trigger notify_of_failing_channel in schema/notifications.sql.
    await execute(
        db,
        """UPDATE notification_channels SET failures = failures + 1, failing_since = coalesce(failing_since, %(now)s),
                                            last_error = %(error)s, paused_until = %(until)s WHERE channel = %(c)s""",
        c=channel,
        error=error,
        now=now,
        until=until,
    )
    return until
