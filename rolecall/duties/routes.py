from datetime import datetime
from typing import Any

from litestar import Router

from rolecall.accounts.moments import moment_of
from rolecall.accounts.routes import an_as_of
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.paging import Page
from rolecall.duties import actions, queries
from rolecall.duties.shapes import (
    DutyChanges,
    DutyDetail,
    DutyHolder,
    DutyItem,
    NewDuty,
    NewRule,
    RuleChanges,
    RuleDetail,
    RuleItem,
)
from rolecall.web.operations import operation

_READ, _WRITE = Scope.DUTIES_READ, Scope.DUTIES_WRITE


@operation("GET", "/", scope=_READ, query={})
async def list_duties(db: Db, query: dict[str, Any]) -> Page[DutyItem]:
    """List duties, ordered by name, with how many entitlements they match and how many people hold them."""
    return await queries.by_name(db, query["page"])


@operation("POST", "/", scope=_WRITE, status=201, body=NewDuty)
async def create_duty(db: Db, raw: Json, facts: Facts) -> DutyDetail:
    """Create a duty from patterns of entitlements. A pattern that matches nothing is accepted with a warning."""
    return await actions.create_duty(db, raw, facts)


@operation("GET", "/{id:str}", scope=_READ)
async def get_duty(db: Db, id: str) -> DutyDetail:
    """Get one duty with the number of entitlements that each pattern matches."""
    return await queries.get(db, id)


@operation("PATCH", "/{id:str}", scope=_WRITE, body=DutyChanges)
async def change_duty(db: Db, id: str, raw: Json, facts: Facts) -> DutyDetail:
    """Change the given fields of a duty. Its holders and their conflicts are updated at once."""
    return await actions.change_duty(db, id, raw, facts)


@operation("DELETE", "/{id:str}", scope=_WRITE, status=204)
async def delete_duty(db: Db, id: str) -> None:
    """Delete a duty. This fails if a rule or a past conflict refers to it."""
    await actions.delete_duty(db, id)


@operation("GET", "/{id:str}/holders", scope=_READ, query={"asOf": an_as_of})
async def list_duty_holders(db: Db, id: str, query: dict[str, Any], config: Config, now: datetime) -> Page[DutyHolder]:
    """List who holds a duty, ordered by name, with the access that gives it, now or as of a time or an import."""
    return await queries.holders(db, id, query["page"], await moment_of(db, query.get("asOf"), config, now))


@operation("GET", "/", scope=_READ, query={})
async def list_duty_rules(db: Db, query: dict[str, Any]) -> Page[RuleItem]:
    """List rules, ordered by name, with the counts of their open and excepted conflicts."""
    return await queries.rules_by_name(db, query["page"])


@operation("POST", "/", scope=_WRITE, status=201, body=NewRule)
async def create_duty_rule(db: Db, raw: Json, facts: Facts) -> RuleDetail:
    """Create a rule as a draft. It takes effect when it is committed."""
    return await actions.create_rule(db, raw, facts)


@operation("GET", "/{id:str}", scope=_READ)
async def get_duty_rule(db: Db, id: str) -> RuleDetail:
    """Get one rule with its committed definition and its draft."""
    return await queries.get_rule(db, id)


@operation("PATCH", "/{id:str}", scope=_WRITE, body=RuleChanges)
async def change_duty_rule(db: Db, id: str, raw: Json, facts: Facts) -> RuleDetail:
    """Change the given fields in the draft. They take effect when the draft is committed."""
    return await actions.change_rule(db, id, raw, facts)


@operation("POST", "/{id:str}/commit", scope=_WRITE)
async def commit_duty_rule(db: Db, caller: Caller, id: str, now: datetime) -> RuleDetail:
    """Commit the draft as the next version, which takes effect at once."""
    return await actions.commit_rule(db, caller, id, now)


router = Router(
    "/api/duties",
    route_handlers=[list_duties, create_duty, get_duty, change_duty, delete_duty, list_duty_holders],
    tags=["Administration"],
)
rules = Router(
    "/api/duty-rules",
    route_handlers=[list_duty_rules, create_duty_rule, get_duty_rule, change_duty_rule, commit_duty_rule],
    tags=["Administration"],
)
