from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access
from rolecall.applications.shapes import ApplicationSummary
from rolecall.settings.policy import Level, RequestAction
from rolecall.work_items.shapes import PersonReference


class ImportReason(msgspec.Struct, rename="camel"):
    """The import that first showed it, without a break since."""

    number: int
    build_end: datetime | None


class RequestReason(msgspec.Struct, rename="camel"):
    id: UUID
    number: int
    action: RequestAction
    completed_on: datetime
    approved_by: list[PersonReference]


class ModelReason(msgspec.Struct):
    id: UUID
    name: str


class Why(msgspec.Struct, rename="camel"):
    """`accessRequests` brought it, `accessModels` say that it belongs there; both may be empty: then nobody asked."""

    application_import: ImportReason = msgspec.field(name="import")
    access_requests: list[RequestReason]
    access_models: list[ModelReason]


class AccessEntry(msgspec.Struct, rename="camel"):
    """A privilege; `group` names the group it comes through, empty when the account has it itself."""

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


class ApplicationAccess(msgspec.Struct):
    application: ApplicationSummary
    accounts: list[AccountAccess]


class EffectiveAccess(msgspec.Struct, rename="camel"):
    """`asOf` is null for now."""

    identity_id: UUID
    as_of: datetime | None
    applications: list[ApplicationAccess]
