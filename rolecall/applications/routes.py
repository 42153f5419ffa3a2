from typing import Any

from litestar import Router

from rolecall.applications import actions, queries
from rolecall.applications.shapes import (
    ApplicationChanges,
    ApplicationConfiguration,
    ApplicationDetail,
    ApplicationSummary,
    NewApplication,
)
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db
from rolecall.core.ids import known_guid
from rolecall.core.paging import Page
from rolecall.web.operations import operation

_SPECIFIED = ("Access governance",)
_ADDED = ("Administration",)


@operation("GET", "/{id:str}", scope=Scope.APPLICATIONS_READ, tags=_SPECIFIED)
async def get_application(db: Db, id: str) -> ApplicationDetail:
    """Get one application."""
    return await queries.get(db, known_guid("Application", id))


@operation("GET", "/{id:str}/configuration", scope=Scope.CONFIG_MANAGE, tags=_ADDED)
async def get_application_configuration(db: Db, id: str) -> ApplicationConfiguration:
    """Get the configuration of an application, such as its connector with columns, its schedule and its guard."""
    return await queries.configuration(db, known_guid("Application", id))


@operation("GET", "/", scope=Scope.APPLICATIONS_READ, query={}, tags=_ADDED)
async def list_applications(db: Db, caller: Caller, query: dict[str, Any]) -> Page[ApplicationSummary]:
    """List applications, ordered by name."""
    return await queries.readable_by(db, caller, query["page"])


@operation("POST", "/", scope=Scope.CONFIG_MANAGE, status=201, body=NewApplication, tags=_ADDED)
async def create_application(db: Db, caller: Caller, raw: Json, facts: Facts) -> ApplicationDetail:
    """Create an application with its connector and schedule.

    For an identity source, the scope `identities:write` is needed as well.
    """
    return await queries.get(db, await actions.create_application(db, raw, facts, caller))


@operation("PATCH", "/{id:str}", scope=Scope.CONFIG_MANAGE, body=ApplicationChanges, tags=_ADDED)
async def change_application(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ApplicationDetail:
    """Change the given fields of an application; `isArchived` archives it.

    The scope `identities:write` is needed as well to mark an application as an identity source, and to change
    `isIdentitySource`, `connector`, `schedule`, `guard` or `isArchived` of an identity source.
    """
    application_id = known_guid("Application", id)
    await actions.change_application(db, application_id, raw, facts, caller)
    return await queries.get(db, application_id)


router = Router(
    "/api/applications",
    route_handlers=[
        get_application,
        get_application_configuration,
        list_applications,
        create_application,
        change_application,
    ],
)
