"""Define the responses about applications, their imports and dry runs."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer, ApplicationSummary, Json, Person


class FileGroup(Answer):
    file_group_id: UUID
    name: str
    is_optional: bool
    is_multiple: bool


class Connector(Answer):
    id: UUID
    name: str
    vendor: str
    files: list[FileGroup] | None


class ImportFile(Answer):
    id: UUID
    file_group_id: UUID
    file_group: str
    name: str


class Changes(Answer):
    total: int
    new: int
    altered: int
    removed: int


class PermissionChanges(Answer):
    total: int
    new: int


class Metrics(Answer):
    users: Changes
    groups: Changes
    permissions: PermissionChanges


class ImportItem(Answer):
    id: UUID
    kind: str
    number: int
    type: str
    status: str
    build_start: datetime | None
    build_end: datetime | None
    application: ApplicationSummary


class NewImport(Answer):
    """An import without its application: one just created, or the `lastImport` of an application."""

    id: UUID
    kind: str
    number: int
    type: str
    status: str
    created_by: str
    build_start: datetime | None
    build_end: datetime | None
    log: str | None
    files: list[ImportFile]
    metrics: Metrics | None


class Import(NewImport):
    application: ApplicationSummary

    @property
    def is_over(self) -> bool:
        return self.status in ("Finished", "Failed", "Canceled")


class Application(ApplicationSummary):
    connector: Connector | None
    last_import: NewImport | None


class ApplicationConfiguration(Answer):
    id: UUID
    name: str
    priority: str
    is_identity_source: bool
    is_archived: bool
    connector: Json | None
    schedule: Json | None
    owner_id: UUID | None
    provisioner_ids: list[UUID]
    guard: Json | None
    review_every_months: int | None
    surprise_reviews: bool


class Change(Answer):
    kind: str
    change: str
    name: str
    before: Json | None
    after: Json | None


class Reject(Answer):
    file_id: UUID
    file: str
    line: int
    reason: str
    row: list[str]


class DryRunFile(Answer):
    id: UUID
    file_group: str
    name: str
    read: int | None
    applied: int | None
    unchanged: int | None
    rejected: int | None


class ChangeCount(Answer):
    kind: str
    new: int
    altered: int
    removed: int


class MatchCounts(Answer):
    matched: int
    unmatched: int
    disputed: int
    never: int


class Dispute(Answer):
    username: str
    people: list[Person]


class DryRunTotals(Answer):
    accounts: int
    active: int
    inactive: int
    groups: int
    memberships: int
    permissions: int
    assignments: int


class ContentReading(Answer):
    file: str
    content: str
    rows: int
    read: int
    rejected: int
    left_out: dict[str, int]
    columns_not_read: list[str]
    cells_not_read: int
    columns_ignored: dict[str, str]


class DryRun(Answer):
    id: UUID
    kind: str
    status: str
    application: ApplicationSummary | None
    created_by: str
    created_date: datetime
    started_date: datetime | None
    ended_date: datetime | None
    files: list[DryRunFile]
    log: list[str]
    problem: str | None
    held: str | None
    metrics: Metrics | None
    changes: list[ChangeCount] | None
    matches: MatchCounts | None
    disputes: list[Dispute] | None
    totals: DryRunTotals | None
    readings: list[ContentReading] | None

    @property
    def is_over(self) -> bool:
        return self.status in ("Finished", "Failed")


class ProposedColumn(Answer):
    header: str
    field: str | None
    confidence: float
    evidence: str
    is_ignored: bool
    examples: list[str]


class Choice(Answer):
    label: str
    key: str
    value: str


class OpenQuestion(Answer):
    text: str
    choices: list[Choice]


class ProposedContent(Answer):
    content: str
    confidence: float
    evidence: list[str]
    columns: list[ProposedColumn]
    shape: Json
    questions: list[OpenQuestion]
    understood: list[dict[str, str]]
    place: str | None
    statements: list[str]


class ColumnAccount(Answer):
    header: str
    place: str | None
    becomes: str
    how: str
    may_be_access: str | None
    separator: str | None
    values: int
    examples: list[str]


class ProposedFile(Answer):
    name: str
    size: int
    problem: str | None
    format: str | None
    encoding: str | None
    delimiter: str | None
    header_line: int | None
    evidence: list[str]
    file_group: str | None
    contents: list[ProposedContent]
    raw: list[str]
    sheet: str | None
    sheets: list[str]
    records: str | None
    lists: list[str]
    columns: list[ColumnAccount]


class FileGroupTemplate(Answer):
    name: str
    is_optional: bool
    is_multiple: bool
    content: str
    columns: dict[str, str]
    encoding: str | None
    allow_rejects: bool
    shape: Json | None


class ConnectorTemplate(Answer):
    id: UUID | None
    name: str
    vendor: str
    description: str
    files: list[FileGroupTemplate]
    created_by: str | None
    created_date: datetime | None


class ConnectorTemplates(Answer):
    templates: list[ConnectorTemplate]


class Proposal(Answer):
    connector: Json
    is_identity_source: bool
    files: list[ProposedFile]
