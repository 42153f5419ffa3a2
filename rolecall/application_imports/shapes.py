from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from pydantic import Field

from rolecall.application_imports.model import ChangeType, ImportStatus, ImportType, RecordKind
from rolecall.applications.shapes import ApplicationSummary, Import
from rolecall.core.checking import Body, Guid


class ImportDetail(Import):
    application: ApplicationSummary


class ImportItem(msgspec.Struct, rename="camel"):
    id: UUID
    kind: Literal["Application Import"]
    number: int
    type: ImportType
    status: ImportStatus
    build_start: datetime | None
    build_end: datetime | None
    application: ApplicationSummary


class UploadBody(Body):
    application_id: Guid


class TryBody(Body):
    connector: str | None = None


class StageBody(Body):
    application_id: Guid


class CancelImportBody(Body):
    application_import_id: Guid


class RollbackBody(Body):
    import_number: Annotated[int, Field(ge=1, le=2**31 - 1)]


class RejectItem(msgspec.Struct, rename="camel"):
    file_id: UUID
    file: str
    line: int
    reason: str
    row: list[str]


class ChangeItem(msgspec.Struct):
    kind: RecordKind
    change: ChangeType
    name: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
