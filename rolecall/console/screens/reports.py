from datetime import datetime
from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from rolecall.console import finding, signing_in
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.forms import (
    EditConflict,
    edit_conflict,
    filled,
    first,
    given,
    people_in,
    problems_by_field,
    shown,
    version_of,
)
from rolecall.console.frame import screen
from rolecall.console.inputs import Form, some_words
from rolecall.console.model import Person, Session
from rolecall.console.report_filters import FILTER, current_filters, filter_fields, with_ids
from rolecall.console.screens.exports import is_from_here, sign_as
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.cron import next_time
from rolecall.core.db import Db
from rolecall.core.errors import Forbidden, Invalid, NotFound
from rolecall.core.formats.formats import Format
from rolecall.core.ids import known_guid
from rolecall.exports import queries as exports
from rolecall.reports import actions, planning, queries, running
from rolecall.reports.authority import authority_of
from rolecall.reports.lists import known_lists
from rolecall.reports.model import ReportPeriod, has_past
from rolecall.reports.shapes import ReportDetail
from rolecall.web import exporting
from rolecall.web.bodies import AnyRequest
from rolecall.web.exporting import a_format
from rolecall.web.lists import ListSource

_READ, _CHANGE = Scope.APPLICATIONS_READ, Scope.CONFIG_MANAGE
_SHOWN_RUNS = 20


@screen("GET", "/reports", scope=_READ)
async def show_reports(db: Db, query: dict[str, Any], caller: Caller) -> HtmlPage:
    page = await queries.by_name(db, query["page"])
    return HtmlPage("reports.html", {"page": page, "query": query, "readable": _readable(caller)})


def _readable(caller: Caller) -> set[str]:
    """Return the lists that a person may read; the person may run reports on these lists."""
    return {name for name, source in known_lists().items() if source.scope in caller.scopes}


@screen("GET", "/reports/new", scope=_CHANGE, query={"list": some_words})
async def show_new_report(db: Db, query: dict[str, Any], caller: Caller, person: Person) -> HtmlPage:
    """Ask for the list first; the rest of the form depends on its filters and columns."""
    chosen = known_lists().get(query.get("list") or "")
    if chosen is None or chosen.scope not in caller.scopes:
        return HtmlPage("report_list.html", {"lists": sorted(_readable(caller))})
    period = ReportPeriod.LAST_MONTH if "from" in chosen.filters else ReportPeriod.NOW
    owner = await finding.label_of(db, person.id)
    return await _form(db, chosen, {"list": [chosen.name], "period": [period], "ownerId": [owner]}, {})


async def _form(db: Db, source: ListSource, form: Form, problems: dict[str, str]) -> HtmlPage:
    values = {
        "form": shown(form),
        "problems": problems,
        "fields": await filter_fields(db, source),
        "columns": [column.name for column in source.columns],
        "chosen": form.get("columns", []),
        "recipients": filled(form, "recipientIds"),
        "periods": list(ReportPeriod) if has_past(source.filters.keys()) else [ReportPeriod.NOW],
        "formats": list(Format),
    }
    return HtmlPage("report_form.html", values, 400 if problems else 200)


async def _body(db: Db, source: ListSource, entered: Form) -> Json:
    form = await with_ids(db, source, entered)
    # Null if the form has neither a cron expression nor a location; null removes the schedule.
    schedule = given(form, "schedule.cron", "schedule.location").get("schedule")
    filters = {name.removeprefix(FILTER): first(form, name) for name in form if name.startswith(FILTER)}
    return {
        **given(form, "name", "list", "period", "format"),
        "description": first(form, "description"),
        "filters": {name: text for name, text in filters.items() if text},
        "columns": form.get("columns", []),
        "schedule": schedule,
        "ownerId": first(form, "ownerId") or None,
        "recipientIds": await people_in(db, form, "recipientIds"),
    }


def _source_of(form: Form) -> ListSource:
    name = first(form, "list")
    if name not in known_lists():
        raise NotFound("List", name)
    return known_lists()[name]


@screen("POST", "/reports/new", scope=_CHANGE)
async def create_report(db: Db, form: Form, caller: Caller, facts: Facts, config: Config) -> HtmlPage | SeeOther:
    source = _source_of(form)
    try:
        async with db.transaction():
            body = await _body(db, source, form)
            id = await actions.create_report(db, caller, body, facts, config)
    except Invalid as error:
        return await _form(db, source, form, problems_by_field(error))
    return SeeOther(f"/reports/{id}", f"{first(form, 'name')} was saved. Run it to download the file.")


