"""Show separation of duties: the overview with its matrix, duties and rules."""

from datetime import datetime, timedelta
from typing import Any

from litestar.handlers import HTTPRouteHandler
from markupsafe import Markup

from rolecall.applications import queries as applications
from rolecall.conflicts import actions as conflict_actions
from rolecall.conflicts import overview
from rolecall.conflicts import queries as conflicts
from rolecall.conflicts.model import ExceptionStatus
from rolecall.conflicts.shapes import ConflictException, DutySimulation
from rolecall.console import finding
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.charts import NARROW, ChartLevel, step_line
from rolecall.console.forms import first, given, permission_in, problems_by_field, shown, with_people
from rolecall.console.frame import screen
from rolecall.console.inputs import Form, a_day, one_among, past_day
from rolecall.console.pattern_lines import line_of_pattern, pattern_in
from rolecall.console.picking import FoundAccess, access_like, is_searched, with_lines
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.core.ids import guid
from rolecall.core.paging import Page
from rolecall.duties import actions, queries
from rolecall.duties.model import ConflictStatus, Pattern, RuleResponse
from rolecall.duties.shapes import DutyDetail, RuleDetail
from rolecall.settings.policy import Level

_READ, _WRITE = Scope.DUTIES_READ, Scope.DUTIES_WRITE
_TREND_DAYS = 365
_MOST_SHOWN = 10
# The suffix of the picker's field names. With a suffix, the picker sends groups in a separate field.
_PICKER = ".1"
TABS = ("contents", "simulation")
# Labels for the responses of a rule to a request that would create a conflict.
RESPONSES = {
    RuleResponse.WARN: "Show a warning",
    RuleResponse.APPROVE: "Require the owner's approval",
    RuleResponse.BLOCK: "Block the request",
}


@screen("GET", "/duties", scope=_READ, query={"asOf": a_day})
async def show_duties(db: Db, query: dict[str, Any], facts: Facts) -> HtmlPage:
    """Show the overview of duties and conflicts, now or at the end of a past day."""
    then = past_day(query, facts)
    moment = then.moment
    found = await conflicts.newest_first(db, 1, conflicts.ConflictFilters(status=ConflictStatus.OPEN), moment)
    values = {
        "query": query,
        "as_of": then.day,
        "today": facts.today,
        "problem": then.problem,
        "matrix": await overview.matrix(db, moment),
        "trend": await _trend(db, moment or facts.now),
        "rules": await queries.rules_by_name(db, query["page"]),
        "duties": await queries.by_name(db, 1),
        "open": found,
        "most": _MOST_SHOWN,
        "exceptions": await _exceptions(db, moment),
        "responses": RESPONSES,
    }
    return HtmlPage("duties.html", values)


async def _exceptions(db: Db, moment: datetime | None) -> Page[ConflictException]:
    """List the exceptions in force at a past time or, without a time, those in force or awaiting approval now."""
    if moment:
        return await conflicts.exceptions_at(db, moment, 1)
    return await conflicts.exceptions(db, 1, (ExceptionStatus.PENDING, ExceptionStatus.APPROVED))


async def _trend(db: Db, now: datetime) -> Markup | None:
    """Draw the number of conflicts over a year, including those with an exception."""
    start = now - timedelta(days=_TREND_DAYS)
    steps = await overview.counts_over_time(db, start, now)
    if not steps:
        return None
    title = f"Conflicts over the last 12 months; now {steps[-1][1]:,}"
    levels = [ChartLevel(moment, count, "", "", "") for moment, count in steps]
    return step_line(title, "conflicts", levels, start, now, NARROW)


@screen("GET", "/duties/all", scope=_READ)
async def show_all_duties(db: Db, query: dict[str, Any]) -> HtmlPage:
    return HtmlPage("all_duties.html", {"page": await queries.by_name(db, query["page"]), "query": query})


@screen("GET", "/duties/new", scope=_WRITE)
async def show_new_duty(db: Db) -> HtmlPage:
    return await _duty_form(db, {}, {})


async def _duty_form(
    db: Db,
    form: Form,
    problems: dict[str, str],
    found: DutyDetail | None = None,
    picks: FoundAccess | None = None,
    simulation: DutySimulation | None = None,
) -> HtmlPage:
    values = {
        "simulation": simulation,
        "form": shown(form),
        "problems": problems,
        "duty": found,
        "applications": await console.live_applications(db),
        "picks": picks,
    }
    return HtmlPage("duty_form.html", values, 400 if problems else 200)


