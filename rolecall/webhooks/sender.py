"""Send deliveries. Each turn records finished attempts, claims due deliveries and starts sending them."""

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
from rolecall.core.in_flight import InFlight
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
        self._outgoing = Outgoing(config.webhook_allow)
        self._key = sealing.load_key(config)
        self._unseal = lru_cache(maxsize=1024)(sealing.unseal)
        self._unreadable: set[UUID] = set()
        self._flight = InFlight[EndedAttempt](wake)
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._closing.enter_async_context(self._outgoing)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Drain: wait for attempts in flight, at most for the timeout of one attempt, and record their results."""
        await self.rest()
        self._flight.close()
        await self._closing.aclose()

    async def rest(self) -> None:
        """Wait until nothing is in flight, then record the results."""
        await self._flight.finish()
        ended = self._flight.ended()
        async with self._pool.connection() as db, transaction(db, "deliveries-rest"):
            await outbox.record_results(db, ended, clock.now())
        self._flight.drop(ended)

    async def turn(self, _: Pool, __: Config, now: datetime) -> bool:
        # Request the next turn first, in case this one fails.
        self._flight.set_alarm(now + _SOON)
        ended = self._flight.ended()
        async with self._pool.connection() as db, db.pipeline(), transaction(db, "deliveries-turn"):
            await outbox.record_results(db, ended, now)
            hooks = self._sendable(await outbox.lock_due_hooks(db, now))
            claims = await outbox.claim(db, [hook for hook, _ in hooks.values()], self._free, now)
            # Run the next turn soon while work is due; otherwise sleep until the next delivery is due.
            next_turn = now + _SOON if hooks else await outbox.next_due(db, now)
        # Send only after the commit: if the transaction fails, the next turn records the results and claims again.
        self._flight.drop(ended)
        for claim in claims:
            hook, keys = hooks[claim.webhook_id]
            self._flight.start(self._send(claim, hook.url, keys))
        self._flight.set_alarm(next_turn)
        # Do not return True, which would start the next turn at once: the alarm starts a turn when one is needed.
        return False

    @property
    def is_idle(self) -> bool:
        return self._flight.is_idle

    @property
    def _free(self) -> int:
        return IN_FLIGHT_A_WORKER - len(self._flight)

    def _sendable(self, due: list[DueHook]) -> dict[UUID, tuple[DueHook, list[bytes]]]:
        """Return the hooks with their decrypted signing keys; skip hooks whose secret cannot be decrypted.

        If only the previous secret cannot be decrypted, deliveries are signed with the new one alone.
        """
        hooks = {}
        for hook in due:
            if key := self._unsealed(hook.id, hook.secret):
                previous = self._unsealed(hook.id, hook.previous_secret) if hook.previous_secret else None
                hooks[hook.id] = (hook, [key, previous] if previous else [key])
        return hooks

    def _unsealed(self, hook_id: UUID, sealed: bytes) -> bytes | None:
        try:
            return self._unseal(self._key, sealed, hook_id)
        except sealing.CannotUnseal as error:
            # Log each hook once, not in every turn.
            if hook_id not in self._unreadable:
                log.error("the secret of a webhook cannot be decrypted", webhook_id=str(hook_id), reason=str(error))
            self._unreadable.add(hook_id)
            return None

    async def _send(self, claim: Claim, url: str, keys: list[bytes]) -> EndedAttempt:
        headers = signed_headers(claim.id, clock.now(), claim.body, keys)
        fault("delivery.before-send")
        answer = await self._outgoing.post(url, headers, claim.body)
        fault("delivery.after-send")
        return EndedAttempt(claim, answer, clock.now())
