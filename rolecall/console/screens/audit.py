from collections.abc import AsyncGenerator
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse

from rolecall.audit import queries
from rolecall.audit.shapes import AuditEventItem
from rolecall.console.frame import Page, screen, some_words
from rolecall.core.caller import Scope
from rolecall.core.db import Db, Pool
from rolecall.web.bodies import a_guid

_FILTERS = {"entityId": a_guid, "callerId": a_guid, "action": some_words}
# Where a thing is shown.
_PLACES = {
    "Access Model": "/access-models",
    "Access Request": "/requests",
    "Account": "/accounts",
    "Application": "/applications",
    "Identity": "/identities",
    "Console User": "/identities",
    "Import": "/imports",
    "Personnel Event": "/events",
    "Webhook": "/webhooks",
    "Webhook Delivery": "/deliveries",
}


@screen("GET", "/audit", scope=Scope.AUDIT_READ, query=_FILTERS)
async def show_entries(db: Db, query: dict[str, Any]) -> Page:
    page = await queries.newest_first(
        db,
        query["page"],
        entity_id=query.get("entityId"),
        caller_id=query.get("callerId"),
        action=query.get("action"),
    )
    return Page("audit.html", {"page": page, "query": query})


@screen("GET", "/audit/{id:str}", scope=Scope.AUDIT_READ)
async def show_entry(db: Db, id: str) -> Page:
    entry = await queries.get(db, id)
    place = _PLACES.get(entry.entity.kind)
    href = f"{place}/{entry.entity.id}" if place else None
    return Page("audit_entry.html", {"entry": entry, "href": href, "fields": _fields(entry)})


def _fields(entry: AuditEventItem) -> list[tuple[str, str, str]]:
    before, after = entry.before or {}, entry.after or {}
    return [(name, _said(before, name), _said(after, name)) for name in sorted(before.keys() | after.keys())]


def _said(fields: dict[str, Any], name: str) -> str:
    if name not in fields:
        return ""
    value = fields[name]
    return value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


@screen("GET", "/audit/verify", scope=Scope.AUDIT_READ)
async def verify(db: Db) -> Page:
    return Page("audit_verdict.html", {"verdict": await queries.verify(db)})


@screen("GET", "/audit/export.jsonl", scope=Scope.AUDIT_READ)
async def export(pool: Pool) -> ASGIResponse:
    headers = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
    return ASGIStreamingResponse(iterator=_lines(pool), media_type="application/jsonl", headers=headers)


async def _lines(pool: Pool) -> AsyncGenerator[bytes]:
    async with pool.connection() as db:
        async for row in queries.rows(db):
            yield queries.as_line(row)


HANDLERS: list[HTTPRouteHandler] = [show_entries, show_entry, verify, export]
