"""Serve API operations. A write authenticates, reads the body, runs one transaction and responds after the commit.

A read runs without a transaction; if there is a replica and it is current, the read is tried there first.

The parameters of a function decorated with `operation` are named after attributes of `Call`, such as `db`, `caller`,
`raw` (the body), `query` (page and filters) and `id` (from the path). A read that joins concurrent queries in a batch
(`core/batching.py`), and a POST that responds with a file, take `pool` instead of `db`.
"""

import asyncio
import hashlib
import inspect
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from litestar.types import ASGIApp, Receive, Send
from litestar.types import Scope as ASGIScope
from psycopg import InterfaceError, OperationalError
from psycopg.errors import ReadOnlySqlTransaction
from psycopg_pool import PoolTimeout
from pydantic import BaseModel

from rolecall.core import clock
from rolecall.core.authors import Author, AuthorKind, by, sign, wait_to_revoke
from rolecall.core.caller import NOBODY, Caller, Scope
from rolecall.core.checking import Addresses, Facts
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, transaction
from rolecall.core.errors import Unauthorized
from rolecall.core.exporting import Plan
from rolecall.core.formats.formats import Format
from rolecall.core.ids import new_id
from rolecall.core.paging import Page, PastPage
from rolecall.web import exporting, idempotency, limits
from rolecall.web.bodies import AnyRequest, Carried, Reader, read_json, read_optional_json, read_query
from rolecall.web.correlation import correlation_id
from rolecall.web.edge import header
from rolecall.web.exporting import format_asked
from rolecall.web.lists import LISTS, RECORD, ListSource, find_all, name_of, register
from rolecall.web.replica import Replica
from rolecall.web.services import Services

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
ReadBody = Callable[[AnyRequest, Config], Awaitable[Carried]]
Prepare = Callable[[AnyRequest, Config, Carried], Awaitable[Carried]]
_ENCODE = msgspec.json.Encoder().encode
_NOTHING = Carried(None, b"")
_JSON = (b"content-type", b"application/json")


async def plain_json(request: AnyRequest, config: Config) -> Carried:
    return await read_json(request, config.max_body_bytes)


async def _no_body(request: AnyRequest, config: Config) -> Carried:
    return _NOTHING


async def optional_json(request: AnyRequest, config: Config) -> Carried:
    return await read_optional_json(request, config.max_body_bytes)


class Operation(msgspec.Struct, frozen=True):
    """The declaration of an operation, for serving it and for the OpenAPI document."""

    method: Method
    scope: Scope | None
    status: int
    body: type[BaseModel] | None
    read_body: ReadBody
    prepare: Prepare | None
    query: dict[str, Reader] | None
    answer: Any
    secret: bool
    delay_seconds: float
    revokes: bool
    function: Callable[..., Awaitable[Any]]
    wants: frozenset[str]

    @property
    def is_list(self) -> bool:
        return get_origin(self.answer) in (Page, PastPage)


class Answer:
    """A response with encoded JSON, or with an empty body."""

    __slots__ = ("body", "status")

    def __init__(self, status: int, body: bytes) -> None:
        self.status, self.body = status, body

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        headers = [_JSON, (b"content-length", b"%d" % len(self.body))] if self.body else []
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


class Call(msgspec.Struct):
    """The values of one request; a parameter of an operation's function gets the value with its name."""

    request: AnyRequest
    config: Config
    now: datetime
    caller: Caller
    db: Db | None = None
    pool: Pool | None = None
    raw: Any = None
    # msgspec copies an empty dict for each instance, so these defaults are not shared.
    query: dict[str, Any] = {}
    id: str = ""
    addresses: Addresses = {}

    @property
    def facts(self) -> Facts:
        return Facts(now=self.now, zone=self.config.timezone, addresses=self.addresses)


def operation(
    method: Method,
    path: str,
    *,
    scope: Scope | None,
    status: int = 200,
    body: type[BaseModel] | None = None,
    read_body: ReadBody | None = None,
    prepare: Prepare | None = None,
    query: dict[str, Reader] | None = None,
    tags: tuple[str, ...] = (),
    secret: bool = False,
    delay_seconds: float = 0,
    revokes: bool = False,
) -> Callable[[Callable[..., Awaitable[Any]]], HTTPRouteHandler]:
    """Convert a function to a route. With `scope=None`, anyone may call it, and the caller is `NOBODY`.

    `prepare`: do slow work, such as calling another server, after the body was read and before the transaction begins.
    `read_body` must not write, because the caller is authorized again only after it.

    `secret`: do not store the response for an idempotency key. `delay_seconds`: wait this long after the commit, so
    that the caches of other processes have expired when the client gets the response. `revokes`: serialize with other
    operations that revoke authority, to avoid deadlocks.
    """

    def decorate(function: Callable[..., Awaitable[Any]]) -> HTTPRouteHandler:
        wants = frozenset(inspect.signature(function).parameters)
        answer = get_type_hints(function).get("return")
        # `pool` bypasses the transaction that authorizes a write: use it only in a GET, or a POST that returns a file.
        assert "pool" not in wants or ("db" not in wants and (method == "GET" or answer is ASGIResponse)), function
        reader = read_body or (plain_json if body else _no_body)
        spec = Operation(
            method, scope, status, body, reader, prepare, query, answer, secret, delay_seconds, revokes, function, wants
        )  # fmt: skip
        if spec.is_list and scope:
            _register(spec, scope)
        return _route(spec, path, tags)

    return decorate


