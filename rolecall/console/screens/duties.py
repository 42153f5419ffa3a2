"""Screens of separation of duties: the overview with its matrix, duties and rules."""

from datetime import datetime, timedelta
from typing import Any

from litestar.handlers import HTTPRouteHandler
from markupsafe import Markup

from rolecall.accounts.model import Access
from rolecall.conflicts import actions as conflict_actions
from rolecall.conflicts import overview
from rolecall.conflicts import queries as conflicts
from rolecall.conflicts.model import ExceptionStatus
from rolecall.conflicts.shapes import ConflictException
from rolecall.console import finding
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.charts import ChartLevel, step_line
from rolecall.console.forms import first, given, permission_in, problems_by_field, with_people
from rolecall.console.frame import screen
from rolecall.console.inputs import Form, a_day, one_among
from rolecall.console.screens.access import FUTURE, end_of
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.duties import actions, queries
from rolecall.duties.model import ConflictStatus, Pattern, RuleResponse
from rolecall.duties.shapes import DutyDetail, RuleDetail
from rolecall.settings.policy import Level

_READ, _WRITE = Scope.DUTIES_READ, Scope.DUTIES_WRITE
_TREND_DAYS = 365
_SHOWN = 10
TABS = ("contents", "simulation")
# The response of a rule to a request, in words.
RESPONSES = {
    RuleResponse.WARN: "Shows a warning",
    RuleResponse.APPROVE: "Owner must approve",
    RuleResponse.BLOCK: "Is refused",
}


@screen("GET", "/duties", scope=_READ, query={"asOf": a_day})
async def show_duties(db: Db, query: dict[str, Any], facts: Facts, config: Config) -> HtmlPage:
    """Show the overview, now or at the end of a past day by the rules of today."""
    asked = query.get("asOf")
    day = asked if asked and asked < facts.today else None
    moment = end_of(day, config)
    found = await conflicts.newest_first(db, 1, conflicts.ConflictFilters(status=ConflictStatus.OPEN), moment)
    values = {
        "query": query,
        "as_of": day,
        "today": facts.today,
        "problem": FUTURE if asked and asked > facts.today else None,
        "matrix": await overview.matrix(db, moment),
        "trend": await _trend(db, moment or facts.now),
        "rules": await queries.rules_by_name(db, query["page"]),
        "duties": await queries.by_name(db, 1),
        "open": found,
        "shown": found.items[:_SHOWN],
        "exceptions": await _exceptions(db, moment),
        "responses": RESPONSES,
    }
    return HtmlPage("duties.html", values)


async def _exceptions(db: Db, moment: datetime | None) -> list[ConflictException]:
    """List the exceptions in force, and without a moment also those that wait for approval."""
    if moment:
        return await conflicts.exceptions_at(db, moment)
    in_use = (ExceptionStatus.PENDING, ExceptionStatus.APPROVED)
    return [one for one in (await conflicts.exceptions(db, 1)).items if one.status in in_use]


async def _trend(db: Db, now: datetime) -> Markup | None:
    """Draw the number of conflicts, excepted ones included, over a year."""
    start = now - timedelta(days=_TREND_DAYS)
    steps = await overview.open_over_time(db, start, now)
    if not steps:
        return None
    title = f"Conflicts over 12 months: {steps[-1][1]:,} now"
    levels = [ChartLevel(moment, count, "", "", "") for moment, count in steps]
    return step_line(title, "conflicts", levels, start, now)


@screen("GET", "/duties/new", scope=_WRITE)
async def show_new_duty() -> HtmlPage:
    return _duty_form({}, {})


def _duty_form(form: dict[str, str], problems: dict[str, str], found: DutyDetail | None = None) -> HtmlPage:
    return HtmlPage("duty_form.html", {"form": form, "problems": problems, "duty": found}, 400 if problems else 200)


def _duty_body(form: Form) -> Json:
    lines = [line.strip() for line in first(form, "patterns").splitlines() if line.strip()]
    return {
        "name": first(form, "name"),
        "description": first(form, "description"),
        "patterns": [_pattern(line) for line in lines],
    }


def _pattern(line: str) -> Json:
    """Parse `Application: group Name` or `Application: Header / Section / Permission = Access`."""
    application, _, rest = line.rpartition(": ")
    there = {"application": application} if application else {}
    if rest.lower().startswith("group "):
        return {**there, "group": rest[len("group ") :].strip()}
    names, _, access = rest.partition(" = ")
    named = {name: text for name, text in permission_in(names).items() if text}
    return {**there, **named, **({"access": access.strip()} if access else {})}


def _line(pattern: Pattern) -> str:
    there = "" if pattern.application == "*" else f"{pattern.application}: "
    if pattern.group:
        return f"{there}group {pattern.group}"
    # With a section, write a missing header as `*`, so that the section stays in second place.
    names = [pattern.header, pattern.section, pattern.permission]
    words = " / ".join(name or "*" for name in names) if pattern.section else " / ".join(filter(None, names))
    return there + words + ("" if pattern.access is Access.GRANT else f" = {pattern.access}")


@screen("POST", "/duties/new", scope=_WRITE)
async def create_duty(db: Db, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    try:
        async with db.transaction():
            found = await actions.create_duty(db, _duty_body(form), facts)
    except Invalid as error:
        return _duty_form({name: first(form, name) for name in form}, _joined(error))
    return SeeOther(f"/duties/{found.id}", "The duty was created.")


def _joined(error: Invalid) -> dict[str, str]:
    """Show problems of single patterns at the field that holds all of them."""
    return {field.partition(".")[0]: message for field, message in problems_by_field(error).items()}


@screen("GET", "/duties/{id:str}", scope=_READ)
async def show_duty(db: Db, id: str, query: dict[str, Any]) -> HtmlPage:
    found = await queries.get(db, id)
    holders = await queries.holders(db, id, query["page"], None)
    return HtmlPage("duty.html", {"duty": found, "page": holders, "query": query})


@screen("GET", "/duties/{id:str}/edit", scope=_WRITE)
async def show_duty_form(db: Db, id: str) -> HtmlPage:
    found = await queries.get(db, id)
    lines = [
        _line(Pattern(p.application, p.group, p.header, p.section, p.permission, p.access)) for p in found.patterns
    ]
    form = {"name": found.name, "description": found.description, "patterns": "\n".join(lines)}
    return _duty_form(form, {}, found)


@screen("POST", "/duties/{id:str}/edit", scope=_WRITE)
async def change_duty(db: Db, id: str, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    found = await queries.get(db, id)
    try:
        async with db.transaction():
            await actions.change_duty(db, id, _duty_body(form), facts)
    except Invalid as error:
        return _duty_form({name: first(form, name) for name in form}, _joined(error), found)
    return SeeOther(f"/duties/{id}", "The duty was saved. Its holders and conflicts are up to date.")


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
        "duties": (await queries.by_name(db, 1)).items,
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
    return SeeOther(f"/rules/{id}", f"Version {found.version} is in effect")


HANDLERS: list[HTTPRouteHandler] = [
    show_duties,
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
