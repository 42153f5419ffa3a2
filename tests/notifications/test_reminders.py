"""Test requests without a response: reminders, escalation and working days."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rolecall.core.authors import by_system, sign
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.notifications.model import CountedDays, Reminders, counted_after, counted_before
from rolecall.notifications.reminders import remind_and_escalate
from tests.notifications.notifying import Company, ask, change, notified

ZURICH = ZoneInfo("Europe/Zurich")
FRIDAY = datetime(2026, 12, 18, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "reminders", "expected"),
    [
        (1, Reminders(), date(2026, 12, 21)),
        (5, Reminders(), date(2026, 12, 25)),
        (5, Reminders(holidays=[date(2026, 12, 25)]), date(2026, 12, 28)),
        (1, Reminders(days=CountedDays.CALENDAR), date(2026, 12, 19)),
        (0, Reminders(), date(2026, 12, 18)),
    ],
)
def test_deadline_skips_weekends_and_holidays(days: int, reminders: Reminders, expected: date) -> None:
    due = counted_after(FRIDAY, days, reminders, ZURICH)

    assert due.date() == expected
    assert counted_before(due, days, reminders, ZURICH) == FRIDAY


@pytest.mark.parametrize("moment", ["2026-12-19 11:00", "2026-12-20 23:59", "2026-12-21 09:59"])
def test_weekend_does_not_count_toward_working_days(moment: str) -> None:
    """A request made on Wednesday at 10:00 is three working days old on Monday at 10:00."""
    wednesday = datetime(2026, 12, 16, 10, tzinfo=UTC)
    due = counted_after(wednesday, 3, Reminders(), ZoneInfo("UTC"))

    now = datetime.fromisoformat(moment).replace(tzinfo=UTC)

    assert due == datetime(2026, 12, 21, 10, tzinfo=UTC)
    assert counted_before(now, 3, Reminders(), ZoneInfo("UTC")) < wednesday
    assert counted_before(due, 3, Reminders(), ZoneInfo("UTC")) == wednesday


async def silence(db: Db, after: timedelta) -> None:
    """Remind and escalate as the worker would after this time without a response."""
    now = datetime.now(UTC) + after
    async with db.transaction():
        await sign(db, by_system("remind_and_escalate", now))
        while await remind_and_escalate(db, ZoneInfo("UTC"), now):
            pass


async def activity(db: Db) -> list[tuple[str, str]]:
    rows = await fetch_rows(
        db, "SELECT action, content FROM activity WHERE action IN ('Reminded', 'Escalated') ORDER BY number"
    )
    return [(action, content) for action, content in rows]


async def test_reviewer_who_did_not_respond_is_reminded_once(db: Db, config: Config, company: Company) -> None:
    await change(db, config, reminders={"days": "Calendar Days"})
    await ask(db, company)

    await silence(db, timedelta(days=2))
    assert await activity(db) == []
    await silence(db, timedelta(days=4))
    await silence(db, timedelta(days=5))

    assert await activity(db) == [("Reminded", "Reminded after 3 calendar days without a response: Grace Hopper")]
    assert await notified(db, company.grace) == [("Waiting", "New"), ("Due", "New")]


async def test_supervisor_of_an_unresponsive_reviewer_can_respond(db: Db, config: Config, company: Company) -> None:
    await change(db, config, reminders={"days": "Calendar Days", "remindAfterDays": 0})
    request = await ask(db, company)

    await silence(db, timedelta(days=8))
    await silence(db, timedelta(days=20))

    assert await activity(db) == [("Escalated", "No response in 7 calendar days, so Alan Turing can respond too")]
    assert await notified(db, company.alan) == [("Escalated", "New")]
    asked = await fetch_rows(
        db, "SELECT reviewer_name FROM responses WHERE request_id = %(id)s AND type = 'Approve'", id=request
    )
    assert asked == [("Grace Hopper",), ("Alan Turing",)]


async def test_escalation_does_not_ask_the_affected_person(db: Db, config: Config, company: Company) -> None:
    """Grace and Ada supervise each other: the request about Ada goes to the administrators."""
    await change(db, config, reminders={"days": "Calendar Days", "remindAfterDays": 0})
    await execute(db, "UPDATE identities SET supervisor_id = %(s)s WHERE id = %(id)s", s=company.ada, id=company.grace)
    await ask(db, company)

    await silence(db, timedelta(days=8))

    assert (await activity(db))[0][1].endswith("so Alan Turing can respond too")


async def test_request_is_escalated_once_despite_a_cycle_of_supervisors(
    db: Db, config: Config, company: Company
) -> None:
    await change(db, config, reminders={"days": "Calendar Days", "remindAfterDays": 0})
    await execute(db, "UPDATE identities SET supervisor_id = %(s)s WHERE id = %(id)s", s=company.grace, id=company.alan)
    await ask(db, company)

    for days in (8, 30, 90):
        await silence(db, timedelta(days=days))

    assert [action for action, _ in await activity(db)] == ["Escalated"]


async def test_no_reminder_or_escalation_when_both_are_off(db: Db, config: Config, company: Company) -> None:
    await change(db, config, reminders={"remindAfterDays": 0, "escalateAfterDays": 0})
    await ask(db, company)

    await silence(db, timedelta(days=400))

    assert await activity(db) == []


async def test_request_is_escalated_at_once_if_its_reviewer_cannot_sign_in(db: Db, company: Company) -> None:
    request = await ask(db, company)
    await execute(db, "UPDATE identities SET type = 'Shared' WHERE id = %(id)s", id=company.grace)

    await silence(db, timedelta(0))

    assert (await activity(db))[0][1].endswith("so Alan Turing can respond too")
    asked = await fetch_rows(
        db, "SELECT reviewer_name FROM responses WHERE request_id = %(id)s AND type = 'Approve'", id=request
    )
    assert asked == [("Grace Hopper",), ("Alan Turing",)]
