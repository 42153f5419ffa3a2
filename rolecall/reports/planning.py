"""Turn a report into an export plan: its list, filters, columns and format at a given time."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from rolecall.core.caller import Caller
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid, Problem
from rolecall.core.exporting import Plan
from rolecall.core.formats.formats import Format
from rolecall.core.ids import new_id
from rolecall.core.paging import Page
from rolecall.reports.lists import list_named
from rolecall.reports.model import AS_OF, FROM, UNTIL, ReportPeriod, filters_of, has_past
from rolecall.reports.shapes import ReportDetail
from rolecall.web.lists import RECORD, ListSource, choose_columns, find_all, read_filters
from rolecall.web.periods import end_of, start_of


class PlannedRun(msgspec.Struct, frozen=True):
    """A run that is about to begin, with its parsed filters."""

    source: ListSource
    plan: Plan
    query: dict[str, Any]

    async def find(self, db: Db, caller: Caller, config: Config, now: datetime) -> Page[Any]:
        return await find_all(self.source, db, self.query, self.plan.filters.get(RECORD, ""), caller, config, now)


def plan(
    report: ReportDetail,
    now: datetime,
    config: Config,
    *,
    filters: Mapping[str, str] = {},
    format: Format | None = None,
) -> PlannedRun:
    """Plan a run at a given time. `filters` and `format` override the report's; an empty text removes a filter."""
    source, problems = list_named(report.list), list[Problem]()
    known = source.filters.keys()
    if report.period != ReportPeriod.NOW and not has_past(known):
        problems.append(Problem("period", f"The list {source.name} has no history; set the period to Now"))
    given = {name: text for name, text in {**report.filters, **filters}.items() if text}
    # A time in the filters overrides the period of the report.
    rule = {} if given.keys() & {AS_OF, FROM, UNTIL} else filters_of(report.period, known, now, config.timezone)
    columns, query = source.columns, dict[str, Any]()
    try:
        # The period of a list without history is already reported as a problem, so do not convert it to filters.
        query = read_filters(source, {**(rule if has_past(known) else {}), **given})
    except Invalid as error:
        problems += error.problems
    problems += _backwards(query, config)
    try:
        columns = choose_columns(source, list(report.columns))
    except Invalid as error:
        problems += error.problems
    if problems:
        raise Invalid(*problems)
    made = Plan(
        id=new_id(),
        list=source.name,
        filters={**rule, **given},
        columns=columns,
        format=format or report.format,
        is_chosen=bool(report.columns),
        report_id=report.id,
        name=file_stem(report.name),
    )
    return PlannedRun(source, made, query)


def _backwards(query: dict[str, Any], config: Config) -> list[Problem]:
    """Return the problems of a period: a time that cannot be parsed, or an end that is not after the start."""
    try:
        start, end = start_of(query, config), end_of(query, config)
    except Invalid as error:
        return [Problem(f"filters.{problem.field}", problem.message) for problem in error.problems]
    is_backwards = start is not None and end is not None and end <= start
    return [Problem(f"filters.{UNTIL}", "Until must be after the start of the period (from)")] if is_backwards else []


# A file name can have 255 bytes. Besides this part, it contains a time, the id of the run, and suffixes.
MOST_BYTES = 120


def file_stem(name: str) -> str:
    """Return a file name without extension that is safe in shells: letters, digits, underscores and dashes."""
    stem = re.sub(r"[^\w]+", "-", name.replace("'", "").lower()).strip("-_") or "report"
    # The limit may split a character; `ignore` drops its first bytes.
    return stem.encode()[:MOST_BYTES].decode(errors="ignore")


def unplanned(report: ReportDetail) -> Plan:
    """Return a plan for an invalid report, so that its run can be recorded as failed."""
    return Plan(
        id=new_id(),
        list=report.list,
        filters=report.filters,
        columns=(),
        format=report.format,
        report_id=report.id,
        name=file_stem(report.name),
    )
