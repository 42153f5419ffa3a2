"""Responses about audit."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer, Json


class AuditCaller(Answer):
    id: UUID | None
    kind: str
    name: str


class AuditEntity(Answer):
    id: UUID
    kind: str
    name: str | None


class AuditEvent(Answer):
    number: int
    created_date: datetime
    caller: AuditCaller
    action: str
    entity: AuditEntity
    before: Json | None
    after: Json | None
    correlation_id: str | None
    chain: int
    previous_hash: str
    hash: str


class AuditHead(Answer):
    chain: int
    number: int
    count: int
    hash: str


class AuditBreak(Answer):
    number: int
    chain: int
    reason: str


class AuditVerdict(Answer):
    ok: bool
    count: int
    head: str
    heads: list[AuditHead]
    broken: AuditBreak | None
