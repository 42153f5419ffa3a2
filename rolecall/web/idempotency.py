"""Handle idempotency keys.

For 24 hours, the same request with the same key returns the first successful response. Another request with the key is
a conflict. Responses that contain a secret are not stored: repeating such a request is a conflict too.
"""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from rolecall.core.db import Db, execute, fetch_one
from rolecall.core.errors import Conflict, Invalid

KEPT_FOR = timedelta(hours=24)
LONGEST_KEY = 255


class Key(msgspec.Struct, frozen=True):
    """The idempotency key of a caller, and the digest of the request."""

    token_id: UUID
    key: str
    digest: bytes
    now: datetime


class KeptAnswer(msgspec.Struct, frozen=True):
    digest: bytes
    status: int
    answer: bytes | None


def checked(key: str) -> str:
    if not key.isascii() or not key.isprintable() or not 1 <= len(key) <= LONGEST_KEY:
        raise Invalid.on("Idempotency-Key", f"Idempotency key must be 1 to {LONGEST_KEY} printable ASCII characters")
    return key


async def kept_answer(db: Db, key: Key) -> tuple[int, bytes] | None:
    """Return the stored response of the key; if the key is free, claim it for this transaction and return None.

    Raise Conflict if the key was used with another request, or if the response was not stored. A second request with
    the same key waits here until the first commits or rolls back.
    """
    # An expired key can be claimed again, even if its row is not deleted yet.
    claimed = await execute(
        db,
        """INSERT INTO idempotency_keys AS k (token_id, key, digest, created_at)
           VALUES (%(token_id)s, %(key)s, %(digest)s, %(now)s)
           ON CONFLICT (token_id, key) DO UPDATE
           SET digest = EXCLUDED.digest, created_at = EXCLUDED.created_at, status = NULL, answer = NULL
           WHERE k.created_at <= %(oldest)s""",
        oldest=key.now - KEPT_FOR,
        **msgspec.structs.asdict(key),
    )
    if claimed:
        return None
    kept = await fetch_one(
        db,
        KeptAnswer,
        "SELECT digest, status, answer FROM idempotency_keys WHERE token_id = %(token_id)s AND key = %(key)s",
        token_id=key.token_id,
        key=key.key,
    )
    if kept is None or kept.digest != key.digest:
        raise Conflict("This idempotency key was used with another request; use a new key")
    # An empty response is stored as empty bytes, so NULL always means that the response contained a secret.
    if kept.answer is None:
        raise Conflict(
            "This idempotency key was already used, and the response contained a secret, which is shown only once;"
            " use a new key to get another secret"
        )
    return kept.status, kept.answer


async def keep_answer(db: Db, key: Key, status: int, answer: bytes | None) -> None:
    await execute(
        db,
        "UPDATE idempotency_keys SET status = %(status)s, answer = %(answer)s"
        " WHERE token_id = %(token_id)s AND key = %(key)s",
        token_id=key.token_id,
        key=key.key,
        status=status,
        answer=answer,
    )


async def delete_old_answers(db: Db, now: datetime) -> int:
    return await execute(db, "DELETE FROM idempotency_keys WHERE created_at <= %(oldest)s", oldest=now - KEPT_FOR)
