from datetime import datetime

from litestar import Router

from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.ids import known_guid
from rolecall.sources import actions, queries
from rolecall.sources.shapes import SourceBody, SourceDetail
from rolecall.web.operations import operation

_TAGS = ("Administration",)


@operation("GET", "/{id:str}/source", scope=Scope.CONFIG_MANAGE, tags=_TAGS)
async def get_source(db: Db, id: str, config: Config, now: datetime) -> SourceDetail:
    """Get the live source of an application. Its secret is never shown."""
    return await queries.get(db, known_guid("Application", id), config, now)


@operation("PUT", "/{id:str}/source", scope=Scope.CONFIG_MANAGE, body=SourceBody, secret=True, tags=_TAGS)
async def put_source(db: Db, caller: Caller, id: str, raw: Json, facts: Facts, config: Config) -> SourceDetail:
    """Set the live source of an application. Imports then fetch its records, and no files are uploaded.

    A host in its URL must be in `ROLECALL_SOURCE_HOSTS`. A secret in the body is stored encrypted. A stored secret is
    deleted when the host, the port, the encryption or the login changes, or when `secretRef` is no longer `sealed`. For
    an identity source, the scope `identities:write` is needed as well.
    """
    application_id = known_guid("Application", id)
    await actions.put_source(db, caller, application_id, raw, facts, config)
    return await queries.get(db, application_id, config, facts.now)


@operation("DELETE", "/{id:str}/source", scope=Scope.CONFIG_MANAGE, status=204, tags=_TAGS)
async def delete_source(db: Db, caller: Caller, id: str, now: datetime) -> None:
    """Remove the live source of an application and its stored secret; imported data stays.

    If it is a SCIM Push source, its tokens are revoked and the pushed records are deleted. For an identity
    source, the scope `identities:write` is needed as well.
    """
    await actions.delete_source(db, caller, known_guid("Application", id), now)


router = Router("/api/applications", route_handlers=[get_source, put_source, delete_source])
