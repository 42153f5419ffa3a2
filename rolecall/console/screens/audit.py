from collections.abc import AsyncGenerator, Iterator
from datetime import datetime, time, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse

from rolecall.audit import queries
from rolecall.audit.shapes import AuditEventItem
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage
from rolecall.console.frame import screen
from rolecall.console.inputs import a_day, some_words
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool
from rolecall.core.ids import guid
from rolecall.web.bodies import Reader, a_guid


def _zone(text: str) -> ZoneInfo | None:
    """Parse the name of a time zone; return None if it is unknown."""
    try:
        return ZoneInfo(text)
    # `ZoneInfo` reads a file: a folder, an invalid path or a too long name raises ValueError or OSError.
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return None


_FILTERS = {
    "entityId": a_guid,
    "callerId": a_guid,
    "action": some_words,
    "from": a_day,
    "until": a_day,
    "zone": Reader(_zone, {"type": "string"}),
}
# The path of the screen of a record, by its type.
_PLACES = {
    "Access Model": "/access-models",
    "Access Request": "/requests",
    "Account": "/accounts",
    "Application": "/applications",
    "Identity": "/identities",
    "Console User": "/identities",
    "Import": "/imports",
    "Personnel Event": "/events",
    "Review": "/reviews",
    "Review Item": "/review-items",
    "Webhook": "/webhooks",
    "Webhook Delivery": "/deliveries",
}
# Records that only people who manage webhooks can open.
_OF_WEBHOOKS = ("Webhook", "Webhook Delivery")


@screen("GET", "/audit", scope=Scope.AUDIT_READ, query=_FILTERS)
async def show_entries(db: Db, query: dict[str, Any], config: Config) -> HtmlPage:
    which = _which(query, config)
    page = await queries.newest_first(db, query["page"], which)
    zone = query.get("zone") or config.timezone
    values = {"page": page, "query": query, "zone_of_days": zone, "exported": _exported(which)}
    return HtmlPage("audit.html", values | {"some": which != queries.Filter()})


def _exported(which: queries.Filter) -> dict[str, str]:
    """Return the filters for an export, in the format of the API."""
    times = {"from": which.since and which.since.isoformat(), "until": which.until and which.until.isoformat()}
    ids = {"entityId": which.entity_id, "callerId": which.caller_id, "action": which.action}
    return {name: str(value) for name, value in (ids | times).items() if value}


def _which(query: dict[str, Any], config: Config) -> queries.Filter:
    """Return the filter. Days begin at midnight in the zone of the reader or, without JavaScript, of the service."""
    zone = query.get("zone") or config.timezone
    first, last = query.get("from"), query.get("until")
    return queries.Filter(
        entity_id=query.get("entityId"),
        caller_id=query.get("callerId"),
        action=query.get("action"),
        since=datetime.combine(first, time(), zone) if first else None,
        # The end is exclusive.
        until=datetime.combine(last + timedelta(days=1), time(), zone) if last else None,
    )


@screen("GET", "/audit/{id:str}", scope=Scope.AUDIT_READ)
async def show_entry(db: Db, caller: Caller, id: str) -> HtmlPage:
    entry = await queries.get(db, id)
    is_hidden = entry.entity.kind in _OF_WEBHOOKS and Scope.WEBHOOKS_MANAGE not in caller.scopes
    place = None if is_hidden else _PLACES.get(entry.entity.kind)
    href = f"{place}/{entry.entity.id}" if place else None
    fields = _fields(entry)
    names = await console.record_names(db, list(_ids_in([entry.before, entry.after])))
    return HtmlPage("audit_entry.html", {"entry": entry, "href": href, "fields": fields, "names": names})


def _fields(entry: AuditEventItem) -> list[tuple[str, Any, Any]]:
    before, after = entry.before or {}, entry.after or {}
    return [(name, before.get(name), after.get(name)) for name in sorted(before.keys() | after.keys())]


def _ids_in(value: Any) -> Iterator[UUID]:
    """Yield the GUIDs among the values of an entry, at any depth."""
    match value:
        case dict():
            yield from _ids_in(list(value.values()))
        case list():
            for each in value:
                yield from _ids_in(each)
        case str() if found := guid(value):
            yield found


@screen("GET", "/audit/verify", scope=Scope.AUDIT_READ)
async def verify(db: Db) -> HtmlPage:
    return HtmlPage("audit_verdict.html", {"verdict": await queries.verify(db)})


@screen("GET", "/audit/export.jsonl", scope=Scope.AUDIT_READ, query=_FILTERS)
async def export(pool: Pool, query: dict[str, Any], config: Config) -> ASGIResponse:
    headers = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
    lines = _lines(pool, _which(query, config))
    return ASGIStreamingResponse(iterator=lines, media_type="application/jsonl", headers=headers)


async def _lines(pool: Pool, which: queries.Filter) -> AsyncGenerator[bytes]:
    # Use a separate connection: the screen's connection returns to the pool before the response is sent.
    async with pool.connection() as db:
        async for row in queries.rows_of(db, which):
            yield queries.as_line(row)


HANDLERS: list[HTTPRouteHandler] = [show_entries, show_entry, verify, export]
