from datetime import datetime
from typing import Any

from litestar import Router

from rolecall.access_requests import actions, queries, requests_of_person
from rolecall.access_requests.shapes import (
    AccessRequestDetail,
    AccessRequestItem,
    AssignRequestBody,
    LeftoverItem,
    NewRequestBody,
    RequestConflicts,
    RespondBody,
    SnoozeBody,
    StalledItem,
    VerbBody,
)
from rolecall.core.batching import get_batched
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Body, Facts, Json
from rolecall.core.db import Db, Pool
from rolecall.core.paging import Page
from rolecall.settings.policy import RequestAction
from rolecall.web.bodies import a_guid, a_word_of
from rolecall.web.operations import operation, optional_json
from rolecall.work_items.model import WorkStatus
from rolecall.work_items.shapes import CommentBody

_SPECIFIED, _ADDED = ("Access governance",), ("Administration",)
_READ, _WRITE = Scope.ACCESS_REQUESTS_READ, Scope.ACCESS_REQUESTS_WRITE
_FILTERS = {
    "identityId": a_guid,
    "applicationId": a_guid,
    "status": a_word_of(WorkStatus),
    "type": a_word_of(RequestAction),
}


@operation("GET", "/", scope=_READ, query=_FILTERS, tags=_SPECIFIED)
async def list_access_requests(db: Db, caller: Caller, query: dict[str, Any]) -> Page[AccessRequestItem]:
    """List access requests, newest first."""
    filters = {
        "identity_id": query.get("identityId"),
        "application_id": query.get("applicationId"),
        "status": query.get("status"),
        "action": query.get("type"),
    }
    if caller.is_limited:
        return await requests_of_person.concerning(db, query["page"], caller, **filters)
    return await queries.newest_first(db, query["page"], **filters)


@operation("GET", "/{id:str}", scope=_READ, tags=_SPECIFIED)
async def get_access_request(pool: Pool, id: str) -> AccessRequestDetail:
    """Get one access request."""
    return await get_batched(pool, "AccessRequest", queries.by_id, id)


@operation("GET", "/{id:str}/conflicts", scope=_READ, tags=_ADDED)
async def get_access_request_conflicts(db: Db, id: str) -> RequestConflicts:
    """List the conflicts of duties that an access request would create, as found at the last check."""
    request = await queries.get(db, id)
    return await queries.conflicts_of(db, request.id)


@operation("POST", "/", scope=_WRITE, status=201, body=NewRequestBody, tags=_ADDED)
async def create_access_request(db: Db, caller: Caller, raw: Json, facts: Facts) -> AccessRequestDetail:
    """Request access to be added, changed, removed, suspended or restored."""
    return await actions.request_access(db, caller, raw, facts)


@operation("POST", "/preview", scope=_WRITE, body=NewRequestBody, tags=_ADDED)
async def preview_access_request(db: Db, caller: Caller, raw: Json, facts: Facts) -> RequestConflicts:
    """Return the conflicts of duties that a request would create, and who must approve them. Nothing is stored."""
    return await actions.preview_request(db, caller, raw, facts)


@operation("GET", "/stalled", scope=_READ, query={}, tags=_ADDED)
async def list_stalled_requests(db: Db, query: dict[str, Any], now: datetime) -> Page[StalledItem]:
    """List requests that wait for people, with reviewers, waiting time and reasons, longest wait first."""
    return await queries.stalled(db, query["page"], now)


@operation("GET", "/leftovers", scope=_READ, query={}, tags=_ADDED)
async def list_leftovers(db: Db, query: dict[str, Any]) -> Page[LeftoverItem]:
    """List active accounts of people who left, unless an open request removes them."""
    return await queries.leftovers(db, query["page"])


# The actions themselves are the operations, so their names, type hints and docstrings appear in the OpenAPI document.
_BODIES: dict[Any, type[Body]] = {
    actions.respond: RespondBody,
    actions.assign: AssignRequestBody,
    actions.resolve: VerbBody,
    actions.verify: VerbBody,
    actions.reopen: VerbBody,
    actions.snooze: SnoozeBody,
    actions.resume: VerbBody,
    actions.cancel: VerbBody,
    actions.comment: CommentBody,
}
verbs = [
    operation(
        "POST",
        f"/{{id:str}}/{verb.__name__}",
        scope=_WRITE,
        body=body,
        read_body=optional_json if body is VerbBody else None,
        tags=_ADDED,
    )(verb)
    for verb, body in _BODIES.items()
]

router = Router(
    "/api/access-requests",
    route_handlers=[
        list_access_requests,
        get_access_request,
        get_access_request_conflicts,
        create_access_request,
        preview_access_request,
        list_stalled_requests,
        list_leftovers,
        *verbs,
    ],
)
