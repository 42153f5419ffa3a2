"""Whose secret a request carries: looked up, then known for a moment, so that a busy caller costs no look-ups.

A revocation is answered when that moment has passed since its commit: no request that begins after it is let in.
"""

import time
from datetime import datetime

import msgspec

from rolecall.core.caller import Caller
from rolecall.core.db import Pool
from rolecall.core.errors import Unauthorized
from rolecall.tokens import actions, queries
from rolecall.tokens.model import Token, public_id, sha256

KNOWN_FOR_SECONDS = 0.5
_MOST = 10_000


class CachedToken(msgspec.Struct, frozen=True):
    token: Token
    caller: Caller
    until: float


class Keyring:
    def __init__(self) -> None:
        self._known: dict[bytes, CachedToken] = {}

    async def authenticate(self, pool: Pool, secret: str, now: datetime) -> Caller:
        """A token that is malformed, unknown, expired or revoked is refused alike."""
        digest = sha256(secret)
        known = self._known.get(digest)
        if known is None or time.monotonic() >= known.until:
            known = await self._look_up(pool, secret, now)
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[digest] = known
        if not known.token.is_usable(now):
            raise Unauthorized
        return known.caller

    async def _look_up(self, pool: Pool, secret: str, now: datetime) -> CachedToken:
        public = public_id(secret)
        if public is None:
            raise Unauthorized
        # The moment begins before the look-up: what is committed after may already be unseen.
        until = time.monotonic() + KNOWN_FOR_SECONDS
        async with pool.connection() as db:
            token = await queries.with_secret(db, public, secret)
            if token.is_usable(now):
                await actions.keep_last_use(db, token, now)
        return CachedToken(token, token.caller(), until)
