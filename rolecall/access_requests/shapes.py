from datetime import datetime
from typing import Generic, Literal, TypeVar
from uuid import UUID

import msgspec

from rolecall.access_requests.model import AccessLevel, Response, TargetType
from rolecall.applications.shapes import ApplicationSummary
from rolecall.identities.shapes import IdentityDetail
from rolecall.settings.policy import Level, RequestAction, RequirementType
from rolecall.work_items.model import WorkStatus
from rolecall.work_items.shapes import ActivityEntry, Comment, PersonReference

T = TypeVar("T")


class KeyValue(msgspec.Struct):
    key: str
    value: str


class Permission(msgspec.Struct, rename="camel"):
    header: str
    section: str
    permission: str
    description: str
    risk_rating: Level
    metadata: list[KeyValue]
    value: str


class Privilege(msgspec.Struct, rename="camel"):
    initial_access: AccessLevel
    requested_access: AccessLevel
    approved_access: AccessLevel
    permission: Permission
    sources: list[str]
    origins: list[str]


class SummaryTarget(msgspec.Struct, rename="camel"):
    type: TargetType
    name: str
    affected_identity: IdentityDetail | None
    application: ApplicationSummary


class ItemTarget(msgspec.Struct, rename="camel"):
    """`nomenclature` is there for groups only."""

    type: TargetType
    name: str
    nomenclature: str | msgspec.UnsetType
    affected_identity: IdentityDetail | None
    application: ApplicationSummary


class DetailTarget(ItemTarget):
    privileges: list[Privilege]
    metadata: list[KeyValue]


class ReviewerResponse(msgspec.Struct):
    reviewer: PersonReference
    response: Response


class Rule(msgspec.Struct):
    reason: str
    responses: list[ReviewerResponse]


class Requirement(msgspec.Struct):
    type: RequirementType
    description: str
    rules: list[Rule]


class RelatedItemReference(msgspec.Struct):
    id: UUID
    kind: Literal["Review Item", "Personnel Event"]
    number: int
    status: str


class AccessModelReference(msgspec.Struct, rename="camel"):
    id: UUID
    name: str
    description: str
    will_be_in_effect: bool


class _Request(msgspec.Struct, Generic[T], rename="camel"):
    """What every form of a request shows; they differ in how much of the target they show."""

    id: UUID
    kind: Literal["Access Request"]
    number: int
    action: RequestAction
    status: WorkStatus
    reporter: PersonReference
    assignee: PersonReference | None
    target: T
    scheduled_start: datetime | None
    started_on: datetime | None
    approved_on: datetime | None
    resolved_on: datetime | None
    verified_on: datetime | None
    completed_on: datetime | None
    canceled_on: datetime | None


class AccessRequestSummary(_Request[SummaryTarget]):
    """As a stage shows it."""


class AccessRequestItem(_Request[ItemTarget]):
    """As a list shows it."""


class AccessRequestDetail(_Request[DetailTarget]):
    activity: list[ActivityEntry]
    comments: list[Comment]
    related_items: list[RelatedItemReference]
    requirements: list[Requirement]
    access_models: list[AccessModelReference]
