"""Define the stages of each type of personnel event, as data, and the status that follows from them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from rolecall.core import clock
from rolecall.core.caller import Caller
from rolecall.settings.policy import EventType
from rolecall.work_items.model import WorkStatus

# The NOTIFY channel that `note_event_news` (schema/personnel_events.sql) uses.
CHANNEL = "personnel-events"


class StageName(StrEnum):
    APPROVAL = "Approval"
    PROVISION = "Provision"
    VERIFICATION = "Verification"
    TRANSITION = "Transition"
    REMOVAL = "Removal"


class Start(Enum):
    """The rule that determines when a stage starts."""

    LEAD_BEFORE = "the approval lead before the effective date"
    EFFECTIVE = "at the effective date"
    END = "at the end date, once it is known"
    AFTER = "when the previous stage is completed"


STAGES: dict[EventType, dict[StageName, Start]] = {
    EventType.ONBOARD: {
        StageName.APPROVAL: Start.LEAD_BEFORE,
        StageName.PROVISION: Start.EFFECTIVE,
        StageName.VERIFICATION: Start.AFTER,
    },
    EventType.OFFBOARD: {
        StageName.APPROVAL: Start.LEAD_BEFORE,
        StageName.PROVISION: Start.EFFECTIVE,
        StageName.VERIFICATION: Start.AFTER,
    },
    EventType.ROLE_TRANSITION: {
        StageName.APPROVAL: Start.LEAD_BEFORE,
        StageName.TRANSITION: Start.EFFECTIVE,
    },
    EventType.ABSENCE: {
        StageName.APPROVAL: Start.LEAD_BEFORE,
        StageName.PROVISION: Start.EFFECTIVE,
        StageName.REMOVAL: Start.END,
    },
}


class Period(msgspec.Struct, frozen=True):
    """The effective date and the optional end date of an event, with the time zone of the service."""

    needed_on: datetime
    needed_until: datetime | None
    zone: ZoneInfo

    def scheduled_start(self, start: Start, lead_days: int) -> datetime | None:
        match start:
            case Start.LEAD_BEFORE:
                # Subtract days in the time zone, so that midnight stays midnight across a clock change.
                return clock.local(self.needed_on, self.zone) - timedelta(days=lead_days)
            case Start.EFFECTIVE:
                return self.needed_on
            case Start.END:
                return self.needed_until
            case Start.AFTER:
                return None


class PlannedStage(msgspec.Struct, frozen=True, rename="camel"):
    name: StageName
    status: WorkStatus
    scheduled_start: datetime | None


def plan(type: EventType, period: Period, lead_days: int) -> list[PlannedStage]:
    stages = []
    for name, start in STAGES[type].items():
        scheduled = period.scheduled_start(start, lead_days)
        waits_for_a_date = start is Start.END and scheduled is None
        stages.append(PlannedStage(name, WorkStatus.SNOOZED if waits_for_a_date else WorkStatus.SCHEDULED, scheduled))
    return stages


class Stage(msgspec.Struct):
    sequence: int
    name: StageName
    status: WorkStatus
    scheduled_start: datetime | None

    def is_due(self, now: datetime, previous: "Stage | None") -> bool:
        if self.status is not WorkStatus.SCHEDULED:
            return False
        # Only a stage that starts after the previous one (`Start.AFTER`) is scheduled without a date.
        if self.scheduled_start is None:
            return previous is not None and previous.status is WorkStatus.COMPLETED
        return self.scheduled_start <= now


class LockedEvent(msgspec.Struct):
    id: UUID
    number: int
    type: EventType
    status: WorkStatus
    reporter: Caller
    identity_id: UUID
    needed_on: datetime
    needed_until: datetime | None
    stages: list[Stage]


FINISHED = frozenset({WorkStatus.COMPLETED, WorkStatus.CANCELED})

# The status of an event while a stage is open.
_STATUS_WHILE_OPEN = {
    StageName.APPROVAL: WorkStatus.PENDING,
    StageName.PROVISION: WorkStatus.OPEN,
    StageName.TRANSITION: WorkStatus.OPEN,
    StageName.REMOVAL: WorkStatus.OPEN,
    StageName.VERIFICATION: WorkStatus.RESOLVED,
}


def status_of(stages: Sequence[Stage]) -> WorkStatus:
    """Derive the status of an event: from its first open stage or, if none is open, from the statuses of all stages."""
    for stage in stages:
        if stage.status is WorkStatus.OPEN:
            return _STATUS_WHILE_OPEN[stage.name]
    statuses = {stage.status for stage in stages}
    # A canceled stage means that the event was canceled, because nothing else cancels a stage.
    order = (WorkStatus.CANCELED, WorkStatus.SCHEDULED, WorkStatus.SNOOZED, WorkStatus.COMPLETED)
    return next(status for status in order if status in statuses)


def done_when(type: EventType, stage: StageName) -> frozenset[WorkStatus]:
    """Return the statuses that let a stage complete: each of its requests must have one of them."""
    match stage:
        case StageName.APPROVAL:
            # This includes Canceled, because a rejected request no longer waits for approval.
            return frozenset(WorkStatus) - {WorkStatus.PENDING}
        case StageName.PROVISION if StageName.VERIFICATION in STAGES[type]:
            # Verification is a stage of its own here, so Provision does not wait for it.
            return FINISHED | {WorkStatus.RESOLVED}
        case StageName.PROVISION | StageName.TRANSITION | StageName.VERIFICATION | StageName.REMOVAL:
            return FINISHED


def works_on(stage: StageName) -> StageName:
    """Return the stage whose requests a stage works on: Removal for Removal itself, and Approval for all others."""
    return stage if stage is StageName.REMOVAL else StageName.APPROVAL
