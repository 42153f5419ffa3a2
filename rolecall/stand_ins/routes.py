from datetime import datetime
from typing import Any

from litestar import Router

from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db
from rolecall.core.paging import Page
from rolecall.stand_ins import actions, queries
from rolecall.stand_ins.shapes import StandInBody, StandInItem
from rolecall.web.bodies import a_guid
from rolecall.web.operations import operation


@operation("GET", "/", scope=Scope.ACCESS_REQUESTS_READ, query={"identityId": a_guid, "standInId": a_guid})
async def list_stand_ins(db: Db, query: dict[str, Any], now: datetime) -> Page[StandInItem]:
    """List the stand-ins that people named, newest first.

    The automatic stand-in of a person on leave is not listed.
    """
    people = {"identity_id": query.get("identityId"), "stand_in_id": query.get("standInId")}
    return await queries.newest_first(db, query["page"], now, **people)


@operation("POST", "/", scope=Scope.ACCESS_REQUESTS_WRITE, status=201, body=StandInBody)
async def create_stand_in(db: Db, caller: Caller, raw: Json, facts: Facts) -> StandInItem:
    """Name a person who responds for you or, with `config:manage`, for another person, for a limited time."""
    return await actions.create_stand_in(db, caller, raw, facts)


@operation("DELETE", "/{id:str}", scope=Scope.ACCESS_REQUESTS_WRITE, status=204)
async def end_stand_in(db: Db, caller: Caller, id: str, now: datetime) -> None:
    """End a stand-in now, or delete one that has not started.

    To end the stand-in of another person, you need `config:manage`.
    """
    await actions.end_stand_in(db, caller, id, now)


router = Router(
    "/api/stand-ins", route_handlers=[list_stand_ins, create_stand_in, end_stand_in], tags=["Administration"]
)