async def _picks(db: Db, form: Form) -> FoundAccess | None:
    """Return the results of the search in the form; None if the form requests no search."""
    if not first(form, "search") and not is_searched(form, _PICKER):
        return None
    return await access_like(db, guid(first(form, f"applicationId{_PICKER}")), first(form, f"find{_PICKER}"))


async def _with_picks(db: Db, form: Form) -> Form:
    """Return the form with a line for each group and permission that was ticked in the last search."""
    # The results belong to the application that was searched; the form may now select another application.
    application = guid(first(form, "searchedIn"))
    name = (await applications.names(db, [application])).get(application) if application else None
    if not name:
        return form
    groups = [Pattern(name, group=group) for group in form.get(f"pickGroups{_PICKER}", [])]
    parts = [permission_in(line) for line in form.get(f"pick{_PICKER}", [])]
    permissions = [Pattern(name, **{part: text for part, text in each.items() if text}) for each in parts]
    lines = map(line_of_pattern, (*groups, *permissions))
    return {**form, "patterns": [with_lines(first(form, "patterns"), lines)]}


def _duty_body(form: Form) -> Json:
    lines = [line.strip() for line in first(form, "patterns").splitlines() if line.strip()]
    return {
        "name": first(form, "name"),
        "description": first(form, "description"),
        "patterns": [pattern_in(line) for line in lines],
    }


