"""Define shapes of applications, connectors, schedules and imports. Other packages embed some of them."""

import codecs
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from rolecall.applications.file_shape import GroupShape
from rolecall.applications.file_shape_body import ColumnFields, GroupShapeBody, known_shape, repeated
from rolecall.applications.model import Content, ImportStatus, ImportType
from rolecall.core.checking import (
    STRIPPED,
    Body,
    Flag,
    Guid,
    IdentityId,
    Maybe,
    Name256,
    OptionalName,
    OptionalName256,
    Text256,
    broken,
    facts_of,
    one_of,
)
from rolecall.core.cron import CronLine
from rolecall.core.roots import is_plain
from rolecall.settings.model import Guard
from rolecall.settings.policy import Level
from rolecall.settings.shapes import GuardBody


class ApplicationSummary(msgspec.Struct, rename="camel"):
    id: UUID
    kind: Literal["Application"]
    name: str
    priority: Level
    is_archived: bool
    last_updated: datetime


class FileGroup(msgspec.Struct, rename="camel"):
    file_group_id: UUID
    name: str
    is_optional: bool
    is_multiple: bool


class ApplicationConnector(msgspec.Struct, rename="camel"):
    id: UUID
    name: str
    vendor: str
    files: list[FileGroup] | None


class ImportFile(msgspec.Struct, rename="camel"):
    id: UUID
    file_group_id: UUID
    file_group: str
    name: str


class Changes(msgspec.Struct):
    total: int = 0
    new: int = 0
    altered: int = 0
    removed: int = 0


class PermissionChanges(msgspec.Struct):
    total: int = 0
    new: int = 0


class Metrics(msgspec.Struct):
    users: Changes = msgspec.field(default_factory=Changes)
    groups: Changes = msgspec.field(default_factory=Changes)
    permissions: PermissionChanges = msgspec.field(default_factory=PermissionChanges)


class Import(msgspec.Struct, rename="camel"):
    """An import without its application; defined here because `lastImport` uses it."""

    id: UUID
    kind: Literal["Application Import"]
    number: int
    type: ImportType
    status: ImportStatus
    created_by: str
    build_start: datetime | None
    build_end: datetime | None
    log: str | None
    files: list[ImportFile]
    metrics: Metrics | None


class ApplicationDetail(ApplicationSummary):
    connector: ApplicationConnector | None
    last_import: Import | None


class FileGroupConfiguration(msgspec.Struct, rename="camel"):
    name: str
    is_optional: bool
    is_multiple: bool
    content: Content
    columns: dict[str, str]
    encoding: str | None
    allow_rejects: bool
    shape: GroupShape | None = None


class ConnectorConfiguration(msgspec.Struct):
    name: str
    vendor: str
    files: list[FileGroupConfiguration] | None


class Schedule(msgspec.Struct):
    cron: str
    locations: dict[str, str]


class ApplicationConfiguration(msgspec.Struct, rename="camel"):
    """The configuration of an application. A null guard means the default guard of the settings."""

    id: UUID
    name: str
    priority: Level
    is_identity_source: bool
    is_archived: bool
    connector: ConnectorConfiguration | None
    schedule: Schedule | None
    owner_id: UUID | None
    provisioner_ids: list[UUID]
    guard: Guard | None
    review_every_months: int | None
    surprise_reviews: bool


def _exists(id: UUID, info: ValidationInfo) -> UUID:
    if id in facts_of(info).applications:
        return id
    raise broken(f"Application with id {id} not found")


def _is_live(id: UUID, info: ValidationInfo) -> UUID:
    if id in facts_of(info).archived_applications:
        raise broken("Application is archived")
    return id


ApplicationId = Annotated[Guid, AfterValidator(_exists)]
LiveApplicationId = Annotated[ApplicationId, AfterValidator(_is_live)]


def _is_safe(location: str) -> str:
    """Check the syntax of a location. A path is checked again when it is read, with symbolic links resolved."""
    if "://" in location and not is_plain(location):
        raise broken("Location must not contain .. or \\ or unprintable characters, encoded or not")
    # SFTP needs a user name in the URL; a password would be visible to every reader of schedules.
    if "://" in location and ":" in location.partition("://")[2].partition("/")[0].rpartition("@")[0]:
        raise broken("Location must not contain a password")
    return location


Location = Annotated[OptionalName, Field(max_length=2048), AfterValidator(_is_safe)]
PriorityName = Annotated[Level, one_of(Level)]


class FileGroupBody(Body):
    name: Name256
    is_optional: Flag = False
    is_multiple: Flag = False
    content: Annotated[Content, one_of(Content)]
    columns: ColumnFields = Field(default_factory=dict)
    encoding: str | None = None
    allow_rejects: Flag = False
    shape: Annotated[GroupShapeBody, AfterValidator(known_shape)] | None = None

    @property
    def contents(self) -> list[Content]:
        """Return every kind of content that the files of the group provide."""
        further = [each.content for each in self.shape.contents or ()] if self.shape else []
        shapes = [self.shape, *(each.shape for each in self.shape.contents or ())] if self.shape else []
        derived = [Content.USERS] if any(shape and shape.derive_users for shape in shapes) else []
        return [self.content, *further, *derived]

    @field_validator("encoding")
    @classmethod
    def known_encoding(cls, encoding: str) -> str:
        try:
            b"x".decode(encoding, "replace")
            return codecs.lookup(encoding).name
        except (LookupError, ValueError):
            raise broken("{name} must be a character encoding such as windows-1252") from None


class ConnectorBody(Body):
    name: Name256
    vendor: Text256 = ""
    files: Annotated[list[FileGroupBody], Field(max_length=50)] | None = None

    @field_validator("files")
    @classmethod
    def one_group_a_name_and_content(cls, files: list[FileGroupBody]) -> list[FileGroupBody]:
        if twice := repeated(file.name for file in files):
            raise broken(f"Two file groups are named {twice}; rename one")
        if twice := repeated(content for file in files for content in file.contents):
            raise broken(f"Two file groups contain {twice}; allow several files in one group instead")
        return files


class ScheduleBody(Body):
    cron: CronLine
    locations: dict[Annotated[str, STRIPPED], Location] = Field(default_factory=dict)


MOST_PROVISIONERS = 100


class ApplicationFields(Body):
    """The optional fields of an application; `None` means that the field was omitted or is null."""

    priority: Maybe[PriorityName | None] = None
    is_identity_source: Flag | None = None
    connector: ConnectorBody | None = None
    schedule: ScheduleBody | None = None
    guard: GuardBody | None = None
    # How often access must be reviewed, and whether unexplained access in an import is reviewed at once.
    review_every_months: Annotated[int, Field(ge=1, le=60)] | None = None
    surprise_reviews: Flag | None = None


class PeopledFields(ApplicationFields):
    owner_id: Maybe[IdentityId | None] = None
    provisioner_ids: Annotated[list[IdentityId], Field(max_length=MOST_PROVISIONERS)] | None = None


class NewApplication(PeopledFields):
    name: Name256


class ApplicationChanges(PeopledFields):
    name: OptionalName256 | None = None
    is_archived: Flag | None = None
