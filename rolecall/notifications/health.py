"""Read the health of notifications for operators: problems that keep messages from arriving, and metrics."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from rolecall.core.db import Db, fetch_all, fetch_rows, fetch_value
from rolecall.core.paging import totals_by
from rolecall.notifications import queries
from rolecall.notifications.model import ALWAYS_CONSOLE, SCHEDULE, Channel, MessageOutcome, Transport

# A running worker claims due notifications within seconds, so one that is due for longer suggests that no worker runs.
_OVERDUE_AFTER = timedelta(minutes=5)
REFUSED_WITHIN = timedelta(days=7)


class FailingChannel(msgspec.Struct, frozen=True):
    channel: str
    failing_since: datetime
    last_error: str


class RefusedAddress(msgspec.Struct, frozen=True):
    address: str
    response: str


class NotificationProblems(msgspec.Struct, frozen=True):
    """What keeps messages from arriving.

    `refused` are addresses that a message of the last 7 days probably did not reach. `unsendable` counts people who
    were notified only in the console in the last 7 days because e-mail is turned off.
    `unwritten` names notifications of the last 7 days that the service failed to write.
    """

    failing: Sequence[FailingChannel]
    overdue_since: datetime | None
    refused: Sequence[RefusedAddress]
    broken_templates: Sequence[str]
    unsendable: int
    unwritten: Sequence[str]


class NotificationNumbers(msgspec.Struct, frozen=True):
    by_outcome: dict[str, int]
    unsent: int
    oldest_unsent_seconds: float
    failing: dict[str, int]


# A condition for unsent notifications, including those that wait for a retry or a channel. A notification that waits
# for the time of its digest is not included.
_UNSENT = "status = 'New' OR status = 'Pending' AND (next_attempt_on <= %(now)s OR message_id IS NOT NULL)"


async def problems(db: Db, now: datetime) -> NotificationProblems:
    overdue: datetime | None = await fetch_value(
        db,
        """SELECT min(n.next_attempt_on) FROM notifications n LEFT JOIN notification_channels c USING (channel)
           WHERE n.status IN ('New', 'Pending') AND n.next_attempt_on < %(late)s
             AND (c.paused_until IS NULL OR c.paused_until <= %(now)s)""",
        late=now - _OVERDUE_AFTER,
        now=now,
    )
    broken = await fetch_rows(db, "SELECT kind FROM notification_template_faults ORDER BY kind")
    return NotificationProblems(
        await failing_channels(db),
        overdue,
        await _refused(db, now),
        [kind for (kind,) in broken],
        await _unsendable(db, now),
        await _unwritten(db, now),
    )


async def _unsendable(db: Db, now: datetime) -> int:
    """Return how many people were recently notified only in the console, or 0 if e-mail is turned on."""
    if (await queries.policy(db)).email.transport is not Transport.OFF:
        return 0
    count: int = await fetch_value(
        db,
        """SELECT count(DISTINCT identity_id) FROM notifications
           WHERE status = 'Console' AND kind <> ALL(%(own)s) AND list_key >= time_key(%(since)s, 0)""",
        own=list(ALWAYS_CONSOLE),
        since=now - REFUSED_WITHIN,
    )
    return count


async def _unwritten(db: Db, now: datetime) -> list[str]:
    rows = await fetch_rows(
        db,
        """SELECT kind || ' for ' || recipient || ' (' || coalesce(response, '') || ')' FROM notification_messages
           WHERE outcome = 'unwritten' AND list_key >= time_key(%(since)s, 0) ORDER BY list_key DESC""",
        since=now - REFUSED_WITHIN,
    )
    return [said for (said,) in rows]


async def failing_channels(db: Db) -> list[FailingChannel]:
    return await fetch_all(
        db,
        FailingChannel,
        """SELECT channel, failing_since, coalesce(last_error, '') AS last_error FROM notification_channels
           WHERE failing_since IS NOT NULL ORDER BY channel""",
    )


async def _refused(db: Db, now: datetime) -> list[RefusedAddress]:
    """Return addresses with a recent message that was refused or bounced, or not confirmed after the last attempt."""
    return await fetch_all(
        db,
        RefusedAddress,
        """SELECT DISTINCT ON (address) address, coalesce(response, '') AS response FROM notification_messages
           WHERE outcome IN ('refused', 'bounced', 'deferred', 'unknown') AND list_key >= time_key(%(since)s, 0)
             AND (outcome IN ('refused', 'bounced') OR attempt >= %(last)s)
           ORDER BY address, list_key DESC""",
        since=now - REFUSED_WITHIN,
        last=len(SCHEDULE),
    )


async def numbers(db: Db, now: datetime) -> NotificationNumbers:
    [(unsent, oldest)] = await fetch_rows(
        db, f"SELECT count(*), min(created_date) FROM notifications WHERE {_UNSENT}", now=now
    )
    failing = {each.channel for each in await failing_channels(db)}
    return NotificationNumbers(
        await totals_by(db, "notification_messages", "outcome", list(MessageOutcome)),
        unsent,
        max((now - oldest).total_seconds(), 0.0) if oldest else 0.0,
        {channel: int(channel in failing) for channel in Channel if channel is not Channel.CONSOLE},
    )
