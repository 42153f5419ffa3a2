from typing import Any

from litestar import Router

from rolecall.core.caller import Scope
from rolecall.core.db import Db, Pool
from rolecall.core.paging import Page
from rolecall.core.together import get_with_others
from rolecall.identities import queries
from rolecall.identities.shapes import IdentityDetail
from rolecall.web.operations import operation


@operation("GET", "/", scope=Scope.IDENTITIES_READ, query={})
async def list_identities(db: Db, query: dict[str, Any]) -> Page[IdentityDetail]:
    """List identities by last name, then first name."""
    return await queries.by_name(db, query["page"])


@operation("GET", "/{id:str}", scope=Scope.IDENTITIES_READ)
async def get_identity(pool: Pool, id: str) -> IdentityDetail:
    """Get one identity."""
    return await get_with_others(pool, "Identity", queries.by_id, id)


router = Router("/api/identities", route_handlers=[list_identities, get_identity], tags=["Access governance"])
