from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from pydantic import AfterValidator, Field, ValidationInfo

from rolecall.conflicts.model import LONGEST_EXCEPTION, ApprovalPart, ExceptionStatus
from rolecall.core.checking import (
    Body,
    IdentityId,
    Maybe,
    Moment,
    OptionalComment,
    SomeText,
    broken,
    facts_of,
    naming_the_person,
)
from rolecall.duties.model import ConflictStatus
from rolecall.duties.shapes import DutyAccess, DutyPerson, DutyReference
from rolecall.effective_access.shapes import ModelReason, RequestReason, Why
from rolecall.settings.policy import Level
from rolecall.work_items.shapes import ActivityEntry


class ConflictRule(msgspec.Struct, frozen=True, rename="camel"):
    id: UUID
    name: str
    risk: Level


class ThroughAccess(msgspec.Struct, frozen=True):
    """The access that has given a person a duty for the longest time; `path` lists the groups that it comes through."""

    duty: DutyReference
    application: DutyReference
    account: str
    path: list[str]
    name: str


class Through(msgspec.Struct, frozen=True, rename="camel"):
    """The requests and models on record for the access that completed the conflict.

    `access` lists, for each duty, the access that has given it for the longest time.
    """

    access_requests: list[RequestReason]
    access_models: list[ModelReason]
    access: list[ThroughAccess]


class ConflictItem(msgspec.Struct, frozen=True, rename="camel"):
    """A conflict: a person holds duties that a rule keeps apart.

    It lasts from `since` to `until`, which is null while the conflict lasts. `sinceImport` and `untilImport` are the
    numbers of the imports that began and ended it, if imports did.
    """

    id: UUID
    kind: Literal["Conflict"]
    number: int
    rule: ConflictRule
    identity: DutyPerson
    status: ConflictStatus
    since: datetime
    since_import: int | None
    until: datetime | None
    until_import: int | None
    through: Through

    @property
    def last_moment(self) -> datetime | None:
        """Return the last moment of a conflict that has ended, or None."""
        # `until` itself is the first moment without the conflict.
        return self.until - timedelta(microseconds=1) if self.until else None


class SideAccess(msgspec.Struct, frozen=True):
    access: DutyAccess
    why: Why


class ConflictSide(msgspec.Struct, frozen=True):
    """A duty that the person holds, with the access that gives it."""

    duty: DutyReference
    access: list[SideAccess]


class ConflictingGroup(msgspec.Struct, frozen=True, rename="camel"):
    """A group that by itself gives several conflicting duties; removing other access does not end the conflict."""

    application: DutyReference
    group: str
    duties: list[str]


class ExceptionApproval(msgspec.Struct, frozen=True, rename="camel"):
    """An approval. `standIn` is present if another person approved for the approver."""

    part: ApprovalPart
    approver: DutyReference
    approved_on: datetime
    stand_in: DutyReference | msgspec.UnsetType = msgspec.UNSET


class ConflictException(msgspec.Struct, frozen=True, rename="camel"):
    """Permission to keep a conflict until `until`, under a control. It applies only while it is Approved.

    `approvedOn` is when the second approval was given, `endedOn` when the exception ended.
    """

    id: UUID
    kind: Literal["Conflict Exception"]
    number: int
    conflict_id: UUID
    rule: ConflictRule
    identity: DutyPerson
    status: ExceptionStatus
    reason: str
    control: str
    control_owner: DutyReference
    until: datetime
    requested_by: DutyReference
    created_date: datetime
    approved_on: datetime | None
    ended_on: datetime | None
    approvals: list[ExceptionApproval]


class ConflictDetail(ConflictItem, frozen=True, rename="camel"):
    """A conflict with its `sides` as they are now, or as they were when it ended.

    Each of the `conflictingGroups` gives several of the conflicting duties. `exceptions` are all exceptions for this
    person and rule, newest first.
    """

    sides: list[ConflictSide]
    conflicting_groups: list[ConflictingGroup]
    days: int
    exceptions: list[ConflictException]
    activity: list[ActivityEntry]

    @property
    def pending(self) -> ConflictException | None:
        """Return the exception that waits for approval. There is at most one."""
        return next((each for each in self.exceptions if each.status is ExceptionStatus.PENDING), None)

    @property
    def in_force(self) -> ConflictException | None:
        return next((each for each in self.exceptions if each.status is ExceptionStatus.APPROVED), None)

    @property
    def withdrawable(self) -> ConflictException | None:
        """Return the exception that a withdrawal ends: the requested one or, without one, the one in force."""
        return self.pending or self.in_force


class RemovalRequest(msgspec.Struct, frozen=True):
    """A request that removes or suspends a privilege of an account or, without a privilege, the whole account."""

    id: UUID
    number: int
    application_id: UUID
    account: str
    header: str | None
    section: str | None
    permission: str | None


class HeldSpan(msgspec.Struct, frozen=True):
    """A time span of a held duty or of a conflict, for the chart of a conflict; `until` is null while it lasts."""

    name: str
    since: datetime
    until: datetime | None


class RuleSimulation(msgspec.Struct, rename="camel"):
    """How many conflicts would begin, end and remain if the draft were committed.

    `items` are a page of the resulting conflicts.
    """

    beginning: int
    ending: int
    staying: int
    items: list[ConflictItem]
    total_count: int
    page: int
    page_size: int
    total_pages: int


class SimulatedRule(msgspec.Struct):
    """How many conflicts of a rule would begin, end and remain if a duty were changed."""

    id: UUID
    name: str
    beginning: int
    ending: int
    staying: int


class DutySimulation(msgspec.Struct):
    """How many people would hold a duty if it were changed, and how many conflicts would begin, end and remain.

    `rules` are the rules that name the duty, each with its conflicts. `warnings` are about the patterns of the duty.
    """

    holders: int
    beginning: int
    ending: int
    staying: int
    rules: list[SimulatedRule]
    warnings: list[str]


class RuleSimulationBody(Body):
    page: Annotated[int, Field(ge=1, le=10**9)] = 1


def _ends_in_time(until: datetime, info: ValidationInfo) -> datetime:
    now = facts_of(info).now
    if until <= now:
        raise broken("{name} must be in the future")
    if until > now + LONGEST_EXCEPTION:
        raise broken(
            f"{{name}} must be at most {LONGEST_EXCEPTION.days} days from now; renew the exception before it ends"
        )
    return until


LongText = Annotated[SomeText, Field(max_length=2048)]


class NewException(Body):
    """A request for an exception for a conflict. It needs two approvals and always has an end date."""

    reason: LongText
    control: LongText
    control_owner_id: IdentityId
    until: Annotated[Moment, AfterValidator(_ends_in_time)]


class ApproveExceptionBody(Body):
    """`approverId` is the person whose approval is recorded. A token must give it.

    If a person calls, the default is this person or an owner for whom they stand in. `standInId` is the stand-in who
    approved in place of the approver, if a token records the approval.
    """

    model_config = naming_the_person("approverId")

    approver_id: Maybe[IdentityId | None] = None
    stand_in_id: Maybe[IdentityId | None] = None
    comment: OptionalComment = None


class WithdrawExceptionBody(Body):
    comment: OptionalComment = None
