"""Authenticate API tokens, with a short-lived cache that saves a query per request.

The response to a revocation is delayed until every process's cache has expired. Requests with the token that start
after this response are therefore refused.
"""

import time
from datetime import datetime

import msgspec

from rolecall.core.caller import Caller
from rolecall.core.db import Pool
from rolecall.core.errors import Unauthorized
from rolecall.tokens import actions, queries
from rolecall.tokens.model import OWNER_LEFT, Token, public_id, sha256

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
        """Return the caller; reject malformed, unknown, expired and revoked tokens with the same error.

        If the owner of the token has left, the error says so.
        """
        digest = sha256(secret)
        known = self._known.get(digest)
        if known is None or time.monotonic() >= known.until:
            known = await self._look_up(pool, secret, now)
            if len(self._known) >= _MOST:
                # Bound the memory. Looking up a cleared token takes one query.
                self._known.clear()
            self._known[digest] = known
        # Check again, because a cached token may have expired since it was looked up.
        if not known.token.is_usable(now):
            raise Unauthorized
        if known.token.has_owner_left:
            raise Unauthorized(OWNER_LEFT)
        return known.caller

    async def _look_up(self, pool: Pool, secret: str, now: datetime) -> CachedToken:
        public = public_id(secret)
        if public is None:
            raise Unauthorized
        # Read the clock before the query, because the query may miss a revocation that commits meanwhile.
        until = time.monotonic() + KNOWN_FOR_SECONDS
        async with pool.connection() as db:
            token = await queries.with_secret(db, public, secret)
            if token.is_usable(now):
                await actions.keep_last_use(db, token, now)
        return CachedToken(token, token.caller(), until)
