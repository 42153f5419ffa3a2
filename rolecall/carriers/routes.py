from datetime import datetime

from litestar import Router

from rolecall.carriers import actions, queries
from rolecall.carriers.shapes import CarriedRequestBody, CarrierBody, CarrierDetail, CarrierPreview, ReleaseBody
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.ids import known_guid
from rolecall.web.operations import operation, optional_json

_TAGS = ("Administration",)


@operation("GET", "/{id:str}/carrier", scope=Scope.CONFIG_MANAGE, tags=_TAGS)
async def get_carrier(db: Db, id: str, config: Config, now: datetime) -> CarrierDetail:
    """Get an application's carrier, its last steps, and the requests that are waiting, held or left to people.

    The secret of the carrier is not shown.
    """
    return await queries.get(db, known_guid("Application", id), config, now)


@operation("PUT", "/{id:str}/carrier", scope=Scope.CONFIG_MANAGE, body=CarrierBody, secret=True, tags=_TAGS)
async def put_carrier(db: Db, id: str, raw: Json, facts: Facts, config: Config) -> CarrierDetail:
    """Set the carrier of an application, which carries out approved requests by SCIM or LDAP.

    Its host must be in `ROLECALL_SOURCE_HOSTS`. Requests that opened before the mode was changed are left to people.
    """
    application_id = known_guid("Application", id)
    await actions.put_carrier(db, application_id, raw, facts, config)
    return await queries.get(db, application_id, config, facts.now)


@operation("DELETE", "/{id:str}/carrier", scope=Scope.CONFIG_MANAGE, status=204, tags=_TAGS)
async def delete_carrier(db: Db, id: str, now: datetime) -> None:
    """Remove the carrier of an application and its stored secret; open requests are left to people."""
    await actions.delete_carrier(db, known_guid("Application", id), now)


@operation("POST", "/{id:str}/carrier/preview", scope=Scope.CONFIG_MANAGE, body=CarriedRequestBody, tags=_TAGS)
async def preview_carrier(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> CarrierPreview:
    """Preview the steps that the carrier would send for a request. Needs `access-requests:read` as well.

    Nothing is sent or stored.
    """
    return await actions.preview(db, caller, known_guid("Application", id), raw, facts)


@operation(
    "POST",
    "/{id:str}/carrier/release",
    scope=Scope.CONFIG_MANAGE,
    body=ReleaseBody,
    read_body=optional_json,
    tags=_TAGS,
)
async def release_carrier(db: Db, caller: Caller, id: str, raw: Json, facts: Facts, config: Config) -> CarrierDetail:
    """Release requests that the brake holds: those in the body, or all if it lists none."""
    application_id = known_guid("Application", id)
    await actions.release(db, caller, application_id, raw, facts)
    return await queries.get(db, application_id, config, facts.now)


@operation("POST", "/{id:str}/carrier/carry-out", scope=Scope.CONFIG_MANAGE, body=CarriedRequestBody, tags=_TAGS)
async def carry_out(db: Db, caller: Caller, id: str, raw: Json, facts: Facts, config: Config) -> CarrierDetail:
    """Give the carrier an open request, for example one that it left to a person.

    The brake still applies. Needs `access-requests:write` as well.
    """
    application_id = known_guid("Application", id)
    await actions.carry_out(db, caller, application_id, raw, facts)
    return await queries.get(db, application_id, config, facts.now)


router = Router(
    "/api/applications",
    route_handlers=[get_carrier, put_carrier, delete_carrier, preview_carrier, release_carrier, carry_out],
)