def _register(spec: Operation, scope: Scope) -> None:
    """Register a list for exports, reports and the console."""
    (item,) = get_args(spec.answer)
    name = name_of(spec.function)
    register(
        ListSource(
            name=name, scope=scope, filters=spec.query or {}, item=item, function=spec.function, wants=spec.wants
        )
    )


def _route(spec: Operation, path: str, tags: tuple[str, ...]) -> HTTPRouteHandler:
    serve = _read if spec.method == "GET" else _answer_file if spec.answer is ASGIResponse else _write

    async def endpoint(request: AnyRequest) -> ASGIApp:
        services: Services = request.app.state.services
        now = clock.now()
        try:
            return await serve(spec, services, request, now)
        except Unauthorized:
            # Count only failures, so that failed attempts from an IP address do not block valid tokens from it.
            services.failures.count(request.client and request.client.host, limits.FAILED_AUTHENTICATIONS, now)
            raise

    async def served(scope: ASGIScope, receive: Receive, send: Send) -> None:
        answer = await endpoint(Request(scope, receive, send))
        await answer(scope, receive, send)

    endpoint.__name__ = spec.function.__name__
    # Litestar only finds the route; parameters and responses are handled here.
    instead = [lambda app: served]
    route = HTTPRouteHandler(
        path, http_method=spec.method, opt={"operation": spec}, status_code=200, tags=tags, middleware=instead
    )
    return route(endpoint)


async def _read(spec: Operation, services: Services, request: AnyRequest, now: datetime) -> ASGIApp:
    caller = await _admit(spec, services, request, now)
    format = format_asked(request) if spec.is_list else None
    query = read_query(request, spec.query) if spec.query is not None else {}
    if format:
        return await _export(spec, services, Call(request, services.config, now, caller, query=query), format)

    async def read(pool: Pool) -> Any:
        call = Call(request, services.config, now, caller, query=query, id=request.path_params.get("id", ""))
        if "pool" in spec.wants:
            call.pool = pool
            return await _perform(spec, call)
        # Use `getconn`: `pool.connection()` would also commit on exit, which is useless work in autocommit mode.
        call.db = await pool.getconn()
        try:
            return await _perform(spec, call)
        finally:
            await pool.putconn(call.db)

    replica = services.replica
    answer = await _read_from(replica, services.pool, read) if replica else await read(services.pool)
    return answer if isinstance(answer, ASGIResponse) else Answer(spec.status, _encoded(answer))


async def _export(spec: Operation, services: Services, call: Call, format: Format) -> ASGIApp:
    """Respond with the whole list as a file; scope and filters are those of its pages."""
    source, id = LISTS[name_of(spec.function)], call.request.path_params.get("id", "")
    given = {name: text for name, text in call.request.query_params.items() if name in source.filters}
    filters = {**({RECORD: id} if id else {}), **given}
    plan = Plan(id=new_id(), list=source.name, filters=filters, columns=source.columns, format=format)

    def find(db: Db) -> Awaitable[Page[Any]]:
        return find_all(source, db, call.query, id, call.caller, call.config, call.now)

    sign = sign_as(services, call.caller, source.scope, "export_list")
    return await exporting.begin(services, plan, call.caller.id, find, sign)


def sign_as(services: Services, caller: Caller, scope: Scope, action: str) -> exporting.Sign:
    """Return a function that authorizes the token again in the transaction that records an export."""

    async def sign(db: Db) -> Author:
        author = by(AuthorKind.TOKEN, caller, action, clock.now(), correlation_id.get())
        signed = await services.sign_as_token(db, caller, author)
        signed.require(scope)
        return author

    return sign


