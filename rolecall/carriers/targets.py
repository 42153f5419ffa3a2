"""Open a connection to the application of a carrier, by SCIM or LDAP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from rolecall.carriers import ldap, scim
from rolecall.carriers.model import CARRYING, Carrier, CarrierKind, TargetConnection
from rolecall.core.config import Config
from rolecall.core.db import Pool
from rolecall.sources.kinds import place_of
from rolecall.sources.model import SourceAccess
from rolecall.sources.secrets import find_secret

# How long the server may make the carrier wait in total; if it asks for more time, the request is postponed.
_PATIENCE_SECONDS = 30.0
_CONNECT = {CarrierKind.SCIM: scim.connect, CarrierKind.LDAP: ldap.connect}


@asynccontextmanager
async def open_target(
    pool: Pool, config: Config, application_id: UUID, carrier: Carrier
) -> AsyncIterator[TargetConnection]:
    async with pool.connection() as db:
        place = place_of(carrier.as_source())
        secret = await find_secret(db, config, carrier.secret_ref, application_id, CARRYING, place)
    access = SourceAccess(carrier.as_source(), secret.text, config, _PATIENCE_SECONDS)
    async with _CONNECT[carrier.kind](access, carrier) as target:
        yield target
