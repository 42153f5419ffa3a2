"""Read the records that identity providers pushed to the SCIM server, in one database snapshot."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from psycopg.errors import QueryCanceled

from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.scim_server import queries
from rolecall.scim_server.schema import ENDPOINTS
from rolecall.sources.model import RecordPage, SourceAccess, SourceConnection, SourceContent, SourceFailed

_PAGE = 200
# The time limit of reading a page: if hundreds of groups contain one another, it could take hours.
_MOST_SECONDS = 600.0


@asynccontextmanager
async def connect(access: SourceAccess) -> AsyncIterator[SourceConnection]:
    assert access.pool
    assert access.application_id
    async with access.pool.connection() as db, db.transaction():
        await execute(db, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        await execute(db, f"SET LOCAL statement_timeout = {_MOST_SECONDS * 1000:.0f}")
        yield PushConnection(db, access.application_id, access.config)


class PushConnection(SourceConnection):
    is_snapshot = True
    is_scim = True

    def __init__(self, db: Db, application_id: UUID, config: Config) -> None:
        self._db, self._application_id, self._config = db, application_id, config

    async def pages(self, content: SourceContent) -> AsyncIterator[RecordPage]:
        kind = ENDPOINTS[content.path]
        total = await queries.count_resources(self._db, self._application_id, kind)
        if not total:
            raise SourceFailed(
                f"no {content.path.lower()} have been pushed yet; start provisioning at the identity provider"
            )
        try:
            async for records in queries.snapshot_pages(self._db, self._application_id, kind, _PAGE):
                yield RecordPage(records, total)
        except QueryCanceled:
            what = f"reading {_PAGE:,} {content.path.lower()} with their groups took more than {_MOST_SECONDS:.0f} s"
            raise SourceFailed(f"{what}; push groups that are not inside one another") from None

    async def login(self) -> str:
        push = await queries.detail(self._db, self._application_id, self._config)
        asked = f"{push.last_request:%Y-%m-%d %H:%M} UTC" if push.last_request else "never"
        return f"identity providers push to {push.address}; the last request: {asked}"
