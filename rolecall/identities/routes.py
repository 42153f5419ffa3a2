from typing import Any

from litestar import Router

from rolecall.core.batching import get_batched
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, Pool
from rolecall.core.paging import Page
from rolecall.identities import finding, queries
from rolecall.identities.authority import visible_people
from rolecall.identities.model import IdentityStatus, IdentityType
from rolecall.identities.shapes import IdentityDetail
from rolecall.web.bodies import Reader, a_flag, a_word_of
from rolecall.web.operations import operation

_SPECIFIED, _ADDED = ("Access governance",), ("Administration",)


@operation("GET", "/", scope=Scope.IDENTITIES_READ, query={}, tags=_SPECIFIED)
async def list_identities(db: Db, caller: Caller, query: dict[str, Any]) -> Page[IdentityDetail]:
    """List identities, ordered by last name, then first name."""
    filters = finding.PeopleFilters(within=await visible_people(db, caller, None))
    return await finding.listed(db, query["page"], filters)


@operation("GET", "/{id:str}", scope=Scope.IDENTITIES_READ, tags=_SPECIFIED)
async def get_identity(pool: Pool, id: str) -> IdentityDetail:
    """Get one identity."""
    return await get_batched(pool, "Identity", queries.by_id, id)


def _text(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    return text


def _words(text: str) -> str:
    if not text.strip():
        raise ValueError("is required")
    return _text(text)


_WHO = Reader(_words, {"type": "string", "pattern": r"^[^\x00]*[^\x00\s][^\x00]*$"})
_DEPARTMENT = Reader(_text, {"type": "string", "pattern": r"^[^\x00]*$"})
_SEARCH = {
    "q": _WHO,
    "whole": a_flag,
    "status": a_word_of(IdentityStatus),
    "type": a_word_of(IdentityType),
    "department": _DEPARTMENT,
}


@operation("GET", "/search", scope=Scope.IDENTITIES_READ, query=_SEARCH, tags=_ADDED)
async def search_identities(db: Db, caller: Caller, query: dict[str, Any]) -> Page[IdentityDetail]:
    """Find people by a prefix of their names, by e-mail, employee ID or id, and by status, type and department.

    If `q` contains `@`, a prefix of an e-mail is enough. With `whole`, names and e-mails must match completely. Without
    filters, everyone whom the caller may see is listed.
    """
    page, words = query["page"], query.get("q")
    within = await visible_people(db, caller, None)
    filters = finding.PeopleFilters(query.get("status"), query.get("type"), query.get("department"), within)
    if words is not None:
        return await finding.search(db, words, page, whole=query.get("whole", False), filters=filters)
    return await finding.listed(db, page, filters)


router = Router("/api/identities", route_handlers=[list_identities, get_identity, search_identities])
