from datetime import datetime
from typing import Self
from uuid import UUID

import msgspec
from pydantic import model_validator

from rolecall.accounts.model import Access, Match, Pair
from rolecall.core.checking import Body, IdentityId, Maybe, broken
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
    account_id: UUID
    group: str
    nomenclature: str
    description: str
    risk_rating: Level
    from_import: int


class HeldPermission(msgspec.Struct):
    """A permission that an account or a group holds; `group` names the group that grants it, empty if held directly."""

    holder_id: UUID
    header: str
    section: str
    permission: str
    description: str
    risk_rating: Level
    access: Access
    value: str
    group: str
    from_import: int


class PinBody(Body):
    """Either `identityId`, to match this identity always, or `never`, to match none."""

    identity_id: Maybe[IdentityId | None] = None
    never: bool = False

    @model_validator(mode="after")
    def says_one_thing(self) -> Self:
        if self.never == (self.identity_id is not None):
            raise broken("Set either identityId or never: true")
        return self
