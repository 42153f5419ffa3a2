from datetime import datetime
from typing import Any

from litestar import Request, Router
from litestar.enums import HttpMethod
from litestar.handlers import HTTPRouteHandler
from litestar.types import Receive, Send
from litestar.types import Scope as AsgiScope

from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.ids import known_guid
from rolecall.scim_server import actions, protocol, queries
from rolecall.scim_server.discovery import ROOT
from rolecall.scim_server.shapes import NewPushToken, PushDetail, PushTokenBody
from rolecall.web.operations import operation

_TAGS = ("Administration",)
_METHODS = [HttpMethod.GET, HttpMethod.POST, HttpMethod.PUT, HttpMethod.PATCH, HttpMethod.DELETE]


@operation("GET", "/{id:str}/scim", scope=Scope.CONFIG_MANAGE, tags=_TAGS)
async def get_push(db: Db, id: str, config: Config) -> PushDetail:
    """Get the state of the SCIM push into an application: its address, counts, next import and tokens."""
    return await queries.detail(db, known_guid("Application", id), config)


@operation(
    "POST", "/{id:str}/scim/tokens", scope=Scope.CONFIG_MANAGE, status=201, body=PushTokenBody, secret=True, tags=_TAGS
)
async def create_push_token(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> NewPushToken:
    """Create a token for an identity provider. The response contains its secret, which is never shown again.

    For an identity source, the scope `identities:write` is needed as well.
    """
    return await actions.create_push_token(db, caller, known_guid("Application", id), raw, facts)


@operation("DELETE", "/{id:str}", scope=Scope.CONFIG_MANAGE, status=204, revokes=True, tags=_TAGS)
async def revoke_push_token(db: Db, caller: Caller, id: str, now: datetime) -> None:
    """Revoke a SCIM token. The next request with it is rejected.

    For a token of an identity source, the scope `identities:write` is needed as well.
    """
    await actions.revoke_push_token(db, caller, known_guid("SCIM token", id), now)


async def _serve(scope: AsgiScope, receive: Receive, send: Send) -> None:
    answer = await protocol.serve(Request(scope, receive, send))
    await answer(scope, receive, send)


def _scim(path: str) -> HTTPRouteHandler:
    async def serve_scim(request: Request[Any, Any, Any]) -> None:
        """Serve the SCIM protocol; `protocol.py` finds the resource and authenticates the token."""

    # Litestar only routes the request; the middleware answers it, as in `web/operations.py`.
    instead = [lambda app: _serve]
    return HTTPRouteHandler(path, http_method=_METHODS, status_code=200, middleware=instead)(serve_scim)


applications = Router("/api/applications", route_handlers=[get_push, create_push_token])
tokens = Router("/api/scim-tokens", route_handlers=[revoke_push_token])
protocol_router = Router(ROOT, route_handlers=[_scim("/"), _scim("/{path:path}")], tags=["SCIM"])
