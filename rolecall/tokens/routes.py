from datetime import datetime
from typing import Any

from litestar import Router

from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db
from rolecall.core.ids import known_guid
from rolecall.core.paging import Page
from rolecall.tokens import actions, queries
from rolecall.tokens.keyring import KNOWN_FOR_SECONDS
from rolecall.tokens.shapes import NewToken, TokenBody, TokenItem
from rolecall.web.operations import operation


@operation("GET", "/", scope=Scope.TOKENS_MANAGE, query={})
async def list_tokens(db: Db, query: dict[str, Any]) -> Page[TokenItem]:
    """List tokens, newest first."""
    return await queries.newest_first(db, query["page"])


@operation("POST", "/", scope=Scope.TOKENS_MANAGE, status=201, body=TokenBody, secret=True)
async def create_token(db: Db, caller: Caller, raw: Json, facts: Facts) -> NewToken:
    """Create a token. The response contains its secret, which is never shown again."""
    return await actions.create_token(db, caller, raw, facts)


# Delay the response until no process can have the token in its cache any more.
@operation("DELETE", "/{id:str}", scope=Scope.TOKENS_MANAGE, status=204, delay_seconds=KNOWN_FOR_SECONDS, revokes=True)
async def revoke_token(db: Db, id: str, now: datetime) -> None:
    """Revoke a token, with effect on the next request."""
    await actions.revoke_token(db, known_guid("Token", id), now)


router = Router("/api/tokens", route_handlers=[list_tokens, create_token, revoke_token], tags=["Administration"])
