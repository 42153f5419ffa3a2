"""Record notifications whose text cannot be written, so that they block no others and administrators see them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import structlog

from rolecall.core.db import Db, execute, insert_rows
from rolecall.core.ids import new_id
from rolecall.notifications.model import LONGEST_RESPONSE, Channel, Claimed, MessageOutcome

log = structlog.get_logger("rolecall.notifications")


async def fail(db: Db, rows: Sequence[Claimed], faults: Mapping[UUID, Exception], now: datetime) -> None:
    """Mark notifications as failed, each with the reason in the log of messages."""
    if not rows:
        return
    for row in rows:
        log.error("a notification could not be written", id=str(row.id), kind=row.kind, exc_info=faults[row.id])
    await execute(
        db,
        """UPDATE notifications SET status = 'Failed', next_attempt_on = NULL, lease = NULL
           WHERE id = ANY(%(ids)s)""",
        ids=[row.id for row in rows],
    )
    await insert_rows(db, "notification_messages", [_message(row, faults[row.id], now) for row in rows])


def _message(row: Claimed, fault: Exception, now: datetime) -> dict[str, object]:
    is_mail = row.channel == Channel.EMAIL
    return {
        "id": new_id(),
        "channel": row.channel,
        "kind": row.kind,
        "identity_id": row.identity_id if is_mail else None,
        "recipient": row.recipient,
        "address": row.address if is_mail else row.channel,
        "subject": f"{row.kind} (could not be written)",
        "text": "",
        "html": "",
        "attempt": row.step,
        "outcome": MessageOutcome.UNWRITTEN,
        "response": f"{type(fault).__name__}: {fault}"[:LONGEST_RESPONSE],
        "started_on": now,
        "ended_on": now,
    }
