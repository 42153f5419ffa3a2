"""Calls about reports."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id


class ReportFields(TypedDict, total=False):
    description: str
    filters: Json
    columns: Sequence[str]
    period: str
    format: str
    schedule: Json | None
    owner_id: Id | None


class ReportChanges(ReportFields, total=False):
    name: str
    list: str


def list_reports() -> Call[Page[answers.Report]]:
    """List reports by name, each with its last run."""
    return describe.get(Page[answers.Report], "/api/reports")


def get_report(report_id: Id) -> Call[answers.Report]:
    """Show a report."""
    return describe.get(answers.Report, "/api/reports/{}", report_id)


def create_report(name: str, list: str, **fields: Unpack[ReportFields]) -> Call[answers.Report]:
    """Save a report: a list with filters, columns, a period, a format and perhaps a schedule."""
    return describe.call("POST", answers.Report, "/api/reports", body={"name": name, "list": list, **fields})


def change_report(report_id: Id, **fields: Unpack[ReportChanges]) -> Call[answers.Report]:
    """Change the given fields of a report."""
    return describe.call("PATCH", answers.Report, "/api/reports/{}", report_id, body=fields)


def delete_report(report_id: Id) -> Call[None]:
    """Delete a report; its runs can still be read."""
    return describe.call("DELETE", type(None), "/api/reports/{}", report_id)


def run_report(report_id: Id, *, format: str | None = None, filters: Json | None = None) -> Call[bytes]:
    """Run a report and get the file; `filters` replace those of the report."""
    given = {"format": format, "filters": filters}
    body = {name: value for name, value in given.items() if value is not None}
    return describe.call("POST", bytes, "/api/reports/{}/run", report_id, body=body)


def write_report(report_id: Id) -> Call[answers.Export]:
    """Write a scheduled report to its location now; a worker carries it out."""
    return describe.post(answers.Export, "/api/reports/{}/write", report_id)


def list_report_runs(report_id: Id) -> Call[Page[answers.Export]]:
    """List the runs of a report, the newest first."""
    return describe.get(Page[answers.Export], "/api/reports/{}/runs", report_id)
