from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access
from rolecall.applications.shapes import ApplicationSummary
from rolecall.settings.policy import Level, RequestAction
from rolecall.work_items.shapes import PersonReference


class ImportReason(msgspec.Struct, rename="camel"):
    """The import that first showed the access, with no gap since."""

    number: int
    build_end: datetime | None


class RequestReason(msgspec.Struct, rename="camel"):
    """A request that granted the access at `resolvedOn`; `completedOn` is null if it was not completed by then."""

    id: UUID
    number: int
    action: RequestAction
    resolved_on: datetime
    completed_on: datetime | None
    approved_by: list[PersonReference]


class ModelReason(msgspec.Struct):
    id: UUID
    name: str


class Why(msgspec.Struct, rename="camel"):
    """The requests and models that grant the access; if both are empty, no request or model is on record."""

    application_import: ImportReason = msgspec.field(name="import")
    access_requests: list[RequestReason]
    access_models: list[ModelReason]


class AccessEntry(msgspec.Struct, rename="camel"):
    """A privilege; `group` names the group that grants it, empty if the account holds it directly."""

    header: str
    section: str
    permission: str
    access: Access
    value: str
    risk_rating: Level
    group: str
    why: Why


class AccountAccess(msgspec.Struct, rename="camel"):
    id: UUID
    username: str
    is_active: bool
    is_locked: bool
    access: list[AccessEntry]


class ApplicationAccess(msgspec.Struct, rename="camel"):
    """`noDataBefore` is the end of the first import; if `asOf` is earlier, there is no data about the application."""

    application: ApplicationSummary
    accounts: list[AccountAccess]
    no_data_before: datetime | None

    def is_unknown(self, as_of: datetime | None) -> bool:
        return as_of is not None and self.no_data_before is not None and as_of < self.no_data_before


class EffectiveAccess(msgspec.Struct, rename="camel"):
    """`asOf` is null for now. For a past moment, applications without data from that time are listed too."""

    identity_id: UUID
    as_of: datetime | None
    applications: list[ApplicationAccess]
