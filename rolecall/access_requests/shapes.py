"""Define the HTTP request and response bodies of the operations on access requests."""

from datetime import datetime
from typing import Annotated, Generic, Literal, TypeVar
from uuid import UUID

import msgspec
from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from rolecall.access_requests.model import RESPONSE_VERBS, Response, TargetType
from rolecall.accounts.model import Access, Pair
from rolecall.accounts.shapes import PermissionNameBody
from rolecall.applications.shapes import ApplicationSummary, LiveApplicationId
from rolecall.core.checking import (
    Body,
    Guid,
    IdentityId,
    Maybe,
    Moment,
    OptionalComment,
    OptionalName256,
    broken,
    facts_of,
    one_of,
)
from rolecall.duties.model import RuleResponse
from rolecall.identities.shapes import IdentityDetail
from rolecall.settings.policy import Level, RequestAction, RequirementType
from rolecall.work_items.model import WorkStatus
from rolecall.work_items.shapes import ActivityEntry, Comment, PersonReference

T = TypeVar("T")


class Permission(msgspec.Struct, rename="camel"):
    header: str
    section: str
    permission: str
    description: str
    risk_rating: Level
    metadata: list[Pair]
    value: str


class Privilege(msgspec.Struct, rename="camel"):
    initial_access: Access
    requested_access: Access
    approved_access: Access
    permission: Permission
    sources: list[str]
    origins: list[str]


class SummaryTarget(msgspec.Struct, rename="camel"):
    type: TargetType
    name: str
    affected_identity: IdentityDetail | None
    application: ApplicationSummary


class ItemTarget(msgspec.Struct, rename="camel"):
    """The target in a list. `nomenclature` is present only for groups."""

    type: TargetType
    name: str
    nomenclature: str | msgspec.UnsetType
    affected_identity: IdentityDetail | None
    application: ApplicationSummary


class DetailTarget(ItemTarget):
    privileges: list[Privilege]
    metadata: list[Pair]


class ReviewerResponse(msgspec.Struct, rename="camel"):
    """The response of a reviewer. `standIn` is present if another person responded for the reviewer."""

    reviewer: PersonReference
    response: Response
    stand_in: PersonReference | msgspec.UnsetType = msgspec.UNSET


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
    """The fields of every form of a request. The forms differ in how much of the target they show."""

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
    """An access request as a stage of a personnel event shows it."""


class AccessRequestItem(_Request[ItemTarget]):
    """An access request as a list shows it."""


class RequestConflict(msgspec.Struct, rename="camel"):
    """A conflict of duties that a request would create, and the response of the rule.

    `waitingFor` are the people who must still approve: the owner of the rule, or those who approve in their place.
    """

    rule_id: UUID
    rule: str
    risk: Level
    response: RuleResponse
    duties: list[str]
    waiting_for: list[PersonReference] = []


class RequestConflicts(msgspec.Struct):
    """The conflicts that a request would create.

    `waits` says which other requests must be provisioned before this one, and because of which rule.
    """

    conflicts: list[RequestConflict]
    waits: str | None


class AccessRequestDetail(_Request[DetailTarget]):
    activity: list[ActivityEntry]
    comments: list[Comment]
    related_items: list[RelatedItemReference]
    requirements: list[Requirement]
    access_models: list[AccessModelReference]


class StalledItem(msgspec.Struct, rename="camel"):
    """A request that is waiting for people: for its assignee if it is `Open` and assigned, otherwise for reviewers.

    `reasons` are those of the rules that are not met yet.
    """

    id: UUID
    kind: str
    number: int
    action: RequestAction
    status: WorkStatus
    target: ItemTarget
    waiting_for: list[PersonReference]
    waiting_since: datetime
    waiting_days: int
    reasons: list[str]


class LeftoverItem(msgspec.Struct, rename="camel"):
    """An active account of a person who has left and that no open request removes; `id` is the id of the account."""

    id: UUID
    kind: Literal["Account"]
    username: str
    application: ApplicationSummary
    affected_identity: IdentityDetail


class PrivilegeBody(PermissionNameBody):
    """A permission (header, section, name) with the requested access.

    By default, Add and Change request Grant, and Remove and Suspend request None. Restore requests the access that can
    be restored.
    """

    access: Maybe[Annotated[Access, one_of(Access)] | None] = None


def _once(privileges: list[PrivilegeBody]) -> list[PrivilegeBody]:
    if len({privilege.key for privilege in privileges}) < len(privileges):
        raise broken("{name} must not name a permission twice")
    return privileges


MOST_PRIVILEGES = 1000
Privileges = Annotated[list[PrivilegeBody], Field(max_length=MOST_PRIVILEGES), AfterValidator(_once)]


class NewRequestBody(Body):
    action: Annotated[RequestAction, one_of(RequestAction)]
    application_id: LiveApplicationId
    group: OptionalName256 | None = None
    identity_id: Maybe[IdentityId | None] = None
    target_name: OptionalName256 | None = None
    privileges: Privileges = Field([])
    scheduled_start: Maybe[Moment | None] = None
    comment: OptionalComment = None


class VerbBody(Body):
    comment: OptionalComment = None


class RespondBody(VerbBody):
    """The response of a reviewer. Without `reviewerId`, the caller is the reviewer.

    `standInId` is the person who responded for the reviewer, if a token records the response.
    """

    type: Annotated[RequirementType, one_of(RequirementType)]
    response: Annotated[Response, one_of([Response.APPROVED, Response.REJECTED])]
    reviewer_id: Maybe[Guid | None] = None
    stand_in_id: Maybe[Guid | None] = None
    approved_access: Privileges = Field([])

    @field_validator("response")
    @classmethod
    def an_answer(cls, response: Response, info: ValidationInfo) -> Response:
        if "type" in info.data and (info.data["type"], response) not in RESPONSE_VERBS:
            raise broken(f"A response of type {info.data['type']} cannot be {response}; cancel the request instead")
        return response


class AssignRequestBody(VerbBody):
    assignee_id: IdentityId


class SnoozeBody(VerbBody):
    until: Moment

    @field_validator("until")
    @classmethod
    def later(cls, until: datetime, info: ValidationInfo) -> datetime:
        if until <= facts_of(info).now:
            raise broken("{name} must be in the future")
        return until
