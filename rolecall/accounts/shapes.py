"""Response bodies of accounts, memberships and permissions, and bodies that pin accounts or name permissions."""

from datetime import datetime
from typing import Self
from uuid import UUID

import msgspec
from pydantic import Field, ValidationInfo, field_validator, model_validator

from rolecall.accounts.model import Access, Match, Pair, PermissionName
from rolecall.applications.shapes import ApplicationSummary
from rolecall.core.checking import Body, IdentityId, Maybe, Text256, broken
from rolecall.identities.model import IdentityStatus
from rolecall.settings.policy import Level


class AccountItem(msgspec.Struct, rename="camel"):
    id: UUID
    username: str
    name: str
    email: str
    is_active: bool
    is_locked: bool
    last_login: str | None
    identity_id: UUID | None
    match: Match
    metadata: list[Pair]
    # When the current match, or the lack of one, began.
    matched_on: datetime


class AccountIdentity(msgspec.Struct, frozen=True, rename="camel"):
    """The identity behind an account with its current `status`; `inactivatedDate` is when it became inactive."""

    id: UUID
    name: str
    status: IdentityStatus
    inactivated_date: datetime | None


class RosterItem(msgspec.Struct, rename="camel"):
    """An account in the list of accounts across all applications; `matchedOn` is when the current match began.

    `ageDays` counts the days since the person left, or since the account became unmatched or disputed, or else since
    its last login. It is null if that time is not known.
    """

    id: UUID
    application: ApplicationSummary
    username: str
    name: str
    email: str
    is_active: bool
    is_locked: bool
    last_login: str | None
    identity: AccountIdentity | None
    match: Match
    matched_on: datetime
    age_days: int | None


class AccountDetail(RosterItem, rename="camel"):
    """An account as of the last import that contains it; `isPresent` says whether that is the latest import."""

    employee_id: str
    metadata: list[Pair]
    is_present: bool
    first_seen: datetime | None
    last_seen: datetime | None


class Account(msgspec.Struct):
    """An account as an import shows it."""

    id: UUID
    application_id: UUID
    username: str
    name: str
    email: str
    is_active: bool
    is_locked: bool
    metadata: list[Pair]


class GroupItem(msgspec.Struct, rename="camel"):
    id: UUID
    name: str
    description: str
    nomenclature: str
    metadata: list[Pair]


class PermissionItem(msgspec.Struct, rename="camel"):
    id: UUID
    header: str
    section: str
    permission: str
    description: str
    risk_rating: Level


class Membership(msgspec.Struct):
    """A group that an account is in; `path` names the groups between them and is empty for direct membership."""

    account_id: UUID
    group: str
    nomenclature: str
    description: str
    risk_rating: Level
    from_import: int
    path: list[str]


class HeldPermission(msgspec.Struct):
    """A permission that an account or group holds; `path` names the groups that give it, if any."""

    holder_id: UUID
    header: str
    section: str
    permission: str
    description: str
    risk_rating: Level
    access: Access
    value: str
    path: list[str]
    from_import: int

    @property
    def group(self) -> str:
        """Return the group that the holder is a direct member of; empty if the holder has the access directly."""
        return self.path[0] if self.path else ""


class PinBody(Body):
    """Either `identityId`, to match the account to this identity, or `never`, to match it to none."""

    identity_id: Maybe[IdentityId | None] = None
    never: bool = False

    @model_validator(mode="after")
    def says_one_thing(self) -> Self:
        if self.never == (self.identity_id is not None):
            raise broken("Set either identityId or never: true")
        return self


class PermissionNameBody(Body):
    """A permission, named by header, section and name; section or name is required."""

    header: Text256 = ""
    section: Text256 = ""
    # Validate the default too: a permission without a name is valid only with a section.
    permission: Text256 = Field("", validate_default=True)

    @field_validator("permission")
    @classmethod
    def named(cls, permission: str, info: ValidationInfo) -> str:
        if not permission.strip() and not info.data.get("section", "").strip():
            raise broken("{name} is required")
        return permission

    @property
    def key(self) -> PermissionName:
        return PermissionName(self.header, self.section, self.permission)
