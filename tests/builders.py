"""Records for tests, made by the product's own actions; everything has a default."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from rolecall.core.checking import Facts, check
from rolecall.core.db import Db
from rolecall.identities import actions as identities
from rolecall.identities.queries import with_mentioned_identities
from rolecall.identities.shapes import NewIdentity


def facts(**given: Any) -> Facts:
    return Facts(**{"now": datetime.now(UTC), "zone": ZoneInfo("UTC"), **given})


async def an_identity(db: Db, first: str = "Ada", last: str = "Lovelace", **fields: Any) -> UUID:
    raw = {"firstName": first, "lastName": last, **fields}
    known = await with_mentioned_identities(db, facts(enabled_custom_fields=frozenset(range(1, 10))), raw)
    return await identities.create_identity(db, check(NewIdentity, raw, known), known.now)
