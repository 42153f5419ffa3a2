"""Sends deliveries: each turn settles what has ended, claims what is due, and lets it go on its way.

While a turn's transaction commits, further attempts end; the next turn settles them together. So the database is
asked once for many deliveries under load, and at once for a single one.
"""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Self
from uuid import UUID

import structlog

from rolecall.core import clock, sealing
from rolecall.core.config import Config
from rolecall.core.db import Pool, transaction
from rolecall.core.faults import fault
from rolecall.webhooks import outbox
from rolecall.webhooks.model import IN_FLIGHT_A_WORKER, Claim
from rolecall.webhooks.outbox import DueHook, Ended
from rolecall.webhooks.outgoing import Outgoing
from rolecall.webhooks.signing import signed_headers

_SOON = timedelta(seconds=1)

log = structlog.get_logger("rolecall.webhooks")


class Sender:
    def __init__(self, pool: Pool, config: Config, wake: Callable[[], None]) -> None:
        """`wake` asks for the next turn."""
        self._pool = pool
        self._wake = wake
        self._outgoing = Outgoing(config.webhook_allow)
        self._key = sealing.load_key(config)
        self._unseal = lru_cache(maxsize=1024)(sealing.unseal)
        self._unreadable: set[UUID] = set()
        self._in_flight: set[asyncio.Task[None]] = set()
        self._ended: list[Ended] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._closing.enter_async_context(self._outgoing)
        return self

    async def __aexit__(self, *_: object) -> None:
        """What is on its way may arrive: its outcome is awaited and kept, no longer than an attempt takes."""
        await self.rest()
        self._set_alarm(None)
        await self._closing.aclose()

    async def rest(self) -> None:
        """Until nothing is on its way and all outcomes are kept."""
        while self._in_flight:
            await asyncio.wait(self._in_flight)
        ended = list(self._ended)
        async with self._pool.connection() as db, transaction(db, "deliveries-rest"):
            await outbox.settle(db, ended, clock.now())
        del self._ended[: len(ended)]

    async def turn(self, _: Pool, __: Config, now: datetime) -> bool:
        # Should this turn fail, another follows.
        self._set_alarm(now + _SOON)
        ended = list(self._ended)
        async with self._pool.connection() as db, db.pipeline(), transaction(db, "deliveries-turn"):
            await outbox.settle(db, ended, now)
            hooks = self._sendable(await outbox.lock_due_hooks(db, now))
            claims = await outbox.claim(db, [hook for hook, _ in hooks.values()], self._free, now)
            # While something is due, claimed or held up, the next turn is soon; else when something will be.
            next_turn = now + _SOON if hooks else await outbox.next_due(db, now)
        # Only now: what a failed transaction did not keep must be settled again, and nothing may be sent.
        del self._ended[: len(ended)]
        for claim in claims:
            self._send_soon(claim, *hooks[claim.webhook_id])
        self._set_alarm(next_turn)
        return False

    @property
    def is_idle(self) -> bool:
        """Nothing is on its way or waits to be written down."""
        return not self._in_flight and not self._ended

    @property
    def _free(self) -> int:
        return IN_FLIGHT_A_WORKER - len(self._in_flight)

    def _sendable(self, due: list[DueHook]) -> dict[UUID, tuple[DueHook, list[bytes]]]:
        """With the keys that sign; where they cannot be read nothing is attempted, as it could not succeed."""
        hooks = {}
        for hook in due:
            sealed = [secret for secret in (hook.secret, hook.previous_secret) if secret]
            try:
                hooks[hook.id] = (hook, [self._unseal(self._key, secret, hook.id) for secret in sealed])
            except sealing.CannotUnseal as error:
                if hook.id not in self._unreadable:
                    log.error("a webhook's secret cannot be read", webhook_id=str(hook.id), reason=str(error))
                self._unreadable.add(hook.id)
        return hooks

    def _send_soon(self, claim: Claim, hook: DueHook, keys: list[bytes]) -> None:
        task = asyncio.create_task(self._send(claim, hook.url, keys))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def _send(self, claim: Claim, url: str, keys: list[bytes]) -> None:
        headers = signed_headers(claim.id, clock.now(), claim.body, keys)
        fault("delivery.before-send")
        answer = await self._outgoing.post(url, headers, claim.body)
        fault("delivery.after-send")
        self._ended.append(Ended(claim, answer, clock.now()))
        self._wake()

    def _set_alarm(self, due: datetime | None) -> None:
        """A retry comes due between two ticks, too."""
        if self._alarm:
            self._alarm.cancel()
            self._alarm = None
        if due:
            seconds = max((due - clock.now()).total_seconds(), 0)
            self._alarm = asyncio.get_running_loop().call_later(seconds, self._wake)
