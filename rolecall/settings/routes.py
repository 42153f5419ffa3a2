from litestar import Router

from rolecall.core.caller import Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db
from rolecall.settings import actions, queries
from rolecall.settings.model import Settings
from rolecall.settings.shapes import SettingsBody
from rolecall.web.operations import operation


@operation("GET", "/", scope=Scope.CONFIG_MANAGE)
async def get_settings(db: Db) -> Settings:
    """Get the settings."""
    return await queries.get(db)


@operation("PATCH", "/", scope=Scope.CONFIG_MANAGE, body=SettingsBody)
async def change_settings(db: Db, raw: Json, facts: Facts) -> Settings:
    """Change the given settings."""
    return await actions.change_settings(db, raw, facts)


router = Router("/api/settings", route_handlers=[get_settings, change_settings], tags=["Administration"])
