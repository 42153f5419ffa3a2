from datetime import datetime
from typing import Any

from litestar import Router

from rolecall.core import clock
from rolecall.core.caller import Scope
from rolecall.core.checking import require_past
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.effective_access import queries
from rolecall.effective_access.shapes import EffectiveAccess
from rolecall.identities import queries as identities
from rolecall.web.bodies import Reader
from rolecall.web.operations import operation

_A_TIME = Reader(str, {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]})


def _moment(text: str | None, config: Config, now: datetime) -> datetime | None:
    if text is None:
        return None
    try:
        return require_past("asOf", clock.parse(text, config.timezone), now)
    except (ValueError, OverflowError):
        raise Invalid.on("asOf", "As of must be an ISO 8601 date or date-time") from None


@operation("GET", "/{id:str}/access", scope=Scope.IDENTITIES_READ, query={"asOf": _A_TIME})
async def get_access(db: Db, id: str, query: dict[str, Any], config: Config, now: datetime) -> EffectiveAccess:
    """What an identity can do, now or at a time, by application, each entry with why."""
    identity = await identities.get(db, id)
    return await queries.access_of(db, identity.id, _moment(query.get("asOf"), config, now))


router = Router("/api/identities", route_handlers=[get_access], tags=["Administration"])
