"""Responses about access models."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer, Json, Page


class AccessModelItem(Answer):
    id: UUID
    kind: str
    name: str
    description: str
    enabled: bool
    version: int
    has_draft: bool


class ModelDefinition(Answer):
    name: str
    description: str
    owner_id: UUID | None
    enabled: bool
    conditions: list[list[Json]]
    access: list[Json]


class AccessModel(Answer):
    id: UUID
    kind: str
    version: int
    member_count: int
    committed: ModelDefinition | None
    draft: ModelDefinition | None
    created_date: datetime
    updated_date: datetime
    unknown_names: list[str]


class Affected(Answer):
    identity_id: UUID
    name: str
    change: str
    gains: list[Json]
    loses: list[Json]


class ModelConflicts(Answer):
    rule_id: UUID
    rule: str
    risk: str
    response: str
    people: int


class Simulation(Page[Affected]):
    joining: int
    leaving: int
    staying: int
    conflicts: list[ModelConflicts]
