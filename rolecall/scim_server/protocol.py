"""Serve requests of identity providers (RFC 7644): authenticate, find the resource, run one transaction, respond.

Errors are raised as in the rest of the service; `errors.py` converts those of `/scim/v2` to SCIM errors.
"""

import base64
import re
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from litestar.types import Receive, Scope, Send
from psycopg.errors import QueryCanceled

from rolecall.core import clock
from rolecall.core.authors import AuthorKind, by
from rolecall.core.config import Config
from rolecall.core.db import execute, transaction
from rolecall.core.errors import Invalid, Unauthorized
from rolecall.core.ids import guid
from rolecall.scim_server import actions, queries
from rolecall.scim_server.actions import PushTarget, is_among
from rolecall.scim_server.discovery import DISCOVERY, MOST_RESULTS, ROOT, discover, root_of
from rolecall.scim_server.filter_sql import uses_index
from rolecall.scim_server.filters import Filter, invalid_filter, parse_filter
from rolecall.scim_server.model import (
    MEDIA_TYPE,
    MESSAGES,
    PushToken,
    Resource,
    ResourceKind,
    ScimError,
    ScimErrorType,
    StoredResource,
)
from rolecall.scim_server.projection import EVERYTHING, Projection, read_projection
from rolecall.scim_server.queries import ResourceList, ResourcePage
from rolecall.scim_server.schema import ENDPOINTS, ResourceType
from rolecall.web import limits
from rolecall.web.bodies import AnyRequest, read_json
from rolecall.web.correlation import correlation_id
from rolecall.web.edge import header
from rolecall.web.services import Services

_MEDIA_TYPES = (MEDIA_TYPE, "application/json")
_PAGE = 100
_SEARCH = ".search"
# The time limit of a search: a filter that cannot use an index reads every resource.
_MOST_SECONDS = 10
_MOST_SEARCHES, _MOST_OF_A_TOKEN = 4, 2
# The writes that may run or wait in a process, and those of an application.
_MOST_WRITES, _MOST_OF_AN_APPLICATION = 1000, 100
# A group of 200,000 members has 400,000 values, or more with display names.
_MOST_BODY_VALUES = 1_000_000
_ENCODE = msgspec.json.Encoder().encode
_ALLOWED = {True: "GET, PUT, PATCH, DELETE", False: "GET, POST"}


