"""Define the responses about access requests, personnel events, access models and stand-ins."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import (
    Answer,
    ApplicationSummary,
    Comment,
    Entry,
    Identity,
    Json,
    Page,
    Pair,
    Person,
)


class AskedPermission(Answer):
    header: str
    section: str
    permission: str
    description: str
    risk_rating: str
    metadata: list[Pair]
    value: str


class Privilege(Answer):
    initial_access: str
    requested_access: str
    approved_access: str
    permission: AskedPermission
    sources: list[str]
    origins: list[str]


class ItemTarget(Answer, kw_only=True):
    """The target of a listed request; only groups have `nomenclature`."""

    type: str
    name: str
    nomenclature: str | None = None
    affected_identity: Identity | None
    application: ApplicationSummary


class Target(ItemTarget, kw_only=True):
    privileges: list[Privilege]
    metadata: list[Pair]


class ReviewerResponse(Answer):
    reviewer: Person
    response: str
    stand_in: Person | None = None


class Rule(Answer):
    reason: str
    responses: list[ReviewerResponse]


class Requirement(Answer):
    type: str
    description: str
    rules: list[Rule]


class RelatedItem(Answer):
    id: UUID
    kind: str
    number: int
    status: str


class AccessModelReference(Answer):
    id: UUID
    name: str
    description: str
    will_be_in_effect: bool


class AccessRequestItem(Answer):
    id: UUID
    kind: str
    number: int
    action: str
    status: str
    reporter: Person
    assignee: Person | None
    target: ItemTarget
    scheduled_start: datetime | None
    started_on: datetime | None
    approved_on: datetime | None
    resolved_on: datetime | None
    verified_on: datetime | None
    completed_on: datetime | None
    canceled_on: datetime | None


class AccessRequest(AccessRequestItem):
    target: Target
    activity: list[Entry]
    comments: list[Comment]
    related_items: list[RelatedItem]
    requirements: list[Requirement]
    access_models: list[AccessModelReference]


class StalledRequest(Answer):
    id: UUID
    kind: str
    number: int
    action: str
    status: str
    target: ItemTarget
    waiting_for: list[Person]
    waiting_since: datetime
    waiting_days: int
    reasons: list[str]


class Leftover(Answer):
    id: UUID
    kind: str
    username: str
    application: ApplicationSummary
    affected_identity: Identity


class Stage(Answer):
    name: str
    status: str
    started_on: datetime | None
    scheduled_start: datetime | None
    completed_on: datetime | None
    completed_by: Person | None
    access_requests: list[AccessRequestItem]


class EventItem(Answer):
    id: UUID
    kind: str
    number: int
    type: str
    status: str
    reporter: Person
    assignee: Person | None
    affected_identity: Identity
    needed_on: datetime
    needed_until: datetime | None
    completed_on: datetime | None


class Event(EventItem):
    stages: list[Stage]
    activity: list[Entry]
    comments: list[Comment]


class PlannedStage(Answer):
    name: str
    status: str
    scheduled_start: datetime | None


class RequestConflict(Answer):
    rule_id: UUID
    rule: str
    risk: str
    response: str
    duties: list[str]
    waiting_for: list[Person]


class RequestConflicts(Answer):
    conflicts: list[RequestConflict]
    waits: str | None


class PlannedRequest(Answer):
    action: str
    target: Json
    scheduled_start: datetime | None
    conflicts: list[RequestConflict]


class EventPreview(Answer):
    stages: list[PlannedStage]
    access_requests: list[PlannedRequest]
    left_out: list[str]


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


class StandIn(Answer):
    id: UUID
    kind: str
    identity: Person
    stand_in: Person
    type: str | None
    starts_on: datetime
    ends_on: datetime
    status: str
    comment: str
    created_date: datetime
    created_by: str
