"""Test that stand-ins are notified, and what happens if everyone who could respond is absent."""

from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from rolecall.access_requests.actions import respond
from rolecall.core.authors import AuthorKind, by, by_system, sign
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.notifications import queries
from rolecall.notifications.message_text import default_template, note_of
from rolecall.notifications.model import NotificationFacts, NotificationKind
from rolecall.notifications.reminders import remind_and_escalate
from rolecall.personnel_events import actions as events
from rolecall.stand_ins.actions import create_stand_in, end_stand_in
from tests.builders import an_identity, facts
from tests.notifications.notifying import a_company, ask, notified
from tests.stand_ins.standing_in import CLERK, a_leave, a_stand_in, caller_of, days

UNABLE = "The reviewers have left, cannot sign in, must not decide, or are on leave and have no stand-in"


async def let_time_pass(db: Db, after: timedelta = timedelta()) -> None:
    now = datetime.now(UTC) + after
    async with db.transaction():
        await sign(db, by_system("remind_and_escalate", now))
        while await remind_and_escalate(db, ZoneInfo("UTC"), now):
            pass


async def escalations(db: Db) -> list[str]:
    rows = await fetch_rows(db, "SELECT content FROM activity WHERE action = 'Escalated' ORDER BY number")
    return [content for (content,) in rows]


async def test_stand_in_is_notified_with_the_name_of_the_reviewer(db: Db, config: Config) -> None:
    company = await a_company(db)
    sam = await an_identity(db, "Sam", "Else")
    await a_stand_in(db, company.grace, sam)

    await ask(db, company)

    assert await notified(db, sam) == [("Stand-In", "New"), ("Waiting", "New")]
    assert await notified(db, company.grace) == [("Stand-In", "New"), ("Waiting", "New")]
    item, _ = (await queries.newest_first(db, sam, 1, config, datetime.now(UTC))).items
    assert item.why.startswith("You stand in for Grace Hopper. ")
    assert item.is_current


async def test_both_people_are_notified_when_a_stand_in_is_named_and_ended(db: Db, config: Config) -> None:
    company = await a_company(db)
    sam = await an_identity(db, "Sam", "Else")

    async def results(person: UUID) -> list[tuple[str, bool]]:
        page = await queries.newest_first(db, person, 1, config, datetime.now(UTC))
        return [(item.subject, item.is_current) for item in page.items]

    made = await a_stand_in(db, company.grace, sam, type="Approve")
    named = f"from {date_of(made.starts_on)} until {date_of(made.ends_on)}"
    assert await results(sam) == [(f"You stand in for Grace Hopper {named}", True)]
    assert await results(company.grace) == [(f"Sam Else stands in for you {named}", True)]
    async with db.transaction():
        await end_stand_in(db, CLERK, str(made.id), datetime.now(UTC))

    assert [subject for subject, is_current in await results(sam) if is_current] == [
        "You no longer stand in for Grace Hopper"
    ]
    assert [is_current for _, is_current in await results(company.grace)] == [True, False]


