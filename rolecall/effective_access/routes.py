from datetime import datetime
from typing import Any

from litestar import Router

from rolecall.accounts.moments import moment_of
from rolecall.core.caller import Scope
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.ids import known_guid
from rolecall.core.paging import Page
from rolecall.effective_access import holders, queries
from rolecall.effective_access.shapes import AccessOfAccount, EffectiveAccess, Holding
from rolecall.entitlements import queries as entitlements
from rolecall.identities import queries as identities
from rolecall.web.bodies import Reader
from rolecall.web.operations import operation

_FORMS = [{"format": "date"}, {"format": "date-time"}, {"pattern": "^[0-9]{1,9}$"}]
# Accept any text: `moment_of` parses it.
_AS_OF = Reader(str, {"type": "string", "anyOf": _FORMS})


@operation("GET", "/{id:str}/access", scope=Scope.IDENTITIES_READ, query={"asOf": _AS_OF})
async def get_access(db: Db, id: str, query: dict[str, Any], config: Config, now: datetime) -> EffectiveAccess:
    """Get an identity's access by application, with the reasons for each entry; now, or as of a time or an import."""
    identity = await identities.get(db, id)
    return await queries.access_of(db, identity.id, await moment_of(db, query.get("asOf"), config, now))


@operation("GET", "/{id:str}/holders", scope=Scope.APPLICATIONS_READ, query={"asOf": _AS_OF})
async def list_holders(db: Db, id: str, query: dict[str, Any], config: Config, now: datetime) -> Page[Holding]:
    """List who holds an entitlement, directly or through groups, and why; now, or as of a time or an import."""
    as_of = await moment_of(db, query.get("asOf"), config, now)
    return await holders.holders_of(db, await entitlements.uncounted(db, id), query["page"], as_of, now)


@operation("GET", "/{id:str}/history", scope=Scope.APPLICATIONS_READ, query={"asOf": _AS_OF})
async def list_holder_history(db: Db, id: str, query: dict[str, Any], config: Config, now: datetime) -> Page[Holding]:
    """List who has ever held an entitlement and when, newest first; with `asOf`, only up to that time or import."""
    as_of = await moment_of(db, query.get("asOf"), config, now)
    return await holders.history_of(db, await entitlements.uncounted(db, id), query["page"], as_of, now)


@operation("GET", "/{id:str}/access", scope=Scope.APPLICATIONS_READ, query={"asOf": _AS_OF})
async def get_account_access(db: Db, id: str, query: dict[str, Any], config: Config, now: datetime) -> AccessOfAccount:
    """Get an account's access, with the reasons for each entry; now, or as of a time or an import."""
    account_id = known_guid("Account", id)
    return await queries.access_of_account(db, account_id, await moment_of(db, query.get("asOf"), config, now))


account_access = Router("/api/accounts", route_handlers=[get_account_access], tags=["Administration"])
holdings = Router("/api/entitlements", route_handlers=[list_holders, list_holder_history], tags=["Administration"])
router = Router("/api/identities", route_handlers=[get_access], tags=["Administration"])
