from typing import Any

from litestar import Router

from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db
from rolecall.core.paging import Page
from rolecall.exports import queries
from rolecall.exports.shapes import ExportItem
from rolecall.web.operations import operation


@operation("GET", "/", scope=Scope.APPLICATIONS_READ, query={})
async def list_exports(db: Db, caller: Caller, query: dict[str, Any]) -> Page[ExportItem]:
    """List exports, newest first: all of them with the scope `audit:read`, otherwise only the caller's own."""
    return await queries.newest_first(db, query["page"], caller)


@operation("GET", "/{id:str}", scope=Scope.APPLICATIONS_READ)
async def get_export(db: Db, id: str, caller: Caller) -> ExportItem:
    """Get the manifest of an export: who, when, filters, row count and SHA-256.

    The response that contains the file has the id in its header `X-Export-Id`. Callers without `audit:read` can get
    only their own exports.
    """
    return await queries.get(db, id, caller)


router = Router("/api/exports", route_handlers=[list_exports, get_export], tags=["Administration"])
