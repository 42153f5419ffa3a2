"""Shapes of accounts, memberships and permissions."""

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
    # Since when the account has been disputed or unmatched.
    matched_on: datetime


class AccountIdentity(msgspec.Struct, frozen=True, rename="camel"):
    """The identity behind an account; `status` is its current status, and `inactivatedDate` is when it left."""

    id: UUID
    name: str
    status: IdentityStatus
    inactivated_date: datetime | None


class RosterItem(msgspec.Struct, rename="camel"):
    """An account in the list across all applications; `matchedOn` is when the current match began.

    `ageDays` counts the days since the person left, or since the account became unmatched or disputed, or else since
    its last login. It is null if there is none of these.
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
    """An account as it is now or last was; `isPresent` says whether the last import shows it."""

    employee_id: str
    metadata: list[Pair]
    is_present: bool
    first_seen: datetime | None
    last_seen: datetime | None


class Account(msgspec.Struct):
    """An account of an identity, in any application."""

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
    """A group that an account is in; `path` names the groups on the way to it, empty when direct."""

    account_id: UUID
    group: str
    nomenclature: str
    description: str
    risk_rating: Level
    from_import: int
    path: list[str]


class HeldPermission(msgspec.Struct):
    """A permission that an account or a group holds; `path` names the groups it comes through, empty when direct."""

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
        """Return the group that the account is a direct member of; empty if the account holds the access itself."""
        return self.path[0] if self.path else ""


class PinBody(Body):
    """Either `identityId`, to match this identity always, or `never`, to match none."""

    identity_id: Maybe[IdentityId | None] = None
    never: bool = False

    @model_validator(mode="after")
    def says_one_thing(self) -> Self:
        if self.never == (self.identity_id is not None):
            raise broken("Set either identityId or never: true")
        return self


class PermissionNameBody(Body):
    """A permission by header, section and name; one of section and name is required."""

    header: Text256 = ""
    section: Text256 = ""
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
