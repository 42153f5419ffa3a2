from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec


class ExportManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of an export file: who exported which list, when and with which filters."""

    id: UUID
    list: str
    filters: dict[str, Any]
    created_by: str
    started_on: datetime
    row_count: int
    # The applications without data at the requested time, each by name with the time when its first import finished.
    no_data_before: dict[str, datetime] = {}
