from datetime import datetime, timedelta
from enum import Enum, StrEnum
from zoneinfo import ZoneInfo

import msgspec

from rolecall.work_items.model import WorkStatus


class EventType(StrEnum):
    ONBOARD = "Onboard"
    OFFBOARD = "Offboard"
    ROLE_TRANSITION = "Role Transition"
    ABSENCE = "Absence"


class StageName(StrEnum):
    APPROVAL = "Approval"
    PROVISION = "Provision"
    VERIFICATION = "Verification"
    TRANSITION = "Transition"
    REMOVAL = "Removal"


class Start(Enum):
    """When a stage starts."""

    LEAD_BEFORE = "some days before the effective date"
    EFFECTIVE = "at the effective date"
    END = "at the end date, once there is one"
    AFTER = "when the stage before it is done"


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
    """From the effective date to the end date, if there is one, in the service's time zone."""

    needed_on: datetime
    needed_until: datetime | None
    zone: ZoneInfo

    def scheduled_start(self, start: Start, lead_days: int) -> datetime | None:
        match start:
            case Start.LEAD_BEFORE:
                # In the zone: a day before midnight is midnight, also when the clocks change between.
                return self.needed_on.astimezone(self.zone) - timedelta(days=lead_days)
            case Start.EFFECTIVE:
                return self.needed_on
            case Start.END:
                return self.needed_until
            case Start.AFTER:
                return None


class PlannedStage(msgspec.Struct, frozen=True):
    name: StageName
    status: WorkStatus
    scheduled_start: datetime | None


def plan(type: EventType, period: Period, lead_days: int) -> list[PlannedStage]:
    """An event's stages as they are made."""
    stages = []
    for name, start in STAGES[type].items():
        scheduled = period.scheduled_start(start, lead_days)
        waits_for_a_date = start is Start.END and scheduled is None
        stages.append(PlannedStage(name, WorkStatus.SNOOZED if waits_for_a_date else WorkStatus.SCHEDULED, scheduled))
    return stages
