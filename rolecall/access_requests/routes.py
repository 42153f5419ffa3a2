from typing import Any

from litestar import Router

from rolecall.access_requests import queries
from rolecall.access_requests.shapes import AccessRequestDetail, AccessRequestItem
from rolecall.core.caller import Scope
from rolecall.core.db import Db
from rolecall.core.paging import Page
from rolecall.settings.policy import RequestAction
from rolecall.web.bodies import a_guid, a_word_of
from rolecall.web.operations import operation
from rolecall.work_items.model import WorkStatus

_FILTERS = {
    "identityId": a_guid,
    "applicationId": a_guid,
    "status": a_word_of(WorkStatus),
    "type": a_word_of(RequestAction),
}


@operation("GET", "/", scope=Scope.ACCESS_REQUESTS_READ, query=_FILTERS)
async def list_access_requests(db: Db, query: dict[str, Any]) -> Page[AccessRequestItem]:
    """List access requests, newest first."""
    return await queries.newest_first(
        db,
        query["page"],
        identity_id=query.get("identityId"),
        application_id=query.get("applicationId"),
        status=query.get("status"),
        action=query.get("type"),
    )


@operation("GET", "/{id:str}", scope=Scope.ACCESS_REQUESTS_READ)
async def get_access_request(db: Db, id: str) -> AccessRequestDetail:
    """Get one access request."""
    return await queries.get(db, id)


router = Router(
    "/api/access-requests",
    route_handlers=[list_access_requests, get_access_request],
    tags=["Access governance"],
)
