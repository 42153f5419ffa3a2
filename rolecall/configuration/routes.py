import msgspec
from litestar import Router

from rolecall.configuration import actions, queries
from rolecall.configuration.shapes import Configuration, ConfigurationBody, ConfigurationChanges
from rolecall.core import address_check
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.web.bodies import AnyRequest, Carried
from rolecall.web.operations import operation


@operation("GET", "/", scope=Scope.CONFIG_MANAGE)
async def get_configuration(db: Db, caller: Caller) -> Configuration:
    """Get the configuration of the service, without secrets. A section is null if you lack the scope to read it."""
    return await queries.get(db, caller)


async def _with_names(request: AnyRequest, config: Config, carried: Carried) -> Carried:
    hooks = carried.raw.get("webhooks")
    urls = [hook.get("url") for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []
    # Look up names before the transaction begins, because DNS can take seconds.
    return msgspec.structs.replace(carried, addresses=await address_check.looked_up(urls))


@operation("POST", "/plan", scope=Scope.CONFIG_MANAGE, body=ConfigurationBody, prepare=_with_names)
async def plan_configuration(db: Db, caller: Caller, raw: Json, facts: Facts, config: Config) -> ConfigurationChanges:
    """Preview what applying a configuration would change."""
    return await actions.plan_configuration(db, caller, raw, facts, config)


@operation("PUT", "/", scope=Scope.CONFIG_MANAGE, body=ConfigurationBody, prepare=_with_names)
async def apply_configuration(db: Db, caller: Caller, raw: Json, facts: Facts, config: Config) -> ConfigurationChanges:
    """Apply a configuration, all or nothing. Records it does not mention stay unchanged."""
    return await actions.apply_configuration(db, caller, raw, facts, config)


router = Router(
    "/api/configuration",
    route_handlers=[get_configuration, plan_configuration, apply_configuration],
    tags=["Administration"],
)