class ScimAnswer:
    """A response with encoded JSON, or with an empty body."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.status, self.body, self.headers = status, body, headers or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        described = {"content-type": MEDIA_TYPE, "content-length": str(len(self.body))} if self.body else {}
        headers = [(name.encode(), value.encode()) for name, value in {**described, **self.headers}.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


class ScimRequest(msgspec.Struct, frozen=True):
    """A request of an authenticated identity provider, with its endpoint and resource id."""

    request: AnyRequest
    services: Services
    token: PushToken
    place: str
    id: str

    @property
    def config(self) -> Config:
        return self.services.config

    def header(self, name: bytes) -> str:
        return header(self.request.scope, name).decode("latin-1")


async def serve(request: AnyRequest) -> ScimAnswer:
    services: Services = request.app.state.services
    now = clock.now()
    try:
        token = await _authenticate(request, services, now)
    except Unauthorized:
        services.failures.count(request.client and request.client.host, limits.FAILED_AUTHENTICATIONS, now)
        raise
    services.requests.count((token.id, "scim"), services.config.scim_rate_limit, now)
    place, _, id = request.scope["path"].removeprefix(ROOT).strip("/").partition("/")
    asked = ScimRequest(request, services, token, place, id)
    if place in DISCOVERY:
        return _discovery(asked)
    if place == _SEARCH and not id:
        return await _search(asked)
    kind = ENDPOINTS.get(place)
    if kind is None or "/" in id:
        raise _not_served(place)
    return await _serve_resources(asked, kind)


def _not_served(place: str) -> ScimError:
    if place in ("Me", "Bulk"):
        # RFC 7644 defines these endpoints, so 501 is more precise than 404.
        return ScimError(f"/{place} is not supported", status=501)
    return ScimError("There is nothing at this address", status=404)


async def _authenticate(request: AnyRequest, services: Services, now: datetime) -> PushToken:
    scheme, _, secret = header(request.scope, b"authorization").partition(b" ")
    if scheme.lower() != b"bearer":
        raise Unauthorized
    async with services.pool.connection() as db:
        token = await queries.token_with_secret(db, secret.strip().decode("latin-1"))
        if token.revoked_at or (token.expires_at and token.expires_at <= now):
            raise Unauthorized
        await actions.keep_last_use(db, token, now)
    return token


def _discovery(asked: ScimRequest) -> ScimAnswer:
    if asked.request.method != "GET":
        raise _not_allowed("GET")
    if "filter" in asked.request.query_params:
        # RFC 7644, section 4, recommends 403, so that no client mistakes the whole list for a filtered one.
        raise ScimError(f"/{asked.place} cannot be filtered", status=403)
    found, one = discover(asked.place, asked.id, asked.config)
    if found is None:
        return ScimAnswer(200, _ENCODE(one))
    return ScimAnswer(200, _list_response(len(found), map(_ENCODE, found), {"startIndex": 1}))


def _not_allowed(methods: str) -> ScimError:
    return ScimError(f"Method not allowed; use {methods}", status=405)


async def _serve_resources(asked: ScimRequest, kind: ResourceType) -> ScimAnswer:
    match asked.request.method, asked.id:
        case "GET", "":
            return await _list(asked, kind, dict(asked.request.query_params))
        case "POST", "":
            return await _write(asked, kind, None)
        case "POST", ".search":
            return await _list(asked, kind, await _search_body(asked))
        case _, "" | ".search":
            raise _not_allowed(_ALLOWED[False])
        case "GET", _:
            return await _get(asked, kind)
        case "PUT" | "PATCH" | "DELETE", id:
            found = guid(id)
            if found is None:
                raise ScimError(f"{kind.kind} {id[:100]} does not exist", status=404)
            return await _write(asked, kind, found)
    raise _not_allowed(_ALLOWED[True])


async def _search_body(asked: ScimRequest) -> Resource:
    """Read the body of a search, then authenticate again, because the body may have taken minutes to arrive."""
    body = await _body(asked)
    await _authenticate(asked.request, asked.services, clock.now())
    return body


async def _body(asked: ScimRequest) -> Resource:
    try:
        carried = await read_json(
            asked.request, asked.config.scim_max_body_bytes, _MEDIA_TYPES, most_values=_MOST_BODY_VALUES
        )
    except Invalid as error:
        raise ScimError(error.problems[0].message, ScimErrorType.INVALID_SYNTAX) from None
    body: Resource = carried.raw
    return body


def _projection(asked: ScimRequest, kind: ResourceType) -> Projection:
    given = asked.request.query_params
    if not given:
        return EVERYTHING
    return read_projection(given.get("attributes"), given.get("excludedAttributes"), kind)


async def _get(asked: ScimRequest, kind: ResourceType) -> ScimAnswer:
    projection = _projection(asked, kind)
    async with asked.services.pool.connection() as db:
        found = await queries.find_resource(
            db,
            asked.token.application_id,
            kind,
            guid(asked.id),
            asked.config,
            with_members=projection.has_members,
        )
    if found is None:
        raise ScimError(f"{kind.kind} {asked.id[:100]} does not exist", status=404)
    known = asked.header(b"if-none-match")
    if known and is_among(found.etag, known):
        return ScimAnswer(304, headers={"etag": found.etag})
    return _answer(200, found, kind, asked.config, projection)


async def _write(asked: ScimRequest, kind: ResourceType, id: UUID | None) -> ScimAnswer:
    method, if_match = asked.request.method, asked.header(b"if-match")
    # Read the body before taking a connection, so that a slow client does not exhaust the pool.
    raw = await _body(asked) if method != "DELETE" else {}
    projection = _projection(asked, kind)
    turn = asked.services.pushes.turn(_MOST_WRITES, "writes", asked.token.application_id, _MOST_OF_AN_APPLICATION)
    async with turn, asked.services.pool.connection() as db, transaction(db, "scim"):
        # Do not use the start time of the request: the token may have expired while the body arrived.
        now = clock.now()
        author = by(AuthorKind.TOKEN, asked.token.caller(), f"push_{kind.kind.lower()}", now, correlation_id.get())
        await actions.sign_as_push(db, asked.token, author)
        target = PushTarget(asked.token.application_id, kind, now, asked.config)
        if id is None:
            return _answer(201, await actions.create_resource(db, target, raw), kind, asked.config, projection)
        if method == "PUT":
            found = await actions.replace_resource(db, target, id, raw, if_match)
            return _answer(200, found, kind, asked.config, projection)
        if method == "PATCH":
            found = await actions.patch_resource(db, target, id, raw, if_match)
            # Do not return a changed group, because it may have thousands of members.
            if kind.kind is ResourceKind.GROUP:
                return ScimAnswer(204, headers={"etag": found.etag})
            return _answer(200, found, kind, asked.config, projection)
        await actions.delete_resource(db, target, id, if_match)
        return ScimAnswer(204)


def _answer(
    status: int, found: StoredResource, kind: ResourceType, config: Config, projection: Projection
) -> ScimAnswer:
    place = {"location": _location(found, kind, config)} if status == 201 else {}
    return ScimAnswer(status, _rendered(found, kind, config, projection), {"etag": found.etag, **place})


def _location(found: StoredResource, kind: ResourceType, config: Config) -> str:
    return f"{root_of(config)}/{kind.endpoint}/{found.id}"


def _rendered(found: StoredResource, kind: ResourceType, config: Config, projection: Projection) -> bytes:
    meta = {
        "resourceType": kind.kind,
        "created": found.created_at,
        "lastModified": found.changed_at,
        "location": _location(found, kind, config),
        "version": found.etag,
    }
    more: dict[str, Any] = {"id": found.id, "meta": meta}
    if found.members is not None:
        more["members"] = msgspec.Raw(found.members.encode())
    encoded = _ENCODE(more)
    # Join the two JSON objects as text, without decoding the stored one. Neither is empty.
    whole = encoded[:-1] + b"," + found.resource.encode().lstrip()[1:]
    return whole if projection.is_everything else _ENCODE(projection.of(msgspec.json.decode(whole)))


class ListPlace(msgspec.Struct, frozen=True):
    """The requested part of a list: from the index `start` or, with a cursor (RFC 9865), after the resource `after`."""

    count: int
    start: int
    after: int | None


def _place(given: dict[str, Any]) -> ListPlace:
    # RFC 7644, section 3.4.2.4: a negative count means 0, and a start below 1 means 1.
    count = min(max(_number(given, "count", _PAGE), 0), MOST_RESULTS)
    start = max(_number(given, "startIndex", 1), 1)
    return ListPlace(count, start, _after(given["cursor"]) if "cursor" in given else None)


async def _list(asked: ScimRequest, kind: ResourceType, given: dict[str, Any]) -> ScimAnswer:
    place = _place(given)
    if place.after is None:
        total, shown = await _page(asked, kind, given, place)
        return ScimAnswer(200, _list_response(total, shown, {"startIndex": place.start}))
    projection, wanted = _wanted(asked, kind, given, place)
    # Read one more than requested, to know whether more follow.
    page = await _find(asked, msgspec.structs.replace(wanted, limit=place.count + bool(place.count)))
    found = page.resources[: place.count]
    has_more = page.is_cut or len(page.resources) > len(found)
    more = {"nextCursor": _cursor(found[-1].number)} if found and has_more else {}
    shown = [_rendered(each, kind, asked.config, projection) for each in found]
    return ScimAnswer(200, _list_response(page.total, shown, dict(more)))


async def _search(asked: ScimRequest) -> ScimAnswer:
    """Search users and groups; return users first."""
    if asked.request.method != "POST":
        raise _not_allowed("POST")
    given = await _search_body(asked)
    # Ignore a cursor: it is a position in the list of one type, and a search joins the lists of both types.
    place = _place({name: value for name, value in given.items() if name != "cursor"})
    first, total, shown = place.start, 0, list[bytes]()
    for kind in ENDPOINTS.values():
        # A page that ends early, because its users are large, has no groups.
        has_room = first + len(shown) > total
        part = ListPlace(place.count - len(shown) if has_room else 0, max(first - total, 1), None)
        count, found = await _page(asked, kind, given, part)
        total, shown = total + count, shown + found
    return ScimAnswer(200, _list_response(total, shown, {"startIndex": first}))


async def _page(
    asked: ScimRequest, kind: ResourceType, given: dict[str, Any], place: ListPlace
) -> tuple[int, list[bytes]]:
    projection, wanted = _wanted(asked, kind, given, place)
    page = await _find(asked, wanted)
    return page.total, [_rendered(each, kind, asked.config, projection) for each in page.resources]


def _wanted(
    asked: ScimRequest, kind: ResourceType, given: dict[str, Any], place: ListPlace
) -> tuple[Projection, ResourceList]:
    projection = read_projection(given.get("attributes"), given.get("excludedAttributes"), kind)
    return projection, ResourceList(
        asked.token.application_id,
        kind,
        _filter(given.get("filter")),
        limit=place.count,
        offset=place.start - 1 if place.after is None else 0,
        after=place.after,
        with_members=projection.has_members,
    )


def _filter(given: object) -> Filter | None:
    # Do not ignore a filter of another type: the client would mistake the whole list for a filtered one.
    if not isinstance(given, str | None):
        raise invalid_filter("The filter must be a string")
    return parse_filter(given) if given else None


def _place_for(asked: ScimRequest, wanted: ResourceList) -> AbstractContextManager[None]:
    """Limit how many searches without an index run at the same time, so that they do not take all connections."""
    if wanted.filter is None or uses_index(wanted.filter, wanted.kind):
        return nullcontext()
    return asked.services.searches.taken(_MOST_SEARCHES, "searches", asked.token.id, _MOST_OF_A_TOKEN)


async def _find(asked: ScimRequest, wanted: ResourceList) -> ResourcePage:
    try:
        with _place_for(asked, wanted):
            return await _found(asked, wanted)
    except QueryCanceled:
        raise ScimError("The filter takes too long; filter by a name or an id", ScimErrorType.TOO_MANY) from None


async def _found(asked: ScimRequest, wanted: ResourceList) -> ResourcePage:
    async with asked.services.pool.connection() as db, db.transaction():
        await execute(db, f"SET LOCAL statement_timeout = '{_MOST_SECONDS}s'")
        return await queries.list_resources(db, wanted, asked.config)


def _list_response(total: int, resources: Iterable[bytes], place: dict[str, object]) -> bytes:
    shown = list(resources)
    head = {"schemas": [f"{MESSAGES}ListResponse"], "totalResults": total, "itemsPerPage": len(shown), **place}
    return _ENCODE(head)[:-1] + b',"Resources":[' + b",".join(shown) + b"]}"


def _number(given: dict[str, Any], name: str, default: int) -> int:
    value = given.get(name)
    text = str(default if value is None else value).strip()
    if not _WHOLE_NUMBER.fullmatch(text):
        raise ScimError(f"{name} must be a whole number", ScimErrorType.INVALID_VALUE)
    return min(int(text), 2**31)


_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,100}")
# A number of 18 digits always fits into a bigint.
_NUMBER_OF_CURSOR = re.compile(rb"[0-9]{1,18}")


def _cursor(number: int) -> str:
    return base64.urlsafe_b64encode(str(number).encode()).decode()


def _after(cursor: object) -> int:
    """Decode a cursor to the number of the last resource of the previous page; an empty one means the first page."""
    if not cursor:
        return 0
    try:
        number = base64.urlsafe_b64decode(str(cursor)[:100].encode())
    except ValueError:
        number = b""
    if not _NUMBER_OF_CURSOR.fullmatch(number):
        raise ScimError("The cursor is not valid; begin with an empty one", ScimErrorType.INVALID_CURSOR)
    return int(number)
