from datetime import datetime
from typing import Any

from litestar import Router

from rolecall.core import clock
from rolecall.core.caller import Scope
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.effective_access import queries
from rolecall.effective_access.shapes import EffectiveAccess
from rolecall.identities import queries as identities
from rolecall.web.bodies import Reader
from rolecall.web.operations import operation

_A_TIME = Reader(str, {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]})


def _moment(text: str | None, config: Config) -> datetime | None:
    try:
        return clock.parse(text, config.timezone) if text is not None else None
    except (ValueError, OverflowError):
        raise Invalid.on("asOf", "As of must be an ISO 8601 date or date-time") from None


@operation("GET", "/{id:str}/access", scope=Scope.IDENTITIES_READ, query={"asOf": _A_TIME})
async def get_access(db: Db, id: str, query: dict[str, Any], config: Config) -> EffectiveAccess:
    """What an identity can do, now or at a time, by application, each entry with why."""
    identity = await identities.get(db, id)
    return await queries.access_of(db, identity.id, _moment(query.get("asOf"), config))


router = Router("/api/identities", route_handlers=[get_access], tags=["Administration"])
