"""Responses about access requests."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.common import Answer, ApplicationSummary, Comment, Entry, Identity, Pair, Person


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
