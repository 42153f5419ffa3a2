from datetime import datetime
from typing import Any

from litestar import Router
from litestar.response.base import ASGIResponse

from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json, check
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool
from rolecall.core.errors import Forbidden
from rolecall.core.ids import known_guid
from rolecall.core.paging import Page
from rolecall.exports import queries as exports
from rolecall.exports.shapes import ExportItem
from rolecall.reports import actions, planning, queries, running
from rolecall.reports.shapes import NewReport, ReportChanges, ReportDetail, RunBody
from rolecall.web import exporting
from rolecall.web.bodies import AnyRequest
from rolecall.web.operations import operation, optional_json, sign_as


@operation("GET", "/", scope=Scope.APPLICATIONS_READ, query={})
async def list_reports(db: Db, query: dict[str, Any]) -> Page[ReportDetail]:
    """List reports, ordered by name, each with its last run."""
    return await queries.by_name(db, query["page"])


@operation("POST", "/", scope=Scope.CONFIG_MANAGE, status=201, body=NewReport)
async def create_report(db: Db, caller: Caller, raw: Json, facts: Facts, config: Config) -> ReportDetail:
    """Save a report: a list with filters, columns, a period and a format. This also requires the scope of the list."""
    return await queries.get(db, await actions.create_report(db, caller, raw, facts, config))


@operation("GET", "/{id:str}", scope=Scope.APPLICATIONS_READ)
async def get_report(db: Db, id: str) -> ReportDetail:
    """Get one report with its last run."""
    return await queries.get(db, id)


@operation("PATCH", "/{id:str}", scope=Scope.CONFIG_MANAGE, body=ReportChanges)
async def change_report(db: Db, id: str, caller: Caller, raw: Json, facts: Facts, config: Config) -> ReportDetail:
    """Change the given fields; null removes `schedule` or `ownerId`. This also requires the scope of the list."""
    await actions.change_report(db, caller, known_guid("Report", id), raw, facts, config)
    return await queries.get(db, id)


@operation("DELETE", "/{id:str}", scope=Scope.CONFIG_MANAGE, status=204)
async def delete_report(db: Db, id: str, now: datetime) -> None:
    """Delete a report; its runs stay in the list of exports."""
    await actions.delete_report(db, known_guid("Report", id), now)


@operation("POST", "/{id:str}/run", scope=Scope.APPLICATIONS_READ, body=RunBody, read_body=optional_json)
async def run_report(
    request: AnyRequest, pool: Pool, id: str, caller: Caller, raw: Json, facts: Facts, config: Config
) -> ASGIResponse:
    """Run a report and return the file. This also requires the scope of the report's list.

    Each entry of `filters` overrides the report's filter of that name; `format` overrides the report's format.

    The header `X-Export-Id` contains the id of the run; `GET /api/exports/{id}` has its row count and SHA-256.
    """
    body = check(RunBody, raw, facts)
    async with pool.connection() as db:
        report = await queries.get(db, id)
    planned = planning.plan(report, facts.now, config, filters=body.filters or {}, format=body.format)
    if planned.source.scope not in caller.scopes:
        raise Forbidden(planned.source.scope)
    services = request.app.state.services
    return await exporting.begin(
        services,
        planned.plan,
        caller.id,
        lambda db: planned.find(db, caller, config, facts.now),
        sign_as(services, caller, planned.source.scope, "run_report"),
    )


@operation("POST", "/{id:str}/write", scope=Scope.CONFIG_MANAGE)
async def write_report(db: Db, id: str, config: Config, now: datetime) -> ExportItem:
    """Start a run of a scheduled report now and return the run. A worker writes the file to the report's location."""
    run = await running.fire_now(db, known_guid("Report", id), config, now)
    return await exports.get(db, str(run))


@operation("GET", "/{id:str}/runs", scope=Scope.APPLICATIONS_READ, query={})
async def list_report_runs(db: Db, id: str, query: dict[str, Any]) -> Page[ExportItem]:
    """List the runs of a report, newest first: when, by whom, the outcome, row count and SHA-256."""
    report = await queries.get(db, id)
    return await exports.of_report(db, report.id, query["page"])


router = Router(
    "/api/reports",
    route_handlers=[
        list_reports,
        create_report,
        get_report,
        change_report,
        delete_report,
        run_report,
        write_report,
        list_report_runs,
    ],
    tags=["Administration"],
)
