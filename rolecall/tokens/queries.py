"""Read API tokens."""

from uuid import UUID

from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_one, fetch_value
from rolecall.core.errors import NotFound, Unauthorized
from rolecall.core.ids import guid
from rolecall.core.paging import Page, fetch_small
from rolecall.tokens.model import Token
from rolecall.tokens.shapes import TokenItem

# SQL: whether the person behind a token is no longer active. A token that was created at the command line has no owner.
OWNER_LEFT = "EXISTS (SELECT FROM identities i WHERE i.id = tokens.owner_id AND i.status <> 'Active')"
_COLUMNS = f"""id, public_id, secret_sha256, name, scopes, created_at, expires_at, last_used_at, revoked_at,
    {OWNER_LEFT} AS has_owner_left"""
_ITEM = "id, 'API Token' AS kind, name, scopes, created_at, expires_at, last_used_at, revoked_at"


async def with_secret(db: Db, public: str, secret: str) -> Token:
    token = await fetch_one(db, Token, f"SELECT {_COLUMNS} FROM tokens WHERE public_id = %(public)s", public=public)
    if token and token.accepts(secret):
        return token
    raise Unauthorized


async def get(db: Db, id: UUID) -> TokenItem:
    if token := await fetch_one(db, TokenItem, f"SELECT {_ITEM} FROM tokens WHERE id = %(id)s", id=id):
        return token
    raise NotFound("Token", id)


async def find(db: Db, name_or_id: str) -> TokenItem:
    """Find a token by name, or else by id."""
    sql = f"SELECT {_ITEM} FROM tokens WHERE name = %(name)s OR id = %(id)s ORDER BY name = %(name)s DESC LIMIT 1"
    if token := await fetch_one(db, TokenItem, sql, name=name_or_id, id=guid(name_or_id)):
        return token
    raise NotFound("Token", name_or_id)


async def newest_first(db: Db, page: int) -> Page[TokenItem]:
    order = "created_at DESC, id DESC"
    return await fetch_small(db, lambda row: TokenItem(*row), page, columns=_ITEM, rows="FROM tokens", order=order)


async def own_id(db: Db, caller: Caller) -> UUID:
    """Return the person behind a caller: a token acts for the person who created it."""
    owner = await fetch_value(db, "SELECT owner_id FROM tokens WHERE id = %(id)s", id=caller.id)
    return owner or caller.id
