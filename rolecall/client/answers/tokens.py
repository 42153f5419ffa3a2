"""Responses about tokens."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer


class Token(Answer):
    id: UUID
    kind: str
    name: str
    scopes: list[str]
    created_date: datetime
    expires_on: datetime | None
    last_used_on: datetime | None
    revoked_on: datetime | None


class TokenWithSecret(Token):
    secret: str
