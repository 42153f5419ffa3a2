"""Send one message at once, outside the queue of notifications: a channel test or a sign-in link."""

from datetime import datetime

import msgspec

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, insert_rows
from rolecall.notifications import chat
from rolecall.notifications.channel_health import mark_working
from rolecall.notifications.mail import MailAccount, Mailer
from rolecall.notifications.model import Channel, MessageOutcome, Transport
from rolecall.notifications.outbox import OutgoingMessage
from rolecall.notifications.queries import Delivery
from rolecall.webhooks.outgoing import Outgoing


async def deliver(message: OutgoingMessage, delivery: Delivery, config: Config) -> tuple[MessageOutcome, str]:
    """Send a message; return the outcome and the response.

    The calling code must not hold a database connection during this call, because the server may be slow.
    """
    if message.channel is not Channel.EMAIL:
        body = chat.body_of(message.channel, message.recipient, message.notes)
        async with Outgoing(config.webhook_allow) as outgoing:
            return await chat.post(outgoing, delivery.secrets[message.channel], body)
    if delivery.policy.email.transport is Transport.OUTBOX:
        return MessageOutcome.KEPT, "The message is in the outbox; nothing was sent"
    mailer = Mailer(MailAccount(delivery.policy.email, delivery.secrets.get(Channel.EMAIL, "")))
    try:
        # Set `claimed_on` to now, because the mailer does not send messages that were claimed too long ago.
        return await mailer.send(msgspec.structs.replace(message, claimed_on=clock.now()))
    finally:
        await mailer.close()


async def log_message(
    db: Db, message: OutgoingMessage, kind: str, result: tuple[MessageOutcome, str], started_on: datetime
) -> None:
    """Store a message in the log of messages. If the message was sent, resume a paused channel."""
    outcome, response = result
    row = {
        "id": message.id,
        "channel": message.channel,
        "kind": kind,
        "recipient": message.recipient,
        "address": message.address,
        "subject": message.written.subject,
        "text": message.written.text,
        "html": message.written.html,
        "attempt": 1,
        "outcome": outcome,
        "response": response,
        "started_on": started_on,
        "ended_on": clock.now(),
    }
    await insert_rows(db, "notification_messages", [row])
    if outcome is MessageOutcome.SENT:
        await mark_working(db, message.channel)
