from datetime import datetime
from typing import Any

from litestar.handlers import HTTPRouteHandler

from rolecall.console import finding
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.forms import first, given, problems_by_field, shown
from rolecall.console.frame import OWN, screen
from rolecall.console.inputs import Form
from rolecall.console.model import Person
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.core.ids import known_guid
from rolecall.settings.policy import RequirementType
from rolecall.stand_ins import actions, queries

# Labels for the types of response that a stand-in takes over.
DUTIES = {
    RequirementType.APPROVE: "Approve requests",
    RequirementType.RESOLVE: "Provision requests",
    RequirementType.VERIFY: "Verify requests",
}


@screen("GET", "/stand-ins", scope=Scope.ACCESS_REQUESTS_READ, limits=OWN)
async def show_stand_ins(db: Db, person: Person, query: dict[str, Any], now: datetime) -> HtmlPage:
    return await _page(db, person, query["page"], {}, {}, now)


async def _page(db: Db, person: Person, page: int, form: Form, problems: dict[str, str], now: datetime) -> HtmlPage:
    """Show the person's stand-ins; people with `config:manage` see the stand-ins of everyone."""
    sees_all = Scope.CONFIG_MANAGE in person.caller().scopes
    listed = await queries.newest_first(db, page, now, identity_id=None if sees_all else person.id)
    values = {
        "page": listed,
        "query": {"page": page},
        "sees_all": sees_all,
        "represented": await queries.represented_by(db, person.id, now),
        "planned": await queries.planned_for(db, person.id, now),
        "duties": DUTIES,
        "form": shown(form),
        "problems": problems,
    }
    return HtmlPage("stand_ins.html", values, 400 if problems else 200)


@screen("POST", "/stand-ins", scope=Scope.ACCESS_REQUESTS_WRITE, limits=OWN)
async def create_stand_in(db: Db, person: Person, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    try:
        async with db.transaction():
            raw = given(form, "type", "startsOn", "endsOn", "comment") | await _people(db, person.caller(), form)
            made = await actions.create_stand_in(db, person.caller(), raw, facts)
    except Invalid as error:
        return await _page(db, person, 1, form, problems_by_field(error), facts.now)
    return SeeOther("/stand-ins", f"{made.stand_in.name} was named as the stand-in for {made.identity.name}")


async def _people(db: Db, caller: Caller, form: Form) -> Json:
    """Return the ids of the people in the form; see `the_colleague` for whom a caller can find."""
    return {
        name: await finding.the_colleague(db, name, words, caller)
        for name in ("identityId", "standInId")
        if (words := first(form, name))
    }


@screen("POST", "/stand-ins/{id:str}/end", scope=Scope.ACCESS_REQUESTS_WRITE, limits=OWN)
async def end_stand_in(db: Db, caller: Caller, id: str, now: datetime) -> SeeOther:
    # Read the stand-in before ending it: if it has not started, it is deleted.
    found = await queries.get(db, known_guid("Stand-in", id), now)
    await actions.end_stand_in(db, caller, id, now)
    return SeeOther("/stand-ins", f"{found.stand_in.name} can no longer respond for {found.identity.name}")


HANDLERS: list[HTTPRouteHandler] = [show_stand_ins, create_stand_in, end_stand_in]
