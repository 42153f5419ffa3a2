"""Define stored resources and tokens of a push, and the errors of the protocol."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.caller import Caller
from rolecall.core.errors import RolecallError

Resource = dict[str, Any]
MEDIA_TYPE = "application/scim+json"
# The beginning of the URNs of errors and of lists.
MESSAGES = "urn:ietf:params:scim:api:messages:2.0:"
# This prefix differs from that of API tokens, so that each kind of token is rejected where the other is expected.
PREFIX = "rcs"
# Changes are imported after at most this time, even if further changes keep arriving.
LONGEST_WAIT = timedelta(hours=1)


class ResourceKind(StrEnum):
    USER = "User"
    GROUP = "Group"


class ScimErrorType(StrEnum):
    """The values of `scimType` that the service sends (RFC 7644, section 3.12; for cursors RFC 9865)."""

    INVALID_FILTER = "invalidFilter"
    TOO_MANY = "tooMany"
    UNIQUENESS = "uniqueness"
    MUTABILITY = "mutability"
    INVALID_SYNTAX = "invalidSyntax"
    INVALID_PATH = "invalidPath"
    NO_TARGET = "noTarget"
    INVALID_VALUE = "invalidValue"
    INVALID_CURSOR = "invalidCursor"


class ScimError(RolecallError):
    """An error that is sent with a SCIM status and type."""

    def __init__(self, detail: str, type: ScimErrorType | None = None, status: int = 400) -> None:
        super().__init__(detail)
        self.type, self.status = type, status


class PushToken(msgspec.Struct, frozen=True):
    """A token that an identity provider sends; it is bound to one application."""

    id: UUID
    application_id: UUID
    secret_sha256: bytes
    name: str
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None

    def caller(self) -> Caller:
        # No scopes, because the token must not work outside of /scim/v2.
        return Caller(self.id, f"SCIM token - {self.name}", frozenset())


class StoredResource(msgspec.Struct, frozen=True):
    """A pushed user or group. `resource` is its JSON without the members of a group."""

    number: int
    id: UUID
    resource: str
    version: int
    created_at: datetime
    changed_at: datetime
    # The members as JSON, if they were requested.
    members: str | None = None

    @property
    def etag(self) -> str:
        # The ETag is weak: the query parameter `attributes` changes the bytes of a response, but not the version.
        return f'W/"{self.version}"'

    def attributes(self) -> Resource:
        decoded: Resource = msgspec.json.decode(self.resource)
        return decoded


def next_snapshot(changed_at: datetime, waiting_since: datetime, quiet: timedelta) -> datetime:
    """Return when changes are imported: after a time without changes, or after the longest wait (debounce)."""
    return min(changed_at + quiet, waiting_since + LONGEST_WAIT)