async def _answer_file(spec: Operation, services: Services, request: AnyRequest, now: datetime) -> ASGIApp:
    """Respond to a POST with a file.

    `spec.function` runs its own transactions, so that none stays open during the download.
    """
    caller = await _admit(spec, services, request, now)
    carried = await spec.read_body(request, services.config)
    caller = await _authorize_again(spec, services, caller)
    id = request.path_params.get("id", "")
    call = Call(request, services.config, now, caller, pool=services.pool, raw=carried.raw, id=id)
    answer: ASGIApp = await _perform(spec, call)
    return answer


async def _read_from(replica: Replica, primary: Pool, read: Callable[[Pool], Awaitable[Any]]) -> Any:
    if await replica.is_current():
        try:
            return await read(replica.pool)
        except ReadOnlySqlTransaction:
            pass  # some reads store their result, which only the primary can do
        except (OperationalError, InterfaceError, PoolTimeout) as fault:
            replica.rest(fault)
    return await read(primary)


async def _write(spec: Operation, services: Services, request: AnyRequest, now: datetime) -> ASGIApp:
    caller = await _admit(spec, services, request, now)
    # Read the body before taking a connection, so that a slow client does not exhaust the pool.
    carried = await spec.read_body(request, services.config)
    with carried.held:
        if spec.prepare:
            request.scope["user"] = await _authorize_again(spec, services, caller)
            carried = await spec.prepare(request, services.config, carried)
        async with services.pool.connection() as db, transaction(db, "request"):
            caller, now = await _sign(spec, services, db, caller)
            # Look up the key only now, so that a stored response goes only to a caller who is still authorized.
            key = _idempotency_key(request, caller, carried, now)
            if key and (kept := await idempotency.kept_answer(db, key)):
                return Answer(*kept)
            id = request.path_params.get("id", "")
            call = Call(request, services.config, now, caller, db, raw=carried.raw, id=id, addresses=carried.addresses)
            answer = _encoded(await _perform(spec, call))
            if key:
                # The key is stored in the transaction of the operation, so either both are committed or neither.
                await idempotency.keep_answer(db, key, spec.status, None if spec.secret else answer)
    if spec.delay_seconds:
        await asyncio.sleep(spec.delay_seconds)
    return Answer(spec.status, answer)


async def _authorize_again(spec: Operation, services: Services, caller: Caller) -> Caller:
    """Authorize the caller again after the body was read, before work outside of the transaction that writes."""
    async with services.pool.connection() as db, db.transaction():
        caller, _ = await _sign(spec, services, db, caller)
    return caller


async def _sign(spec: Operation, services: Services, db: Db, caller: Caller) -> tuple[Caller, datetime]:
    """Record the author in the transaction that writes; return the caller and the time.

    Authorize the caller again, because the body may have taken minutes to arrive.
    """
    # This order prevents deadlocks: the lock on revocations, then the one on the caller's own token.
    if spec.revokes:
        await wait_to_revoke(db)
    # The request may have arrived minutes ago, because the body and the lock above take time.
    now = clock.now()
    author = by(AuthorKind.TOKEN, caller, spec.function.__name__, now, correlation_id.get())
    if spec.scope is None:
        await sign(db, author)
        return caller, now
    caller = await services.sign_as_token(db, caller, author)
    caller.require(spec.scope)
    return caller, now


async def _admit(spec: Operation, services: Services, request: AnyRequest, now: datetime) -> Caller:
    if spec.scope is None:
        return NOBODY
    scheme, _, token = header(request.scope, b"authorization").partition(b" ")
    if scheme.lower() != b"bearer":
        raise Unauthorized
    # Every byte is a Latin-1 character, so a token with invalid bytes is answered with 401 like any other wrong token.
    caller = await services.authenticate(services.pool, token.strip().decode("latin-1"), now)
    caller.require(spec.scope)
    if rate := services.config.rate_limit:
        reads = spec.method == "GET"
        services.requests.count((caller.id, reads), rate.reads if reads else rate.writes, now)
    # Some `prepare` functions check rights; they get the caller from `request.user`.
    request.scope["user"] = caller
    return caller


def _idempotency_key(request: AnyRequest, caller: Caller, carried: Carried, now: datetime) -> idempotency.Key | None:
    """Return the key of the request, if any. Keys belong to a token, so operations without a caller ignore them."""
    text = request.headers.get("idempotency-key")
    if text is None or caller is NOBODY:
        return None
    asked = f"{request.method} {request.scope['path']}?".encode() + request.scope["query_string"] + b"\n"
    return idempotency.Key(caller.id, idempotency.checked(text), hashlib.sha256(asked + carried.digest).digest(), now)


async def _perform(spec: Operation, call: Call) -> Any:
    return await spec.function(**{name: getattr(call, name) for name in spec.wants})


def _encoded(answer: Any) -> bytes:
    return b"" if answer is None else _ENCODE(answer)
