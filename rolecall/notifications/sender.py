"""Send notifications. Each turn records finished messages, routes new notifications, claims due ones and sends them."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Self

import structlog

from rolecall.core import clock, sealing
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, transaction
from rolecall.core.faults import fault
from rolecall.notifications import chat, outbox, queries
from rolecall.notifications.mail import MailAccount, Mailer
from rolecall.notifications.model import IN_FLIGHT, ROUTED_AT_ONCE, Channel, MessageOutcome, Transport
from rolecall.notifications.outbox import EndedMessage, OutgoingMessage, Routing
from rolecall.notifications.queries import Delivery
from rolecall.webhooks.outgoing import Outgoing

_SOON = timedelta(seconds=1)

log = structlog.get_logger("rolecall.notifications")


class MessageSender:
    def __init__(self, pool: Pool, config: Config, wake: Callable[[], None]) -> None:
        """Create a sender; `wake` requests the next turn."""
        self._pool, self._config, self._wake = pool, config, wake
        self._outgoing = Outgoing(config.webhook_allow)
        self._mailer: Mailer | None = None
        self._in_flight: set[asyncio.Task[None]] = set()
        self._ended: list[EndedMessage] = []
        self._alarm: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        await self._outgoing.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Drain: wait for messages in flight and record their results."""
        await self.rest()
        self._set_alarm(None)
        if self._mailer:
            await self._mailer.close()
        await self._outgoing.__aexit__()

    async def rest(self) -> None:
        """Wait until nothing is in flight and every result is recorded."""
        while self._in_flight:
            await asyncio.wait(self._in_flight)
        async with self._pool.connection() as db, transaction(db, "notifications-rest"):
            await self._record(db, clock.now())

    async def turn(self, _: Pool, __: Config, now: datetime) -> bool:
        # Request the next turn first, in case this one fails.
        self._set_alarm(now + _SOON)
        ended = list(self._ended)
        more, messages = False, list[OutgoingMessage]()
        async with self._pool.connection() as db, transaction(db, "notifications-turn"):
            await outbox.record(db, ended, now)
            delivery = await self._delivery(db)
            routing = Routing(delivery.policy, delivery.channels, self._config.timezone, self._config.base_url)
            if await outbox.try_lock(db):
                more = await outbox.route(db, routing, now) == ROUTED_AT_ONCE
                messages = await outbox.claim(db, routing, IN_FLIGHT - len(self._in_flight), now)
            next_turn = now + _SOON if messages else await outbox.next_due(db, now)
        # Only after the commit: a failed transaction must record its results again and send nothing.
        del self._ended[: len(ended)]
        for message in messages:
            self._send_soon(message, delivery)
        self._set_alarm(next_turn)
        return more

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is in flight and every result is recorded."""
        return not self._in_flight and not self._ended

    async def _record(self, db: Db, now: datetime) -> None:
        ended = list(self._ended)
        await outbox.record(db, ended, now)
        del self._ended[: len(ended)]

    async def _delivery(self, db: Db) -> Delivery:
        """Read the settings; a secret that cannot be decrypted turns its channel off."""
        delivery = await queries.delivery(db, sealing.load_key(self._config))
        for channel in delivery.unreadable:
            log.error("the secret of a notification channel cannot be decrypted", channel=channel)
        account = MailAccount(delivery.policy.email, delivery.secrets.get(Channel.EMAIL, ""))
        if self._mailer is None or self._mailer.account != account:
            if self._mailer:
                await self._mailer.close()
            self._mailer = Mailer(account)
        return delivery

    def _send_soon(self, message: OutgoingMessage, delivery: Delivery) -> None:
        task = asyncio.create_task(self._send(message, delivery))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def _send(self, message: OutgoingMessage, delivery: Delivery) -> None:
        fault("notification.before-send")
        outcome, said = await self._deliver(message, delivery)
        fault("notification.after-send")
        self._ended.append(EndedMessage(message, outcome, said.replace("\x00", " "), clock.now()))
        self._wake()

    async def _deliver(self, message: OutgoingMessage, delivery: Delivery) -> tuple[MessageOutcome, str]:
        if message.channel is not Channel.EMAIL:
            body = chat.body_of(message.channel, message.recipient, message.notes)
            return await chat.post(self._outgoing, delivery.secrets[message.channel], body)
        if delivery.policy.email.transport is Transport.OUTBOX:
            return MessageOutcome.KEPT, ""
        assert self._mailer
        return await self._mailer.send(message, clock.now())

    def _set_alarm(self, due: datetime | None) -> None:
        """Wake at the next due time: a retry may fall between two ticks."""
        if self._alarm:
            self._alarm.cancel()
            self._alarm = None
        if due:
            seconds = max((due - clock.now()).total_seconds(), 0)
            self._alarm = asyncio.get_running_loop().call_later(seconds, self._wake)
