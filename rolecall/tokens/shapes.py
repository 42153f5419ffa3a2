from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from pydantic import Field, ValidationInfo, field_validator

from rolecall.core.caller import Scope
from rolecall.core.checking import Body, Name100, broken, one_of
from rolecall.tokens.model import DEFAULT_DAYS, DEFAULT_SCOPES


class TokenOwner(msgspec.Struct, rename="camel"):
    """The person who created a token, in the console or with another token of theirs."""

    id: UUID
    name: str


class TokenItem(msgspec.Struct, rename="camel"):
    id: UUID
    kind: Literal["API Token"]
    name: str
    scopes: list[Scope]
    created_at: datetime = msgspec.field(name="createdDate")
    expires_at: datetime | None = msgspec.field(name="expiresOn")
    last_used_at: datetime | None = msgspec.field(name="lastUsedOn")
    revoked_at: datetime | None = msgspec.field(name="revokedOn")
    owner: TokenOwner | None
    # Scopes that the owner may no longer use: requests that need them are refused.
    refused_scopes: list[Scope]

    @property
    def owner_id(self) -> UUID | None:
        return self.owner.id if self.owner else None


class NewToken(TokenItem):
    secret: str


class TokenBody(Body):
    name: Name100
    scopes: list[Annotated[Scope, one_of(Scope)]] = Field(DEFAULT_SCOPES, min_length=1)
    expires_in_days: Annotated[int, Field(ge=1, le=3650)] | None = DEFAULT_DAYS

    @field_validator("name")
    @classmethod
    def printable(cls, name: str, _: ValidationInfo) -> str:
        if not name.isprintable():
            raise broken("{name} must contain only printable characters")
        return name
