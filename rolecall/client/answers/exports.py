"""Responses about exports."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer, Json, Person


class ExportCaller(Answer):
    id: UUID
    kind: str
    name: str


class Export(Answer):
    id: UUID
    kind: str
    list: str
    filters: Json
    columns: Sequence[str]
    format: str
    status: str
    created_by: ExportCaller
    reason: str | None
    started_on: datetime
    finished_on: datetime | None
    row_count: int | None
    byte_count: int | None
    sha256: str | None
    report_id: UUID | None
    location: str | None


class ReportSchedule(Answer):
    cron: str
    location: str


class Report(Answer):
    id: UUID
    kind: str
    name: str
    description: str
    list: str
    filters: dict[str, str]
    columns: Sequence[str]
    period: str
    format: str
    schedule: ReportSchedule | None
    owner: Person | None
    created_date: datetime
    last_run: Export | None
