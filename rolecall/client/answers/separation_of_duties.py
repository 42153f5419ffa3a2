"""Responses about separation of duties."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer, Json, Page


class NamedRecord(Answer):
    id: UUID
    name: str


class DutyItem(Answer):
    id: UUID
    kind: str
    name: str
    description: str
    entitlements: int
    holders: int


class Duty(Answer):
    id: UUID
    kind: str
    name: str
    description: str
    patterns: list[Json]
    holders: int
    rules: list[NamedRecord]
    warnings: list[str]
    created_date: datetime
    updated_date: datetime


class DutyHolder(Answer):
    identity: Json
    access: list[Json]


class DutyRuleItem(Answer):
    id: UUID
    kind: str
    name: str
    description: str
    risk: str
    response: str
    owner: NamedRecord | None
    conflicts: list[NamedRecord]
    without: NamedRecord | None
    enabled: bool
    version: int
    has_draft: bool
    open: int
    excepted: int


class DutyRule(Answer):
    id: UUID
    kind: str
    version: int
    committed: Json | None
    draft: Json | None
    duties: list[NamedRecord]
    open: int
    excepted: int
    created_date: datetime
    updated_date: datetime


class ConflictItem(Answer):
    id: UUID
    kind: str
    number: int
    rule: Json
    identity: Json
    status: str
    since: datetime
    since_import: int | None
    until: datetime | None
    until_import: int | None
    through: Json


class ConflictException(Answer):
    id: UUID
    kind: str
    number: int
    conflict_id: UUID
    rule: Json
    identity: Json
    status: str
    reason: str
    control: str
    control_owner: NamedRecord
    until: datetime
    asked_by: NamedRecord
    created_date: datetime
    approved_on: datetime | None
    ended_on: datetime | None
    approvals: list[Json]


class ConflictDetail(ConflictItem):
    sides: list[Json]
    carriers: list[Json]
    days: int
    exceptions: list[ConflictException]
    activity: list[Json]


class RuleSimulation(Page[ConflictItem]):
    beginning: int
    ending: int
    staying: int
