from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from pydantic import (
    AfterValidator,
    Field,
    RootModel,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError, ValidationError

from rolecall.access_requests.model import TargetType
from rolecall.access_requests.shapes import AccessRequestSummary, RequestConflict
from rolecall.accounts.model import Access
from rolecall.applications.shapes import ApplicationSummary
from rolecall.core.checking import Body, IdentityId, Maybe, Moment, OptionalComment, broken, facts_of, one_of
from rolecall.identities.shapes import IdentityChanges, IdentityDetail, NewIdentity
from rolecall.personnel_events.model import PlannedStage, StageName
from rolecall.settings.policy import EventType, Level, RequestAction
from rolecall.work_items.model import WorkStatus
from rolecall.work_items.shapes import ActivityEntry, Comment, PersonReference


class StageDetail(msgspec.Struct, rename="camel"):
    name: StageName
    status: WorkStatus
    started_on: datetime | None
    scheduled_start: datetime | None
    completed_on: datetime | None
    completed_by: PersonReference | None
    access_requests: list[AccessRequestSummary]


class EventItem(msgspec.Struct, rename="camel"):
    id: UUID
    kind: Literal["Personnel Event"]
    number: int
    type: EventType
    status: WorkStatus
    reporter: PersonReference
    assignee: PersonReference | None
    affected_identity: IdentityDetail
    needed_on: datetime
    needed_until: datetime | None
    completed_on: datetime | None


class EventDetail(EventItem):
    stages: list[StageDetail]
    activity: list[ActivityEntry]
    comments: list[Comment]


def _today_or_later(moment: datetime, info: ValidationInfo) -> datetime:
    facts = facts_of(info)
    # An effective date is a day in the time zone of the service (docs/decisions/0059).
    if moment.astimezone(facts.zone).date() < facts.today:
        raise broken("{name} must be today or later")
    return moment


def _after_the_start(moment: datetime, info: ValidationInfo) -> datetime:
    start = info.data.get("start")
    if start is not None and moment <= start:
        raise broken("{name} must be after effective date")
    return moment


def _if_readable(value: object, read: ValidatorFunctionWrapHandler) -> object:
    try:
        return read(value)
    except (ValidationError, PydanticCustomError):
        return None


EffectiveDate = Annotated[Moment, AfterValidator(_today_or_later)]
EndDate = Annotated[Moment, AfterValidator(_after_the_start)]


class OnboardBody(Body):
    identity: NewIdentity
    effective_date: EffectiveDate
    comment: OptionalComment = None


class OffboardBody(Body):
    identity_id: IdentityId
    effective_date: EffectiveDate
    comment: OptionalComment = None


class AbsenceBody(Body):
    identity_id: IdentityId
    # The effective date without its own validation, so that the end date is checked even if the start is in the past.
    start: Annotated[Moment | None, WrapValidator(_if_readable)] = Field(None, alias="effectiveDate")
    effective_date: EffectiveDate
    end_date: Maybe[EndDate | None] = None
    comment: OptionalComment = None


class RoleTransitionBody(AbsenceBody):
    identity: IdentityChanges | None = None


EventBody = OnboardBody | OffboardBody | AbsenceBody


class AssignEventBody(Body):
    assignee_id: IdentityId


class ReturnDateBody(Body):
    # The date may be in the past: people may be back before anyone enters it.
    end_date: Moment


class CancelBody(Body):
    comment: OptionalComment = None


class EventTypeBody(Body):
    type: Annotated[EventType, one_of(EventType)]


BODIES: dict[EventType, type[EventBody]] = {
    EventType.ONBOARD: OnboardBody,
    EventType.OFFBOARD: OffboardBody,
    EventType.ROLE_TRANSITION: RoleTransitionBody,
    EventType.ABSENCE: AbsenceBody,
}


class OnboardPreview(OnboardBody):
    type: Literal[EventType.ONBOARD]


class OffboardPreview(OffboardBody):
    type: Literal[EventType.OFFBOARD]


class RoleTransitionPreview(RoleTransitionBody):
    type: Literal[EventType.ROLE_TRANSITION]


class AbsencePreview(AbsenceBody):
    type: Literal[EventType.ABSENCE]


Previews = OnboardPreview | OffboardPreview | RoleTransitionPreview | AbsencePreview


class PreviewBody(RootModel[Annotated[Previews, Field(discriminator="type")]]):
    """The body of one of the four create operations, with the type of the event."""


class PreviewPrivilege(msgspec.Struct, rename="camel"):
    initial_access: Access
    requested_access: Access
    header: str
    section: str
    permission: str
    description: str
    risk_rating: Level


class PreviewTarget(msgspec.Struct):
    type: TargetType
    name: str
    application: ApplicationSummary
    privileges: list[PreviewPrivilege]


class RequestPreview(msgspec.Struct, rename="camel"):
    action: RequestAction
    target: PreviewTarget
    scheduled_start: datetime | None
    conflicts: list[RequestConflict]


class EventPreview(msgspec.Struct, rename="camel"):
    """The stages and access requests that an event would create.

    `leftOut` says which access would not be requested, and which rule of separation of duties blocks it.
    """

    stages: list[PlannedStage]
    access_requests: list[RequestPreview]
    left_out: list[str]
