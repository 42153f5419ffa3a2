"""Create, revoke and authorize API tokens."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from rolecall.core.authors import SIGN, Author, signature
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Invalid, NotFound, Unauthorized
from rolecall.core.ids import new_id
from rolecall.tokens import queries
from rolecall.tokens.model import Token, new_secret, public_id, refused_scopes, sha256
from rolecall.tokens.shapes import NewToken, TokenBody

_LAST_USE_PRECISION = timedelta(minutes=1)


async def create_token(db: Db, caller: Caller | None, raw: Json, facts: Facts) -> NewToken:
    """Create a token. Without a caller, an operator creates it at the command line and may grant any scope."""
    # A token without expiry needs an explicit null; an omitted field means the default.
    never = "expiresInDays" in raw and raw["expiresInDays"] is None
    body = check(TokenBody, raw, facts)
    for scope in body.scopes:
        # A token must not grant more than the caller may do.
        if caller:
            caller.require(scope)
    secret = new_secret()
    id = new_id()
    made = await execute(
        db,
        f"""INSERT INTO tokens (id, public_id, secret_sha256, name, scopes, created_at, expires_at, owner_id)
            VALUES (%(id)s, %(public_id)s, %(sha256)s, %(name)s, %(scopes)s, %(now)s, %(expires_at)s,
                    {queries.OWNER_OF_CALLER})
            ON CONFLICT (name) DO NOTHING""",
        id=id,
        public_id=public_id(secret),
        sha256=sha256(secret),
        name=body.name,
        scopes=[str(scope) for scope in body.scopes],
        now=facts.now,
        caller=caller.id if caller else None,
        expires_at=None if never else facts.now + timedelta(days=body.expires_in_days or 0),
    )
    if not made:
        raise Invalid.on("name", f"A token named {body.name} already exists; choose another name")
    token = await queries.get(db, id)
    return NewToken(**msgspec.structs.asdict(token), secret=secret)


async def revoke_token(db: Db, id: UUID, now: datetime) -> None:
    """Revoke a token at once: writes that have begun with it commit first, later ones are refused.

    Revoking it again keeps the time of the first revocation.
    """
    # FOR UPDATE waits for the KEY SHARE lock of `sign_as_token`; an UPDATE of a non-key column would not.
    if not await fetch_value(db, "SELECT true FROM tokens WHERE id = %(id)s FOR UPDATE", id=id):
        raise NotFound("Token", id)
    await execute(db, "UPDATE tokens SET revoked_at = coalesce(revoked_at, %(now)s) WHERE id = %(id)s", id=id, now=now)


async def sign_as_token(db: Db, caller: Caller, author: Author) -> Caller:
    """Authorize the token inside the writing transaction, and lock it and its owner's role until the commit.

    Return the caller with the scopes that the token has now and its owner may use. KEY SHARE does not block updates of
    `last_used_at`. The departure of the owner waits for the lock on the token (`end_sign_ins` in schema/console.sql).
    """
    rows = await fetch_rows(
        db,
        f"""SELECT t.scopes, t.owner_id, r.role, {SIGN} FROM tokens t
            LEFT JOIN LATERAL (SELECT c.role FROM console_roles c WHERE c.identity_id = t.owner_id
                               FOR KEY SHARE) r ON true
            WHERE t.id = %(id)s AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > %(now)s)
            FOR KEY SHARE OF t""",
        id=caller.id,
        now=author.created_date,
        author=signature(author),
    )
    if not rows:
        raise Unauthorized
    scopes, owner, role, _ = rows[0]
    # Read the status in a second statement: the statement above would see it as it was before the wait for the lock.
    if owner and not await fetch_value(
        db, "SELECT true FROM identities WHERE id = %(id)s AND status = 'Active'", id=owner
    ):
        raise Unauthorized
    refused = refused_scopes(scopes, role) if owner else frozenset[str]()
    return msgspec.structs.replace(caller, scopes=frozenset(scopes) - refused, refused_scopes=refused)


async def keep_last_use(db: Db, token: Token, now: datetime) -> None:
    """Record the last use to the minute, so that a busy token is not updated by every request."""
    if token.last_used_at is None or now - token.last_used_at > _LAST_USE_PRECISION:
        await execute(db, "UPDATE tokens SET last_used_at = %(now)s WHERE id = %(id)s", id=token.id, now=now)