async def _current(db: Db, report: ReportDetail) -> Form:
    return {
        "name": [report.name],
        "description": [report.description],
        "list": [report.list],
        "period": [report.period],
        "format": [report.format],
        "columns": list(report.columns),
        "schedule.cron": [report.schedule.cron if report.schedule else ""],
        "schedule.location": [report.schedule.location if report.schedule else ""],
        "ownerId": [await finding.label_of(db, report.owner.id) if report.owner else ""],
        "recipientIds": [await finding.label_of(db, person.id) for person in report.recipients],
        **await current_filters(db, report),
    }


@screen("GET", "/reports/{id:str}", scope=_READ)
async def show_report(db: Db, id: str, caller: Caller, now: datetime, config: Config) -> HtmlPage:
    report = await queries.get(db, id)
    current = await _current(db, report)
    form = {**current, "version": [version_of(current)]}
    return await _page(db, report, form, caller, now, config)


async def _page(
    db: Db,
    report: ReportDetail,
    form: Form,
    caller: Caller,
    now: datetime,
    config: Config,
    problems: dict[str, str] | None = None,
    late: EditConflict | None = None,
) -> HtmlPage:
    # A report of a list that no longer exists can still be read and deleted.
    source = known_lists().get(report.list)
    values = {
        "report": report,
        "late": late,
        "runs": (await exports.of_report(db, report.id, 1)).items[:_SHOWN_RUNS],
        "next_run": report.schedule and next_time(report.schedule.cron, now, config.timezone),
        "may_run": report.list in _readable(caller),
        "scope": source.scope if source else "",
        "stopped": report.schedule
        and source
        and (await authority_of(db, report, source.scope, signing_in.scopes_of, now)).refusal,
        **((await _form(db, source, form, problems or {})).values if source else {}),
    }
    return HtmlPage("report.html", values, 409 if late else 400 if problems else 200)


@screen("POST", "/reports/{id:str}", scope=_CHANGE)
async def change_report(
    db: Db, id: str, form: Form, caller: Caller, facts: Facts, config: Config
) -> HtmlPage | SeeOther:
    report = await queries.get(db, id)
    if late := await edit_conflict(db, first(form, "version"), report.id, _current(db, report)):
        return await _page(db, report, {**form, "version": [late.version]}, caller, facts.now, config, late=late)
    try:
        async with db.transaction():
            body = await _body(db, _source_of(form), form)
            await actions.change_report(db, caller, report.id, body, facts, config)
    except Invalid as error:
        return await _page(db, report, form, caller, facts.now, config, problems_by_field(error))
    return SeeOther(f"/reports/{id}", f"{first(form, 'name')} was saved")


_OPERATIONS = {"write": "write_report", "delete": "delete_report"}


@screen("POST", "/reports/{id:str}/{verb:str}", scope=_CHANGE, verbs=_OPERATIONS)
async def perform_on_report(db: Db, id: str, verb: str, facts: Facts, config: Config) -> SeeOther:
    report = await queries.get(db, known_guid("Report", id))
    match verb:
        case "write":
            await running.fire_now(db, report.id, config, facts.now)
            return SeeOther(f"/reports/{id}", "The file is being written. Reload the page to see the result.")
        case "delete":
            await actions.delete_report(db, report.id, facts.now)
            return SeeOther("/reports", f"{report.name} was deleted. Its runs stay in the list of exports.")
    raise NotFound("Action", verb)


@screen("GET", "/reports/{id:str}/run", scope=_READ, query={"format": a_format})
async def run_report(
    request: AnyRequest,
    db: Db,
    id: str,
    session: Session,
    caller: Caller,
    query: dict[str, Any],
    config: Config,
    now: datetime,
) -> ASGIResponse:
    report = await queries.get(db, id)
    if not is_from_here(request):
        raise NotFound("Report", id)
    filters = {name: text for name, text in request.query_params.items() if name not in ("format", "page")}
    planned = planning.plan(report, now, config, filters=filters, format=query.get("format"))
    if planned.source.scope not in caller.scopes:
        raise Forbidden(planned.source.scope)
    return await exporting.begin(
        request.app.state.services,
        planned.plan,
        caller.id,
        lambda db: planned.find(db, caller, config, now),
        sign_as(session, caller, planned.source.scope, "run_report"),
    )


HANDLERS: list[HTTPRouteHandler] = [
    show_reports,
    show_new_report,
    create_report,
    show_report,
    change_report,
    perform_on_report,
    run_report,
]
