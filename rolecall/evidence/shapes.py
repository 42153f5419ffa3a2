from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.conflicts.shapes import ConflictDetail
from rolecall.effective_access.shapes import EffectiveAccess
from rolecall.identities.shapes import IdentityDetail
from rolecall.personnel_events.shapes import EventDetail


class EvidenceFile(msgspec.Struct, rename="camel"):
    file_group: str
    name: str
    sha256: str
    size: int


class ImportEvidence(msgspec.Struct, rename="camel"):
    """An import that concerns the person or the review, with the digests of its files."""

    id: UUID
    number: int
    application: str
    type: str
    status: str
    created_by: str
    build_start: datetime | None
    build_end: datetime | None
    metrics: dict[str, Any] | None
    files: list[EvidenceFile]


class PersonEvidence(msgspec.Struct, rename="camel"):
    """The evidence about one person; each field is a file of the bundle."""

    identity: IdentityDetail
    access: EffectiveAccess
    events: list[EventDetail]
    requests: list[AccessRequestDetail]
    imports: list[ImportEvidence]
    conflicts: list[ConflictDetail]
