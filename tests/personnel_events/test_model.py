"""Test when stages are due and completed, and which status an event has."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rolecall.personnel_events.model import (
    STAGES,
    Period,
    Stage,
    StageName,
    Start,
    done_when,
    plan,
    status_of,
    works_on,
)
from rolecall.settings.policy import EventType
from rolecall.work_items.model import WorkStatus

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
TICK = timedelta(microseconds=1)
OVER = {WorkStatus.COMPLETED, WorkStatus.CANCELED}


def a_stage(
    status: WorkStatus = WorkStatus.SCHEDULED, start: datetime | None = None, name: StageName = StageName.PROVISION
) -> Stage:
    return Stage(1, name, status, start)


@pytest.mark.parametrize("status", WorkStatus)
def test_only_a_scheduled_stage_is_due_after_its_start(status: WorkStatus) -> None:
    stage = a_stage(status, NOON)

    assert [stage.is_due(NOON + tick, None) for tick in (-TICK, 0 * TICK, TICK)] == [
        False,
        status is WorkStatus.SCHEDULED,
        status is WorkStatus.SCHEDULED,
    ]


@pytest.mark.parametrize("status", WorkStatus)
def test_stage_without_a_start_is_due_when_the_previous_stage_is_completed(status: WorkStatus) -> None:
    assert a_stage().is_due(NOON, a_stage(status)) is (status is WorkStatus.COMPLETED)


def test_first_stage_without_a_start_is_never_due() -> None:
    assert a_stage().is_due(NOON, None) is False


SCHEDULED, SNOOZED, COMPLETED, CANCELED, OPEN = (
    WorkStatus.SCHEDULED,
    WorkStatus.SNOOZED,
    WorkStatus.COMPLETED,
    WorkStatus.CANCELED,
    WorkStatus.OPEN,
)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([SCHEDULED, SCHEDULED, SNOOZED], SCHEDULED),
        ([COMPLETED, COMPLETED, SNOOZED], SNOOZED),
        ([COMPLETED, SCHEDULED, SNOOZED], SCHEDULED),
        ([COMPLETED, COMPLETED, COMPLETED], COMPLETED),
        ([COMPLETED, CANCELED, CANCELED], CANCELED),
        ([CANCELED, SCHEDULED, SNOOZED], CANCELED),
        ([OPEN, SCHEDULED, SNOOZED], WorkStatus.PENDING),
        ([COMPLETED, OPEN, SNOOZED], OPEN),
        ([OPEN, OPEN, SNOOZED], WorkStatus.PENDING),
        ([COMPLETED, COMPLETED, OPEN], OPEN),
    ],
)
def test_status_of_an_event_follows_its_stages(statuses: list[WorkStatus], expected: WorkStatus) -> None:
    names = STAGES[EventType.ABSENCE]

    assert status_of([a_stage(status, None, name) for status, name in zip(statuses, names, strict=True)]) is expected


def test_event_with_open_verification_is_resolved() -> None:
    assert status_of([a_stage(OPEN, None, StageName.VERIFICATION)]) is WorkStatus.RESOLVED
    assert status_of([a_stage(OPEN, None, StageName.TRANSITION)]) is OPEN


@pytest.mark.parametrize("type", EventType)
def test_each_stage_completes_when_its_requests_have_the_required_status(type: EventType) -> None:
    assert done_when(type, StageName.APPROVAL) == set(WorkStatus) - {WorkStatus.PENDING}
    for stage in (StageName.TRANSITION, StageName.VERIFICATION, StageName.REMOVAL):
        assert done_when(type, stage) == OVER
    resolved = {WorkStatus.RESOLVED} if StageName.VERIFICATION in STAGES[type] else set()
    assert done_when(type, StageName.PROVISION) == OVER | resolved


def test_only_the_removal_stage_has_requests_of_its_own() -> None:
    assert {stage: works_on(stage) for stage in StageName if works_on(stage) is not StageName.APPROVAL} == {
        StageName.REMOVAL: StageName.REMOVAL
    }


@pytest.mark.parametrize("end", [None, NOON + timedelta(days=30)])
def test_removal_stage_is_snoozed_until_a_return_date_is_known(end: datetime | None) -> None:
    stages = plan(EventType.ABSENCE, Period(NOON, end, ZoneInfo("UTC")), 14)

    assert [(stage.name, stage.status, stage.scheduled_start) for stage in stages] == [
        (StageName.APPROVAL, SCHEDULED, NOON - timedelta(days=14)),
        (StageName.PROVISION, SCHEDULED, NOON),
        (StageName.REMOVAL, SCHEDULED if end else SNOOZED, end),
    ]


def test_verification_stage_is_scheduled_without_a_start() -> None:
    last = plan(EventType.ONBOARD, Period(NOON, None, ZoneInfo("UTC")), 14)[-1]

    assert (last.name, last.status, last.scheduled_start) == (StageName.VERIFICATION, SCHEDULED, None)


def test_lead_days_keep_midnight_across_a_clock_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    period = Period(datetime(2026, 11, 1, tzinfo=berlin).astimezone(UTC), None, berlin)

    start = period.scheduled_start(Start.LEAD_BEFORE, 14)

    assert start == datetime(2026, 10, 18, tzinfo=berlin)
