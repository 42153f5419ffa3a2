"""One way to serve an operation: who may, what came in, one transaction, the answer after its commit.

A function decorated with `operation` names what it needs among its parameters: `db`, `caller`, `now`, `facts`, `raw`
(the body), `query` (page and filters), `id` (from the path), `config`, `request`.
"""

import hashlib
import inspect
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Literal, get_type_hints

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from pydantic import BaseModel

from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Forbidden, Unauthorized
from rolecall.web import idempotency, limits
from rolecall.web.bodies import AnyRequest, Carried, Reader, read_json, read_query
from rolecall.web.services import Services

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
ReadBody = Callable[[AnyRequest, Config], Awaitable[Carried]]
_ENCODE = msgspec.json.Encoder().encode
_NOTHING = Carried(None, b"")


async def _json(request: AnyRequest, config: Config) -> Carried:
    return await read_json(request, config.max_body_bytes)


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an operation: how to serve it and how to document it."""

    method: Method
    scope: Scope
    status: int
    body: type[BaseModel] | None
    read_body: ReadBody
    query: dict[str, Reader] | None
    answer: Any
    function: Callable[..., Awaitable[Any]]
    wants: frozenset[str]


class Call(msgspec.Struct):
    """One request on its way through an operation."""

    request: AnyRequest
    config: Config
    now: datetime
    db: Db
    caller: Caller
    raw: Any = None
    query: dict[str, Any] = {}
    id: str = ""

    @property
    def facts(self) -> Facts:
        return Facts(now=self.now, zone=self.config.timezone)


def operation(
    method: Method,
    path: str,
    *,
    scope: Scope,
    status: int = 200,
    body: type[BaseModel] | None = None,
    read_body: ReadBody = _json,
    query: dict[str, Reader] | None = None,
    tags: tuple[str, ...] = (),
) -> Callable[[Callable[..., Awaitable[Any]]], HTTPRouteHandler]:
    def decorate(function: Callable[..., Awaitable[Any]]) -> HTTPRouteHandler:
        spec = Operation(
            method=method,
            scope=scope,
            status=status,
            body=body,
            read_body=read_body,
            query=query,
            answer=get_type_hints(function).get("return"),
            function=function,
            wants=frozenset(inspect.signature(function).parameters),
        )
        serve = _read if method == "GET" else _write

        async def endpoint(request: AnyRequest) -> ASGIResponse:
            return await serve(spec, request)

        endpoint.__name__ = function.__name__
        known = {"operation": spec}
        return HTTPRouteHandler(path, http_method=method, opt=known, status_code=200, tags=tags)(endpoint)

    return decorate


async def _read(spec: Operation, request: AnyRequest) -> ASGIResponse:
    services: Services = request.app.state.services
    now = clock.now()
    async with services.pool.connection() as db:
        caller = await _admit(spec, services, db, request, now)
        query = read_query(request, spec.query) if spec.query is not None else {}
        call = Call(request, services.config, now, db, caller, query=query, id=request.path_params.get("id", ""))
        answer = await _perform(spec, call)
    return _respond(spec.status, answer)


async def _write(spec: Operation, request: AnyRequest) -> ASGIResponse:
    services: Services = request.app.state.services
    now = clock.now()
    async with services.pool.connection() as db:
        caller = await _admit(spec, services, db, request, now)
    # The body is read without a connection in hand: a slow sender must not keep others waiting.
    carried = await spec.read_body(request, services.config) if spec.body else _NOTHING
    key = request.headers.get("idempotency-key")
    if key is not None:
        idempotency.checked(key)
    async with services.pool.connection() as db, db.transaction():
        if key is not None and (kept := await idempotency.kept_answer(db, caller, key, _digest(request, carried), now)):
            return _respond(kept.status, kept.answer)
        call = Call(request, services.config, now, db, caller, carried.raw, id=request.path_params.get("id", ""))
        answer = await _perform(spec, call)
        if key is not None:
            await idempotency.keep_answer(db, caller, key, spec.status, answer)
    return _respond(spec.status, answer)


async def _admit(spec: Operation, services: Services, db: Db, request: AnyRequest, now: datetime) -> Caller:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    try:
        if scheme.lower() != "bearer":
            raise Unauthorized
        caller = await services.authenticate(db, token.strip(), now)
    except Unauthorized:
        address = request.client.host if request.client else ""
        services.failures.count(address, limits.FAILED_AUTHENTICATIONS, now)
        raise
    if spec.scope not in caller.scopes:
        raise Forbidden(spec.scope)
    if rate := services.config.rate_limit:
        reads = spec.method == "GET"
        services.requests.count((caller.id, reads), rate.reads if reads else rate.writes, now)
    return caller


async def _perform(spec: Operation, call: Call) -> bytes:
    answer = await spec.function(**{name: getattr(call, name) for name in spec.wants})
    return b"" if answer is None else _ENCODE(answer)


def _digest(request: AnyRequest, carried: Carried) -> bytes:
    asked = f"{request.method} {request.url.path}?{request.url.query}\n"
    return hashlib.sha256(asked.encode() + carried.digest).digest()


def _respond(status: int, answer: bytes) -> ASGIResponse:
    return ASGIResponse(body=answer, status_code=status, media_type="application/json")
