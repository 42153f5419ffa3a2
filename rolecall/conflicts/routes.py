from datetime import datetime
from typing import Any

from litestar import Router

from rolecall.accounts.moments import moment_of
from rolecall.accounts.routes import an_as_of
from rolecall.conflicts import actions, queries
from rolecall.conflicts.model import ExceptionStatus
from rolecall.conflicts.shapes import (
    ApproveExceptionBody,
    ConflictDetail,
    ConflictException,
    ConflictItem,
    DutySimulation,
    NewException,
    RuleSimulation,
    RuleSimulationBody,
    WithdrawExceptionBody,
)
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.paging import Page
from rolecall.duties.model import ConflictStatus
from rolecall.duties.shapes import DutyChanges
from rolecall.web.bodies import a_guid, a_word_of
from rolecall.web.operations import operation, optional_json

_READ, _WRITE = Scope.DUTIES_READ, Scope.DUTIES_WRITE
_FILTERS = {
    "status": ("status", a_word_of(ConflictStatus)),
    "ruleId": ("rule_id", a_guid),
    "identityId": ("identity_id", a_guid),
}
_QUERY = {"asOf": an_as_of, **{name: reader for name, (_, reader) in _FILTERS.items()}}


@operation("GET", "/", scope=_READ, query=_QUERY)
async def list_conflicts(db: Db, query: dict[str, Any], config: Config, now: datetime) -> Page[ConflictItem]:
    """List conflicts, newest first: current and ended ones, or those as of a time or an import."""
    as_of = await moment_of(db, query.get("asOf"), config, now)
    given = {field: query.get(name) for name, (field, _) in _FILTERS.items()}
    return await queries.newest_first(db, query["page"], queries.ConflictFilters(**given), as_of)


@operation("GET", "/{id:str}", scope=_READ)
async def get_conflict(db: Db, id: str, now: datetime) -> ConflictDetail:
    """Get one conflict with the access on each side, and the groups that each give several of its duties."""
    return await queries.get(db, id, now)


@operation("GET", "/exceptions", scope=_READ, query={"status": a_word_of(ExceptionStatus)})
async def list_conflict_exceptions(db: Db, query: dict[str, Any]) -> Page[ConflictException]:
    """List exceptions with their controls and approvals, newest first."""
    status = query.get("status")
    return await queries.exceptions(db, query["page"], [status] if status else list(ExceptionStatus))


@operation("POST", "/{id:str}/except", scope=_WRITE, body=NewException)
async def request_exception(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ConflictDetail:
    """Request an exception for a conflict, with a reason, a compensating control with its owner, and an end date."""
    return await actions.request_exception(db, caller, id, raw, facts)


@operation("POST", "/{id:str}/approve", scope=_WRITE, body=ApproveExceptionBody, read_body=optional_json)
async def approve_exception(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ConflictDetail:
    """Approve the requested exception. The rule's owner and a second person must approve."""
    return await actions.approve_exception(db, caller, id, raw, facts)


@operation("POST", "/{id:str}/withdraw", scope=_WRITE, body=WithdrawExceptionBody, read_body=optional_json)
async def withdraw_exception(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ConflictDetail:
    """Withdraw or reject the requested exception; if there is none, end the one in force."""
    return await actions.withdraw_exception(db, caller, id, raw, facts)


@operation("POST", "/{id:str}/simulate", scope=_WRITE, body=RuleSimulationBody, read_body=optional_json)
async def simulate_duty_rule(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> RuleSimulation:
    """Return who would be in conflict if the draft were committed, since when, and through which request or model."""
    return await actions.simulate_rule(db, caller, id, raw, facts)


@operation("POST", "/{id:str}/simulate", scope=_WRITE, body=DutyChanges)
async def simulate_duty(db: Db, id: str, raw: Json, facts: Facts) -> DutySimulation:
    """Return how many conflicts of each rule would begin, end and remain if the duty were changed."""
    return await actions.simulate_duty(db, id, raw, facts)


router = Router(
    "/api/conflicts",
    route_handlers=[
        list_conflicts,
        list_conflict_exceptions,
        get_conflict,
        request_exception,
        approve_exception,
        withdraw_exception,
    ],
    tags=["Administration"],
)
# These routes are in this package, because simulations read conflicts, which the package `duties` cannot import.
simulations = Router(
    "/api",
    route_handlers=[
        Router("/duty-rules", route_handlers=[simulate_duty_rule]),
        Router("/duties", route_handlers=[simulate_duty]),
    ],
    tags=["Administration"],
)
