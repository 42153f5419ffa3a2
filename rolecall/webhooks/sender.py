"""Send deliveries. Each turn records finished attempts, claims due deliveries and starts sending them.

Attempts that finish while a turn commits are recorded together in the next turn: under load one transaction serves
many deliveries, and a single delivery is recorded at once.
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
from rolecall.core.alarm import Alarm
from rolecall.core.config import Config
from rolecall.core.db import Pool, transaction
from rolecall.core.faults import fault
from rolecall.webhooks import outbox
from rolecall.webhooks.model import IN_FLIGHT_A_WORKER, Claim
from rolecall.webhooks.outbox import DueHook, EndedAttempt
from rolecall.webhooks.outgoing import Outgoing
from rolecall.webhooks.signing import signed_headers

_SOON = timedelta(seconds=1)

log = structlog.get_logger("rolecall.webhooks")


class Sender:
    def __init__(self, pool: Pool, config: Config, wake: Callable[[], None]) -> None:
        """Create a sender; `wake` requests the next turn."""
        self._pool = pool
        self._wake = wake
        self._outgoing = Outgoing(config.webhook_allow)
        self._key = sealing.load_key(config)
        self._unseal = lru_cache(maxsize=1024)(sealing.unseal)
        self._unreadable: set[UUID] = set()
        self._in_flight: set[asyncio.Task[None]] = set()
        self._ended: list[EndedAttempt] = []
        self._alarm = Alarm(wake)
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._closing.enter_async_context(self._outgoing)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Drain: wait for attempts in flight and record their results, for at most one attempt's timeout."""
        await self.rest()
        self._alarm.set(None)
        await self._closing.aclose()

    async def rest(self) -> None:
        """Wait until nothing is in flight and every result is recorded."""
        while self._in_flight:
            await asyncio.wait(self._in_flight)
        ended = list(self._ended)
        async with self._pool.connection() as db, transaction(db, "deliveries-rest"):
            await outbox.record_results(db, ended, clock.now())
        del self._ended[: len(ended)]

    async def turn(self, _: Pool, __: Config, now: datetime) -> bool:
        # Request the next turn first, in case this one fails.
        self._alarm.set(now + _SOON)
        ended = list(self._ended)
        async with self._pool.connection() as db, db.pipeline(), transaction(db, "deliveries-turn"):
            await outbox.record_results(db, ended, now)
            hooks = self._sendable(await outbox.lock_due_hooks(db, now))
            claims = await outbox.claim(db, [hook for hook, _ in hooks.values()], self._free, now)
            # Run the next turn soon while work is due; otherwise sleep until the next delivery is due.
            next_turn = now + _SOON if hooks else await outbox.next_due(db, now)
        # Only after the commit: a failed transaction must record its results again and send nothing.
        del self._ended[: len(ended)]
        for claim in claims:
            self._send_soon(claim, *hooks[claim.webhook_id])
        self._alarm.set(next_turn)
        return False

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is in flight and every result is recorded."""
        return not self._in_flight and not self._ended

    @property
    def _free(self) -> int:
        return IN_FLIGHT_A_WORKER - len(self._in_flight)

    def _sendable(self, due: list[DueHook]) -> dict[UUID, tuple[DueHook, list[bytes]]]:
        """Decrypt the signing keys; skip hooks whose keys cannot be read, as no attempt could succeed."""
        hooks = {}
        for hook in due:
            sealed = [secret for secret in (hook.secret, hook.previous_secret) if secret]
            try:
                hooks[hook.id] = (hook, [self._unseal(self._key, secret, hook.id) for secret in sealed])
            except sealing.CannotUnseal as error:
                if hook.id not in self._unreadable:
                    log.error("the secret of a webhook cannot be decrypted", webhook_id=str(hook.id), reason=str(error))
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
        self._ended.append(EndedAttempt(claim, answer, clock.now()))
        self._wake()
