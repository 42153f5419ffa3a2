"""Send a test message at once, so that an administrator sees whether a channel works and how the server responds."""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.audit.actions import record
from rolecall.core import sealing
from rolecall.core.checking import Facts, Json, check
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool
from rolecall.core.errors import Conflict
from rolecall.core.ids import new_id
from rolecall.notifications import direct, queries
from rolecall.notifications.message_text import Note, write
from rolecall.notifications.model import Channel, MessageOutcome
from rolecall.notifications.outbox import OutgoingMessage
from rolecall.notifications.shapes import ChannelTest, TestBody

_KIND = "Test"
_RECIPIENT = "administrator"
_NOTE = Note(
    "Rolecall can send notifications",
    ["An administrator sent this test. No action is needed."],
    [],
    "",
    "Open Rolecall",
)


class SentTest(msgspec.Struct, frozen=True):
    message: OutgoingMessage
    outcome: MessageOutcome
    response: str
    started_on: datetime


async def send_test(pool: Pool, config: Config, raw: Json, facts: Facts) -> SentTest:
    """Send a test message; return it with its outcome.

    The calling code must not hold a database connection meanwhile, because the server may be slow.
    """
    body = check(TestBody, raw, facts)
    async with pool.connection() as db:
        delivery = await queries.delivery(db, sealing.load_key(config))
    if body.channel not in delivery.channels:
        raise Conflict(
            f"{body.channel} is not configured, or its secret cannot be decrypted;"
            " an administrator can set it up with `rolecall notify change`"
        )
    note = msgspec.structs.replace(_NOTE, link=f"{config.base_url}/")
    written = write([note], _RECIPIENT, config.base_url, is_digest=False)
    address = body.address if body.channel is Channel.EMAIL else str(body.channel)
    id = new_id()
    message = OutgoingMessage(id, id, body.channel, _RECIPIENT, address, written, [note], id, facts.now, 1)
    return SentTest(message, *await direct.deliver(message, delivery, config), facts.now)


async def record_test(db: Db, sent: SentTest) -> ChannelTest:
    """Log the test message and audit the test. If the message was sent, resume a paused channel."""
    message = sent.message
    await direct.log_message(db, message, _KIND, (sent.outcome, sent.response), sent.started_on)
    await record(db, "Notification Settings", UUID(int=0), {"tested": message.channel, "outcome": sent.outcome})
    return ChannelTest(message.channel, sent.outcome, sent.response)
