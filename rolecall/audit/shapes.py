from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.audit.model import Break, Head


class AuditCaller(msgspec.Struct):
    id: UUID | None
    kind: str
    name: str


class AuditEntity(msgspec.Struct):
    id: UUID
    kind: str
    name: str | None


class Entry(msgspec.Struct, rename="camel"):
    """An audit entry as hashed. `before` and `after` contain the fields that differ."""

    action: str
    after: dict[str, Any] | None
    before: dict[str, Any] | None
    caller: AuditCaller
    correlation_id: str | None
    created_date: datetime
    entity: AuditEntity


class AuditEventItem(msgspec.Struct, rename="camel"):
    number: int
    created_date: datetime
    caller: AuditCaller
    action: str
    entity: AuditEntity
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    correlation_id: str | None
    chain: int
    previous_hash: str
    hash: str


class Verdict(msgspec.Struct, rename="camel"):
    """The result of verification. `head` is a hash over all chain heads; `broken` names the first wrong entry."""

    ok: bool
    count: int
    head: str
    heads: list[Head]
    broken: Break | None
