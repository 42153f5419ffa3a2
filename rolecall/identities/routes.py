from typing import Any

from litestar import Router

from rolecall.core.caller import Scope
from rolecall.core.db import Db, Pool
from rolecall.core.paging import Page
from rolecall.core.together import get_with_others
from rolecall.identities import finding, queries
from rolecall.identities.shapes import IdentityDetail
from rolecall.web.bodies import Reader, a_flag
from rolecall.web.operations import operation

_SPECIFIED, _ADDED = ("Access governance",), ("Administration",)


@operation("GET", "/", scope=Scope.IDENTITIES_READ, query={}, tags=_SPECIFIED)
async def list_identities(db: Db, query: dict[str, Any]) -> Page[IdentityDetail]:
    """List identities by last name, then first name."""
    return await queries.by_name(db, query["page"])


@operation("GET", "/{id:str}", scope=Scope.IDENTITIES_READ, tags=_SPECIFIED)
async def get_identity(pool: Pool, id: str) -> IdentityDetail:
    """Get one identity."""
    return await get_with_others(pool, "Identity", queries.by_id, id)


def _text(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    return text


_WHO = Reader(_text, {"type": "string", "pattern": r"^[^\x00]*[^\x00\s][^\x00]*$"}, required=True)


@operation("GET", "/search", scope=Scope.IDENTITIES_READ, query={"q": _WHO, "whole": a_flag}, tags=_ADDED)
async def search_identities(db: Db, query: dict[str, Any]) -> Page[IdentityDetail]:
    """Find people by the start of their names in either order, or by e-mail, employee ID or id.

    `whole` finds only people whose complete name matches.
    """
    return await finding.search(db, query["q"], query["page"], whole=query.get("whole", False))


router = Router("/api/identities", route_handlers=[list_identities, get_identity, search_identities])
