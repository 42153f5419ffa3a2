from collections.abc import AsyncGenerator, Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec.structs import replace
from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.errors import Forbidden, Invalid, NotFound, Problem
from rolecall.core.ids import new_id
from rolecall.identities.queries import with_mentioned_identities
from rolecall.reports import planning, queries
from rolecall.reports.destination import missing_folder, problem_of
from rolecall.reports.lists import list_named
from rolecall.reports.model import AS_OF, ReportPeriod
from rolecall.reports.shapes import NewReport, ReportChanges, ReportDetail, ReportFields
from rolecall.web.lists import RECORD


async def create_report(db: Db, caller: Caller, raw: Json, facts: Facts, config: Config) -> UUID:
    """Save a report and return its id; raise Forbidden if the caller must not read the report's list."""
    facts = await with_mentioned_identities(db, facts, raw)
    body = check(NewReport, raw, facts)
    values = {
        "name": body.name,
        "list": body.list,
        "owner_id": body.owner_id,
        "recipient_ids": _each_once(body.recipient_ids or []),
        **_columns(body),
    }
    id = new_id()
    await _write(
        db,
        f"""INSERT INTO reports (id, created_date, {", ".join(values)})
            VALUES (%(id)s, %(now)s, {", ".join(f"%({name})s" for name in values)})""",
        id=id,
        now=facts.now,
        **values,
    )
    await _check(db, caller, id, facts, config)
    return id


async def change_report(db: Db, caller: Caller, id: UUID, raw: Json, facts: Facts, config: Config) -> None:
    """Change the fields in the body; null removes the schedule or the owner."""
    await _lock(db, id)
    facts = await with_mentioned_identities(db, facts, raw)
    body = check(ReportChanges, raw, facts)
    values = {**body.model_dump(include={"name", "list", "owner_id"}, exclude_none=True), **_columns(body)}
    # The parsed body does not tell null from an omitted field, so look at the raw body.
    if "schedule" in raw and raw["schedule"] is None:
        values |= {"cron": None, "location": None}
    if "ownerId" in raw and raw["ownerId"] is None:
        values["owner_id"] = None
    if body.recipient_ids is not None:
        values["recipient_ids"] = _each_once(body.recipient_ids)
    if values:
        assignments = ", ".join(f"{name} = %({name})s" for name in values)
        await _write(db, f"UPDATE reports SET {assignments} WHERE id = %(id)s", id=id, **values)
    await _check(db, caller, id, facts, config)


async def delete_report(db: Db, id: UUID, now: datetime) -> None:
    """Mark a report as deleted; its runs stay in the list of exports."""
    await _lock(db, id)
    await execute(
        db,
        "UPDATE reports SET deleted_on = %(now)s, cron = NULL, location = NULL WHERE id = %(id)s",
        id=id,
        now=now,
    )


def _each_once(ids: Sequence[UUID]) -> list[UUID]:
    return list(dict.fromkeys(ids))


def _columns(body: ReportFields) -> dict[str, Any]:
    values = body.model_dump(include={"description", "columns", "period", "format"}, exclude_none=True)
    if body.filters is not None:
        values["filters"] = Jsonb(body.filters)
    if body.schedule:
        values |= {"cron": body.schedule.cron, "location": body.schedule.location}
    return values


async def _lock(db: Db, id: UUID) -> None:
    if not await fetch_value(db, "SELECT true FROM reports WHERE id = %(id)s AND deleted_on IS NULL FOR UPDATE", id=id):
        raise NotFound("Report", id)


async def _write(db: Db, sql: str, **values: Any) -> None:
    try:
        await execute(db, sql, **values)
    except UniqueViolation:
        raise Invalid.on("name", f"A report named {values['name']} already exists; choose another name") from None


async def _check(db: Db, caller: Caller, id: UUID, facts: Facts, config: Config) -> None:
    """Check the saved report as a whole; an error rolls the transaction back."""
    report = await queries.get(db, id)
    scope = list_named(report.list).scope
    # Without this check, a schedule would write a list that its author must not read.
    if scope not in caller.scopes:
        raise Forbidden(scope)
    problems = [*_problems(report, facts, config)]
    # `_unreadable` can check only a report with a valid plan.
    if problems := problems or [problem async for problem in _unreadable(db, caller, report, facts, config)]:
        raise Invalid(*problems)


async def _unreadable(
    db: Db, caller: Caller, report: ReportDetail, facts: Facts, config: Config
) -> AsyncGenerator[Problem]:
    """If the filters contain a record or `asOf`, open the list without reading rows, and yield the problems found."""
    if not report.filters.keys() & {AS_OF, RECORD}:
        return
    # Plan without the period, because there may be no data for the period yet when the report is saved.
    planned = planning.plan(replace(report, period=ReportPeriod.NOW), facts.now, config)
    try:
        await planned.find(db, caller, config, facts.now)
    except NotFound as error:
        yield Problem(f"filters.{RECORD}", str(error))
    except Invalid as error:
        for problem in error.problems:
            yield Problem(f"filters.{problem.field}", problem.message)


def _problems(report: ReportDetail, facts: Facts, config: Config) -> Iterator[Problem]:
    try:
        planning.plan(report, facts.now, config)
    except Invalid as error:
        yield from error.problems
    if report.schedule:
        roots, location = config.report_roots, report.schedule.location
        if problem := problem_of(roots, location) or missing_folder(roots, location):
            yield Problem("schedule.location", problem)