def date_of(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"


async def test_person_who_names_a_stand_in_is_not_notified_of_it(db: Db) -> None:
    company = await a_company(db)
    sam = await an_identity(db, "Sam", "Else")
    grace = await caller_of(db, company.grace)

    async with db.transaction():
        await sign(db, by(AuthorKind.PERSON, grace, "create_stand_in", datetime.now(UTC), "test"))
        await create_stand_in(db, grace, {"standInId": str(sam), "endsOn": days(2)}, facts())

    assert (await notified(db, company.grace), await notified(db, sam)) == ([], [("Stand-In", "New")])


async def test_messages_about_stand_ins_named_and_ended_are_limited(db: Db) -> None:
    company = await a_company(db)
    for _ in range(12):
        made = await a_stand_in(db, company.ada, company.grace)
        async with db.transaction():
            await end_stand_in(db, CLERK, str(made.id), datetime.now(UTC))

    assert len(await notified(db, company.grace)) == 10


async def test_administrators_can_respond_at_once_if_the_supervisor_of_an_absent_reviewer_is_an_auditor(db: Db) -> None:
    company = await a_company(db)
    sam = await an_identity(db, "Sam", "Else")
    await execute(db, "UPDATE identities SET supervisor_id = %(sam)s WHERE id = %(id)s", sam=sam, id=company.grace)
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Auditor')", id=sam)
    await a_leave(db, company.grace)
    await ask(db, company)

    await let_time_pass(db)

    assert await escalations(db) == [f"{UNABLE}, so Alan Turing can respond too"]


async def test_notification_of_a_former_stand_in_is_not_current(db: Db, config: Config) -> None:
    company = await a_company(db)
    sam = await an_identity(db, "Sam", "Else")
    await a_stand_in(db, company.grace, sam)
    await ask(db, company)
    await execute(db, "UPDATE stand_ins SET ends_on = now()")

    items = (await queries.newest_first(db, sam, 1, config, datetime.now(UTC))).items

    assert [(item.kind, item.is_current) for item in items] == [
        ("Stand-In", True),
        ("Waiting", False),
        ("Stand-In", False),
    ]


async def test_only_rules_without_a_reviewer_who_can_respond_get_further_reviewers(db: Db) -> None:
    company = await a_company(db)
    await a_leave(db, company.grace)
    await a_stand_in(db, company.grace, company.ada)
    sam = await an_identity(db, "Sam", "Else", supervisorId=str(await an_identity(db, "Rosa", "Roe")))
    request = await ask(db, company)
    await execute(
        db,
        """INSERT INTO responses (request_id, type, rule, position, response, reason, reviewer_id, reviewer_name, asked)
           SELECT request_id, type, rule + 1, position, response, reason, %(sam)s, 'Sam Else', asked FROM responses
           WHERE request_id = %(request)s AND type = 'Approve'""",
        request=request,
        sam=sam,
    )

    await let_time_pass(db)

    rows = await fetch_rows(
        db,
        "SELECT rule, reviewer_name FROM responses WHERE request_id = %(id)s AND type = 'Approve' ORDER BY 1, position",
        id=request,
    )
    assert rows == [(0, "Grace Hopper"), (0, "Alan Turing"), (1, "Sam Else")]


async def test_request_whose_reviewer_is_on_leave_waits_for_the_supervisor_without_escalation(db: Db) -> None:
    company = await a_company(db)
    await a_leave(db, company.grace)
    await ask(db, company)

    await let_time_pass(db)

    assert ("Waiting", "New") in await notified(db, company.alan)
    assert await escalations(db) == []


async def test_administrators_can_respond_at_once_if_the_stand_in_must_not_decide(db: Db) -> None:
    company = await a_company(db)
    await a_leave(db, company.grace)
    await a_stand_in(db, company.grace, company.ada)
    await ask(db, company)

    await let_time_pass(db)
    await let_time_pass(db)

    assert await escalations(db) == [f"{UNABLE}, so Alan Turing can respond too"]


async def test_stand_in_whom_the_affected_person_chose_does_not_delay_the_escalation(db: Db) -> None:
    company = await a_company(db)
    sam = await an_identity(db, "Sam", "Else")
    await a_leave(db, company.grace)
    await a_stand_in(db, company.grace, company.ada)
    await a_stand_in(db, company.ada, sam)
    await ask(db, company)

    await let_time_pass(db)

    assert await escalations(db) == [f"{UNABLE}, so Alan Turing can respond too"]


async def test_administrators_can_respond_at_once_if_nobody_stands_in(db: Db) -> None:
    company = await a_company(db)
    await execute(db, "UPDATE identities SET supervisor_id = NULL WHERE id = %(id)s", id=company.grace)
    await a_leave(db, company.grace)
    await ask(db, company)

    await let_time_pass(db)

    assert len(await escalations(db)) == 1


async def test_loop_of_supervisors_on_leave_is_escalated_once(db: Db) -> None:
    company = await a_company(db)
    rosa = await an_identity(db, "Rosa", "Far", supervisorId=str(company.grace))
    await execute(db, "UPDATE identities SET supervisor_id = %(rosa)s WHERE id = %(id)s", rosa=rosa, id=company.grace)
    await a_leave(db, company.grace)
    await a_leave(db, rosa)
    await ask(db, company)

    await let_time_pass(db)

    (said,) = await escalations(db)
    assert "Alan Turing" in said or "Rosa Far" in said


async def test_loop_of_a_named_stand_in_and_a_leave_ends_at_the_administrators(db: Db) -> None:
    """Grace is on leave and named Rosa. Rosa is on leave too, so Grace, her supervisor, stands in for her."""
    company = await a_company(db)
    rosa = await an_identity(db, "Rosa", "Far", supervisorId=str(company.grace))
    await a_stand_in(db, company.grace, rosa)
    await a_leave(db, company.grace)
    await a_leave(db, rosa)
    await ask(db, company)

    await let_time_pass(db)

    assert await escalations(db) == [f"{UNABLE}, so Alan Turing can respond too"]


async def test_leave_that_the_supervisor_entered_is_escalated_past_the_supervisor(db: Db) -> None:
    """Rosa, who has no supervisor, sends Grace on leave."""
    company = await a_company(db)
    rosa = await an_identity(db, "Rosa", "Far")
    await execute(db, "UPDATE identities SET supervisor_id = %(rosa)s WHERE id = %(id)s", rosa=rosa, id=company.grace)
    today = datetime.now(UTC).date().isoformat()
    away = {"identityId": str(company.grace), "effectiveDate": today}
    await events.begin_absence(db, await caller_of(db, rosa), away, facts())
    await ask(db, company)

    await let_time_pass(db)
    await let_time_pass(db, timedelta(days=20))

    said = await escalations(db)
    assert said[0].endswith("so Alan Turing can respond too")
    assert not any("Rosa" in each for each in said)


async def test_reviewer_who_approved_is_not_asked_again_for_another_reviewer(db: Db) -> None:
    company = await a_company(db)
    emre = await an_identity(db, "Emre", "Berg", supervisorId=str(company.grace))
    request = await ask(db, company)
    await execute(
        db,
        """INSERT INTO responses (request_id, type, rule, position, reason, reviewer_id, reviewer_name, asked)
           SELECT request_id, type, max(rule) + 1, 0, 'Second rule', %(id)s, 'Emre Berg', true FROM responses
           WHERE type = 'Approve' GROUP BY request_id, type""",
        id=emre,
    )
    async with db.transaction():
        approved = {"type": "Approve", "response": "Approved"}
        await respond(db, await caller_of(db, company.grace), str(request), approved, facts())

    await let_time_pass(db, timedelta(days=20))

    assert (await escalations(db))[0].endswith("so Alan Turing can respond too")


def test_message_about_an_ended_stand_in_names_no_author() -> None:
    ended = NotificationFacts(
        person="Ada Lovelace", result="You no longer stand in for Ada Lovelace", link="/stand-ins"
    )

    note = note_of(default_template(NotificationKind.STAND_IN), ended, "Sam Else", "https://rolecall.example.com")

    assert (note.subject, note.paragraphs) == ("You no longer stand in for Ada Lovelace", [])


async def test_person_on_leave_is_notified_of_another_return_date(db: Db, config: Config) -> None:
    company = await a_company(db)
    leave = await a_leave(db, company.grace, endDate=days(2))

    await events.set_return_date(db, CLERK, leave, {"endDate": "2031-05-05T12:00:00Z"}, facts())

    page = await queries.newest_first(db, company.grace, 1, config, datetime.now(UTC))
    changed = [item.subject for item in page.items if "was planned" not in item.subject]
    assert [subject.endswith("was changed to end on 5 May 2031") for subject in changed] == [True], changed
