"""Responses about applications."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer, ApplicationSummary, Json


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
    """An import without its application, as creation returns it and as `lastImport` shows it."""

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
