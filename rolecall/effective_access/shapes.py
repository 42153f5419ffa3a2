"""Response bodies: access with its reasons, which are the import, requests and models."""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access
from rolecall.applications.shapes import ApplicationSummary
from rolecall.identities.model import IdentityStatus
from rolecall.settings.policy import Level, RequestAction
from rolecall.work_items.shapes import PersonReference


class ImportReason(msgspec.Struct, rename="camel"):
    """The import that begins or ends a period of access.

    In `import` and `since`, it is the first import of the period; in `until`, the first import without the access.
    """

    number: int
    build_end: datetime | None


class RequestApprover(msgspec.Struct, frozen=True, rename="camel"):
    """A reviewer who approved a request. `standIn` is present if another person responded for the reviewer."""

    id: UUID
    name: str
    stand_in: PersonReference | msgspec.UnsetType = msgspec.UNSET

    @property
    def words(self) -> str:
        """Return the name of the reviewer, with the name of the stand-in who responded, if any."""
        return f"{self.stand_in.name} for {self.name}" if self.stand_in else self.name


class RequestReason(msgspec.Struct, rename="camel"):
    """A request that granted the access at `resolvedOn`; `completedOn` is null if it was not complete at `asOf`."""

    id: UUID
    number: int
    action: RequestAction
    resolved_on: datetime
    completed_on: datetime | None
    approved_by: list[RequestApprover]


class ModelReason(msgspec.Struct, rename="camel"):
    """A model that grants the access, with its version at `asOf`. In items of reviews, only `id` and `name` are set."""

    id: UUID
    name: str
    version: int | None
    committed_by: PersonReference | None
    committed_on: datetime | None


class Why(msgspec.Struct, rename="camel"):
    """The import that first showed the access, and the requests and models on record that grant it."""

    application_import: ImportReason = msgspec.field(name="import")
    access_requests: list[RequestReason]
    access_models: list[ModelReason]


class AccessEntry(msgspec.Struct, rename="camel"):
    """A privilege. `group` is the account's group that gives the privilege; it is empty for a direct privilege.

    `path` names all groups that it comes through: `group` first, then the groups above it.
    """

    header: str
    section: str
    permission: str
    access: Access
    value: str
    risk_rating: Level
    group: str
    path: list[str]
    why: Why


class AccountAccess(msgspec.Struct, rename="camel"):
    id: UUID
    username: str
    is_active: bool
    is_locked: bool
    access: list[AccessEntry]


class ApplicationAccess(msgspec.Struct, rename="camel"):
    """Access in one application. `noDataBefore` is when its first import finished; there is no earlier data."""

    application: ApplicationSummary
    accounts: list[AccountAccess]
    no_data_before: datetime | None

    def is_unknown(self, as_of: datetime | None) -> bool:
        return as_of is not None and self.no_data_before is not None and as_of < self.no_data_before


class EffectiveAccess(msgspec.Struct, rename="camel"):
    """The access of an identity at `asOf`, or now if `asOf` is null.

    At a past time, `applications` also contains the applications that had no data yet.
    """

    identity_id: UUID
    as_of: datetime | None
    applications: list[ApplicationAccess]


class AccessOfAccount(msgspec.Struct, rename="camel"):
    """The access of one account. `identityId` is the identity that the account matched at `asOf`, or null.

    `noDataBefore` is when the first import of its application finished; there is no data for earlier times.
    """

    account_id: UUID
    as_of: datetime | None
    identity_id: UUID | None
    access: list[AccessEntry]
    no_data_before: datetime | None


class HolderIdentity(msgspec.Struct, frozen=True):
    """The identity behind an account; `status` is its current status."""

    id: UUID
    name: str
    title: str
    department: str
    status: IdentityStatus


class HolderAccount(msgspec.Struct, frozen=True, rename="camel"):
    id: UUID
    username: str
    is_active: bool
    is_locked: bool


class Holding(msgspec.Struct, rename="camel"):
    """An account that holds an entitlement. `identity` is null if the account had no match.

    `path` names the groups that give the entitlement, starting with the group that the account is in; it is empty for a
    direct holding. An account is listed once for each path. `until` is the first import that no longer showed the
    holding, or null. The history has a row for each identity that the account belonged to; if there are several,
    `matchedFrom` and `matchedUntil` are the period of each.
    """

    identity: HolderIdentity | None
    account: HolderAccount
    access: Access
    since: ImportReason
    until: ImportReason | None
    path: list[str]
    why: Why
    matched_from: datetime | None
    matched_until: datetime | None
