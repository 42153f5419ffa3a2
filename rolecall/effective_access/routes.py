import re
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

_FORMS = [{"format": "date"}, {"format": "date-time"}, {"pattern": "^[0-9]{1,9}$"}]
_AS_OF = Reader(str, {"type": "string", "anyOf": _FORMS})


async def _moment(db: Db, text: str | None, config: Config, now: datetime) -> datetime | None:
    if text is None:
        return None
    if _NUMBER.fullmatch(text):
        return await queries.moment_after(db, int(text))
    try:
        return require_past("asOf", clock.parse(text, config.timezone), now)
    except (ValueError, OverflowError):
        message = "As of must be an ISO 8601 date or date-time, or the number of an import"
        raise Invalid.on("asOf", message) from None


_NUMBER = re.compile("[0-9]{1,9}")


@operation("GET", "/{id:str}/access", scope=Scope.IDENTITIES_READ, query={"asOf": _AS_OF})
async def get_access(db: Db, id: str, query: dict[str, Any], config: Config, now: datetime) -> EffectiveAccess:
    """Get an identity's access by application, with the reasons for each entry; now, or as of a time or an import."""
    identity = await identities.get(db, id)
    return await queries.access_of(db, identity.id, await _moment(db, query.get("asOf"), config, now))


router = Router("/api/identities", route_handlers=[get_access], tags=["Administration"])
