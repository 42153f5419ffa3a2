from datetime import datetime
from uuid import UUID

from rolecall.accounts import matching
from rolecall.accounts.model import Match
from rolecall.accounts.shapes import PinBody
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute
from rolecall.core.errors import NotFound
from rolecall.identities.queries import with_mentioned_identities


async def pin_account(db: Db, id: UUID, raw: Json, facts: Facts) -> None:
    """Pin an account to an identity, or pin it as never matched; imports do not change a pin."""
    body = check(PinBody, raw, await with_mentioned_identities(db, facts, raw))
    pin = Match.NEVER if body.never else Match.PINNED
    # Without this lock, a running matching that has already read the account could overwrite the pin.
    await matching.take_turn(db)
    # Fires count_matching, keep_past and note_pin (schema/accounts.sql), note_to_evaluate (schema/duties.sql) and
    # recheck_requests (schema/access_requests.sql).
    pinned = await execute(
        db,
        """UPDATE accounts SET pin = %(pin)s, match = %(pin)s, identity_id = %(identity)s, matched_on = %(now)s
           WHERE id = %(id)s""",
        id=id,
        pin=pin,
        identity=body.identity_id,
        now=facts.now,
    )
    if not pinned:
        raise NotFound("Account", id)


async def unpin_account(db: Db, id: UUID, now: datetime) -> None:
    await matching.take_turn(db)
    # Fires count_matching, keep_past and note_pin (schema/accounts.sql), note_to_evaluate (schema/duties.sql) and
    # recheck_requests (schema/access_requests.sql).
    if not await execute(db, "UPDATE accounts SET pin = NULL WHERE id = %(id)s", id=id):
        raise NotFound("Account", id)
    await matching.match_one(db, id, now)