@screen("POST", "/duties/new", scope=_WRITE)
async def create_duty(db: Db, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    form = await _with_picks(db, form)
    if picks := await _picks(db, form):
        return await _duty_form(db, form, {}, picks=picks)
    try:
        async with db.transaction():
            found = await actions.create_duty(db, _duty_body(form), facts)
    except Invalid as error:
        return await _duty_form(db, form, _joined(error))
    return SeeOther(f"/duties/{found.id}", "The duty was created.")


def _joined(error: Invalid) -> dict[str, str]:
    """Return one message for each form field; in the message for `patterns`, each problem has its line number."""
    found: dict[str, str] = {}
    for field, message in problems_by_field(error).items():
        name, _, place = field.partition(".")
        number = place.partition(".")[0]
        said = f"Line {int(number) + 1}: {message}" if number.isdecimal() else message
        found[name] = f"{found[name]}. {said}" if name in found else said
    return found


@screen("GET", "/duties/{id:str}", scope=_READ)
async def show_duty(db: Db, id: str, query: dict[str, Any]) -> HtmlPage:
    found = await queries.get(db, id)
    holders = await queries.holders(db, id, query["page"], None)
    return HtmlPage("duty.html", {"duty": found, "page": holders, "query": query})


@screen("GET", "/duties/{id:str}/edit", scope=_WRITE)
async def show_duty_form(db: Db, id: str) -> HtmlPage:
    found = await queries.get(db, id)
    lines = [line_of_pattern(each.pattern) for each in found.patterns]
    form = {"name": [found.name], "description": [found.description], "patterns": ["\n".join(lines)]}
    return await _duty_form(db, form, {}, found)


@screen("POST", "/duties/{id:str}/edit", scope=_WRITE)
async def change_duty(db: Db, id: str, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    found, form = await queries.get(db, id), await _with_picks(db, form)
    if picks := await _picks(db, form):
        return await _duty_form(db, form, {}, found, picks)
    try:
        if simulation := await _to_confirm(db, id, form, facts):
            return await _duty_form(db, form, {}, found, simulation=simulation)
        async with db.transaction():
            await actions.change_duty(db, id, _duty_body(form), facts)
    except Invalid as error:
        return await _duty_form(db, form, _joined(error), found)
    return SeeOther(f"/duties/{id}", "The duty was saved. Its holders and conflicts are up to date.")


async def _to_confirm(db: Db, id: str, form: Form, facts: Facts) -> DutySimulation | None:
    """Return the simulation of a change that would begin or end conflicts, for the person to confirm.

    Return None if the change affects no conflicts, or if the person has confirmed these patterns.
    """
    # Compare words, because browsers change line endings.
    if "confirmed" in form and first(form, "confirmed").split() == first(form, "patterns").split():
        return None
    simulation = await conflict_actions.simulate_duty(db, id, _duty_body(form), facts)
    return simulation if simulation.beginning or simulation.ending else None


@screen("POST", "/duties/{id:str}/delete", scope=_WRITE)
async def delete_duty(db: Db, id: str) -> SeeOther:
    await actions.delete_duty(db, id)
    return SeeOther("/duties", "The duty was deleted.")


@screen("GET", "/rules/new", scope=_WRITE)
async def show_new_rule(db: Db) -> HtmlPage:
    return await _rule_form(db, {"enabled": ["yes"], "risk": [Level.HIGH], "response": [RuleResponse.APPROVE]}, {})


async def _rule_form(db: Db, form: Form, problems: dict[str, str], found: RuleDetail | None = None) -> HtmlPage:
    values = {
        "form": {name: texts[0] for name, texts in form.items() if texts},
        "chosen": form.get("conflicts", []),
        "problems": problems,
        "duties": await queries.names(db),
        "risks": [level for level in Level if level is not Level.NONE],
        "responses": RESPONSES,
        "rule": found,
    }
    return HtmlPage("duty_rule_form.html", values, 400 if problems else 200)


def _rule_body(form: Form) -> Json:
    return {
        **given(form, "name", "risk", "response"),
        "description": first(form, "description"),
        "conflicts": form.get("conflicts", []),
        "without": first(form, "without") or None,
        "ownerId": first(form, "ownerId") or None,
        "enabled": first(form, "enabled") == "yes",
    }


@screen("POST", "/rules/new", scope=_WRITE)
async def create_duty_rule(db: Db, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    try:
        async with db.transaction():
            found = await actions.create_rule(db, _rule_body(await with_people(db, form, "ownerId")), facts)
    except Invalid as error:
        return await _rule_form(db, form, problems_by_field(error))
    return SeeOther(f"/rules/{found.id}?tab=simulation", "The draft was created. It has no effect until you commit it.")


@screen("GET", "/rules/{id:str}", scope=_READ, query={"tab": one_among(*TABS)})
async def show_rule(db: Db, id: str, query: dict[str, Any], caller: Caller, facts: Facts) -> HtmlPage:
    found = await queries.get_rule(db, id)
    tab = query.get("tab") or TABS[0]
    definitions = [one for one in (found.committed, found.draft) if one]
    simulation, refusal = None, ""
    if tab == "simulation" and found.draft and _WRITE in caller.scopes:
        try:
            simulation = await conflict_actions.simulate_rule(db, caller, id, {"page": query["page"]}, facts)
        except Invalid as error:
            refusal = error.problems[0].message
    values = {
        "rule": found,
        "shown": found.committed or found.draft,
        "tab": tab,
        "tabs": TABS,
        "query": query,
        "names": {duty.id: duty.name for duty in found.duties},
        "owners": await console.people_names(db, [one.owner_id for one in definitions if one.owner_id]),
        "simulation": simulation,
        "refusal": refusal,
        "responses": RESPONSES,
        "conflicts": await conflicts.of_rule(db, found.id, 1),
    }
    return HtmlPage("duty_rule.html", values)


@screen("GET", "/rules/{id:str}/edit", scope=_WRITE)
async def show_rule_form(db: Db, id: str) -> HtmlPage:
    found = await queries.get_rule(db, id)
    current = found.draft or found.committed
    assert current
    form: Form = {
        "name": [current.name],
        "description": [current.description],
        "risk": [current.risk],
        "response": [current.response],
        "enabled": ["yes" if current.enabled else ""],
        "conflicts": [str(duty) for duty in current.conflicts],
        "without": [str(current.without or "")],
        "ownerId": [await finding.label_of(db, current.owner_id)],
    }
    return await _rule_form(db, form, {}, found)


@screen("POST", "/rules/{id:str}/edit", scope=_WRITE)
async def change_duty_rule(db: Db, id: str, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    found = await queries.get_rule(db, id)
    try:
        async with db.transaction():
            await actions.change_rule(db, id, _rule_body(await with_people(db, form, "ownerId")), facts)
    except Invalid as error:
        return await _rule_form(db, form, problems_by_field(error), found)
    return SeeOther(f"/rules/{id}?tab=simulation", "The draft was saved. It has no effect until you commit it.")


@screen("POST", "/rules/{id:str}/commit", scope=_WRITE)
async def commit_duty_rule(db: Db, caller: Caller, id: str, facts: Facts) -> SeeOther:
    found = await actions.commit_rule(db, caller, id, facts.now)
    assert found.committed
    effect = "is in effect" if found.committed.enabled else "disables the rule"
    return SeeOther(f"/rules/{id}", f"Version {found.version} was committed and {effect}.")


HANDLERS: list[HTTPRouteHandler] = [
    show_duties,
    show_all_duties,
    show_new_duty,
    create_duty,
    show_duty,
    show_duty_form,
    change_duty,
    delete_duty,
    show_new_rule,
    create_duty_rule,
    show_rule,
    show_rule_form,
    change_duty_rule,
    commit_duty_rule,
]
