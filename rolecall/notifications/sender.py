"""Send notifications. Each turn records finished messages, routes new notifications, claims due ones and sends them."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Self

import structlog
from psycopg.errors import LockNotAvailable

from rolecall.core import clock, sealing
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, transaction
from rolecall.core.faults import fault
from rolecall.core.in_flight import InFlight
from rolecall.notifications import chat, outbox, queries, routing
from rolecall.notifications.mail import MailAccount, Mailer
from rolecall.notifications.model import IN_FLIGHT, ROUTED_AT_ONCE, Channel, MessageOutcome, Transport
from rolecall.notifications.outbox import EndedMessage, OutgoingMessage
from rolecall.notifications.queries import Delivery
from rolecall.notifications.routing import Routing
from rolecall.webhooks.outgoing import Outgoing

_SOON = timedelta(seconds=1)
# How long a result may wait for other results, so that one transaction records several.
_GATHER_SECONDS = 0.05

log = structlog.get_logger("rolecall.notifications")


class MessageSender:
    def __init__(self, pool: Pool, config: Config, wake: Callable[[], None]) -> None:
        """Create a sender; it calls `wake` to have the worker run the next `turn`."""
        self._pool, self._config = pool, config
        self._outgoing = Outgoing(config.webhook_allow)
        self._mailer: Mailer | None = None
        self._flight = InFlight[EndedMessage](wake, _GATHER_SECONDS)
        self._sending = Counter[Channel]()

    async def __aenter__(self) -> Self:
        await self._outgoing.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Drain: wait for messages that are being sent, release the others and record the results."""
        if self._mailer:
            self._mailer.stop()
        await self.rest()
        self._flight.close()
        if self._mailer:
            await self._mailer.close()
        await self._outgoing.__aexit__()

    async def rest(self) -> None:
        """Wait until nothing is in flight, then record the results."""
        await self._flight.finish()
        await self._record(clock.now())

    async def _record(self, now: datetime, *, yields: bool = False) -> None:
        """Record results in a transaction of their own. If a crash prevents the commit, the outcomes are unknown."""
        if ended := self._flight.ended():
            async with self._pool.connection() as db, transaction(db, "notifications-record"):
                if yields:
                    await outbox.yield_to_others(db)
                await outbox.record(db, ended, now)
            # Forget the results only after the commit, so that they are recorded again if the transaction fails.
            self._flight.drop(ended)

    async def turn(self, _: Pool, __: Config, now: datetime) -> bool:
        # Request the next turn first, in case this one fails.
        self._flight.set_alarm(now + _SOON)
        try:
            return await self._take_turn(now)
        except LockNotAvailable as fault:
            log.info("notifications are being changed; trying again", reason=str(fault))
            return False

    async def _take_turn(self, now: datetime) -> bool:
        await self._record(now, yields=True)
        more, messages = False, list[OutgoingMessage]()
        async with self._pool.connection() as db, transaction(db, "notifications-turn"):
            await outbox.yield_to_others(db)
            delivery = await self._delivery(db)
            known = Routing(delivery.policy, delivery.channels, self._config.timezone, self._config.base_url)
            if is_locked := await outbox.try_lock(db):
                more = await routing.route(db, known, now) == ROUTED_AT_ONCE
                messages = await outbox.claim(db, known, self._rooms(delivery), now)
            next_turn = now + _SOON if messages or not is_locked else await outbox.next_due(db, now)
        # Send only after the commit, so that a failed transaction sends nothing.
        for message in messages:
            self._sending[message.channel] += 1
            self._flight.start(self._send(message, delivery))
        self._flight.set_alarm(next_turn)
        return more

    @property
    def is_idle(self) -> bool:
        return self._flight.is_idle

    async def send_due(self) -> None:
        """Send everything that is due now, without the worker's loop."""
        more = True
        while more or not self.is_idle:
            await self.rest()
            more = await self.turn(self._pool, self._config, clock.now())

    def _rooms(self, delivery: Delivery) -> dict[Channel, int]:
        """Return how many messages to claim for each channel; omit a channel until half of its slots are free."""
        # Claim many messages at a time, which needs fewer transactions.
        free = {channel: IN_FLIGHT[channel] - self._sending[channel] for channel in delivery.channels}
        return {channel: room for channel, room in free.items() if room >= IN_FLIGHT[channel] // 2}

    async def _delivery(self, db: Db) -> Delivery:
        """Return the current settings; an unreadable secret turns its channel off. Replace an outdated mailer."""
        delivery = await queries.delivery(db, sealing.load_key(self._config))
        for channel in delivery.unreadable:
            log.error("the secret of a notification channel cannot be decrypted", channel=channel)
        account = MailAccount(delivery.policy.email, delivery.secrets.get(Channel.EMAIL, ""))
        if self._mailer is None or self._mailer.account != account:
            if self._mailer:
                self._mailer.stop()
                await self._mailer.close()
            self._mailer = Mailer(account)
        return delivery

    async def _send(self, message: OutgoingMessage, delivery: Delivery) -> EndedMessage:
        fault("notification.before-send")
        try:
            outcome, said = await self._deliver(message, delivery)
        finally:
            self._sending[message.channel] -= 1
        fault("notification.after-send")
        # PostgreSQL accepts no NUL characters in text.
        return EndedMessage(message, outcome, said.replace("\x00", " "), clock.now())

    async def _deliver(self, message: OutgoingMessage, delivery: Delivery) -> tuple[MessageOutcome, str]:
        if message.channel is not Channel.EMAIL:
            body = chat.body_of(message.channel, message.recipient, message.notes)
            return await chat.post(self._outgoing, delivery.secrets[message.channel], body)
        if delivery.policy.email.transport is Transport.OUTBOX:
            return MessageOutcome.KEPT, ""
        assert self._mailer
        return await self._mailer.send(message)
