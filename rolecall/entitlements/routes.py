from datetime import datetime
from typing import Any

from litestar import Router

from rolecall.accounts.moments import moment_of
from rolecall.accounts.routes import an_as_of
from rolecall.core.caller import Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.paging import PastPage
from rolecall.entitlements import actions, queries
from rolecall.entitlements.model import EntitlementKind
from rolecall.entitlements.shapes import Curation, EntitlementDetail, EntitlementItem
from rolecall.settings.policy import Level
from rolecall.web.bodies import a_flag, a_guid, a_text, a_word_of
from rolecall.web.operations import operation

_FILTERS = {
    "applicationId": ("application_id", a_guid),
    "kind": ("kind", a_word_of(EntitlementKind)),
    "search": ("search", a_text),
    "riskRating": ("risk_rating", a_word_of(Level)),
    "isPrivileged": ("is_privileged", a_flag),
    "ownerId": ("owner_id", a_guid),
    "tag": ("tag", a_text),
}
_QUERY = {"asOf": an_as_of, **{name: reader for name, (_, reader) in _FILTERS.items()}}


@operation("GET", "/", scope=Scope.APPLICATIONS_READ, query=_QUERY)
async def list_entitlements(db: Db, query: dict[str, Any], config: Config, now: datetime) -> PastPage[EntitlementItem]:
    """List groups and permissions of all applications, ordered by name, now or as of a time or an import.

    For a past moment, the imported fields are those of that time, and the curated fields are those of today.
    """
    as_of = await moment_of(db, query.get("asOf"), config, now)
    given = {field: query.get(name) for name, (field, _) in _FILTERS.items()}
    return await queries.by_name(db, query["page"], queries.EntitlementFilters(**given), as_of)


@operation("GET", "/{id:str}", scope=Scope.APPLICATIONS_READ)
async def get_entitlement(db: Db, id: str) -> EntitlementDetail:
    """Get one group or permission, even if the last import no longer shows it."""
    return await queries.get(db, id)


@operation("PATCH", "/{id:str}", scope=Scope.CONFIG_MANAGE, body=Curation)
async def curate_entitlement(db: Db, id: str, raw: Json, facts: Facts) -> EntitlementDetail:
    """Change the curated fields of an entitlement, such as explanation, owner and risk. Imports do not change them."""
    return await actions.curate_entitlement(db, id, raw, facts)


router = Router(
    "/api/entitlements",
    route_handlers=[list_entitlements, get_entitlement, curate_entitlement],
    tags=["Administration"],
)
