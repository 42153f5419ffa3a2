"""Read API tokens."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_one, fetch_rows, fetch_value
from rolecall.core.errors import NotFound, Unauthorized
from rolecall.core.ids import guid
from rolecall.core.paging import Page, fetch_small
from rolecall.tokens.model import Token, refused_scopes
from rolecall.tokens.shapes import TokenItem, TokenOwner

# Tokens `t`, each with its owner `o` and the owner's role `r`. A token created at the command line has no owner.
_WITH_OWNERS = """tokens t LEFT JOIN identities o ON o.id = t.owner_id
    LEFT JOIN console_roles r ON r.identity_id = t.owner_id"""
# The owner of what a caller creates: a token that was created with another token has the same owner.
OWNER_OF_CALLER = """CASE WHEN EXISTS (SELECT FROM tokens WHERE id = %(caller)s)
    THEN (SELECT owner_id FROM tokens WHERE id = %(caller)s) ELSE %(caller)s::uuid END"""
OWNER_LEFT = "(t.owner_id IS NOT NULL AND o.status IS DISTINCT FROM 'Active')"
_COLUMNS = f"""t.id, t.public_id, t.secret_sha256, t.name, t.scopes, t.created_at, t.expires_at, t.last_used_at,
    t.revoked_at, t.owner_id IS NOT NULL AS has_owner, {OWNER_LEFT} AS has_owner_left, r.role AS owner_role"""
_ITEM = f"""t.id, 'API Token', t.name, t.scopes, t.created_at, t.expires_at, t.last_used_at, t.revoked_at, t.scopes,
    t.owner_id, coalesce(o.first_name || ' ' || o.last_name, ''), {OWNER_LEFT}, r.role"""
_BY_PUBLIC_ID = f"SELECT {_COLUMNS} FROM {_WITH_OWNERS} WHERE t.public_id = %(public)s"


async def with_secret(db: Db, public: str, secret: str) -> Token:
    token = await fetch_one(db, Token, _BY_PUBLIC_ID, public=public)
    if token and token.accepts(secret):
        return token
    raise Unauthorized


async def get(db: Db, id: UUID) -> TokenItem:
    if rows := await fetch_rows(db, f"SELECT {_ITEM} FROM {_WITH_OWNERS} WHERE t.id = %(id)s", id=id):
        return _item(rows[0])
    raise NotFound("Token", id)


async def find(db: Db, name_or_id: str) -> TokenItem:
    """Return the token with this name, or otherwise with this id."""
    sql = f"""SELECT {_ITEM} FROM {_WITH_OWNERS} WHERE t.name = %(name)s OR t.id = %(id)s
              ORDER BY t.name = %(name)s DESC LIMIT 1"""
    if rows := await fetch_rows(db, sql, name=name_or_id, id=guid(name_or_id)):
        return _item(rows[0])
    raise NotFound("Token", name_or_id)


async def newest_first(db: Db, page: int) -> Page[TokenItem]:
    order = "t.created_at DESC, t.id DESC"
    return await fetch_small(db, _item, page, columns=_ITEM, rows=f"FROM {_WITH_OWNERS}", order=order)


async def with_refused_scopes(db: Db, now: datetime) -> list[TokenItem]:
    """Return the valid tokens with scopes that their owners may no longer use."""
    sql = f"""SELECT {_ITEM} FROM {_WITH_OWNERS}
              WHERE t.owner_id IS NOT NULL AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > %(now)s)
              ORDER BY t.name"""
    return [item for item in map(_item, await fetch_rows(db, sql, now=now)) if item.refused_scopes]


def _item(row: Sequence[Any]) -> TokenItem:
    *described, scopes, owner_id, owner_name, has_owner_left, role = row
    owner = TokenOwner(owner_id, owner_name) if owner_id else None
    refused = frozenset(scopes) if has_owner_left else refused_scopes(scopes, role) if owner else frozenset[str]()
    return TokenItem(*(*described, owner, [scope for scope in scopes if scope in refused]))


async def own_id(db: Db, caller: Caller) -> UUID:
    """Return the owner's id if the caller is a token with an owner, else the caller's own id."""
    return await owner_of(db, caller.id) or caller.id


async def owner_of(db: Db, id: UUID) -> UUID | None:
    """Return the id of the person who owns a token; None if it has no owner, or if the id belongs to no token."""
    owner: UUID | None = await fetch_value(db, "SELECT owner_id FROM tokens WHERE id = %(id)s", id=id)
    return owner
