from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from pydantic import Field, ValidationInfo, field_validator

from rolecall.core.checking import Body, Name100, broken
from rolecall.tokens.shapes import TokenOwner

DEFAULT_DAYS = 365


class PushTokenItem(msgspec.Struct, rename="camel"):
    id: UUID
    name: str
    created_at: datetime = msgspec.field(name="createdDate")
    expires_at: datetime | None = msgspec.field(name="expiresOn")
    last_used_at: datetime | None = msgspec.field(name="lastUsedOn")
    revoked_at: datetime | None = msgspec.field(name="revokedOn")
    # The person who created the token, if known. It stays valid when they leave, and they may still know its secret.
    owner: TokenOwner | None
    has_owner_left: bool

    def outlives_owner(self, now: datetime) -> bool:
        """Return whether the token is valid although its owner is no longer active."""
        is_valid = self.revoked_at is None and (self.expires_at is None or now < self.expires_at)
        return is_valid and self.has_owner_left


class NewPushToken(PushTokenItem):
    secret: str


class PushDetail(msgspec.Struct, rename="camel"):
    """The state of a SCIM push. `address` is the URL to enter at the identity provider."""

    address: str
    users: int
    active_users: int
    groups: int
    # The last request of the identity provider, to the minute.
    last_request: datetime | None
    last_change: datetime | None
    # When the pending changes are imported. New changes postpone this, but at most to an hour after the first one.
    next_snapshot: datetime | None
    tokens: list[PushTokenItem]


class PushTokenBody(Body):
    """A token for an identity provider. It can push users and groups of one application, and read them back."""

    name: Name100
    expires_in_days: Annotated[int, Field(ge=1, le=3650)] | None = DEFAULT_DAYS

    @field_validator("name")
    @classmethod
    def is_printable(cls, name: str, _: ValidationInfo) -> str:
        if not name.isprintable():
            raise broken("{name} must contain only printable characters")
        return name
