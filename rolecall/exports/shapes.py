from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from rolecall.core.formats.formats import Format
from rolecall.core.paging import WithoutData
from rolecall.exports.model import ExportStatus


class ExportCaller(msgspec.Struct):
    id: UUID
    kind: str
    name: str


class ExportItem(msgspec.Struct, rename="camel"):
    """The manifest of an export. The row and byte counts are null while it runs, and if its process died.

    Only a complete export has a digest.

    `noDataBefore` names the applications that had no import yet at the requested time.
    `reportId` is the report that was run, and `location` is the file that a schedule writes.
    """

    id: UUID
    kind: Literal["Export"]
    list: str
    filters: dict[str, Any]
    # Do not write `list[str]`: in this class, `list` is the field.
    columns: Sequence[str]
    format: Format
    status: ExportStatus
    created_by: ExportCaller
    reason: str | None
    started_on: datetime
    finished_on: datetime | None
    row_count: int | None
    byte_count: int | None
    sha256: str | None
    report_id: UUID | None
    location: str | None
    no_data_before: Sequence[WithoutData]
