"""Test which people are notified of which change, in the transaction of the change."""

from datetime import timedelta
from uuid import UUID

from rolecall.access_requests import actions, moving, opening
from rolecall.core import clock
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.personnel_events import actions as events
from rolecall.webhooks.model import FAILURES_UNTIL_PROBED
from tests.builders import a_token, an_application, an_identity, an_import, facts
from tests.notifications.notifying import Company, Desk, ask, change, notified
from tests.stand_ins.office import APPROVED
from tests.stand_ins.standing_in import caller_of


async def test_rolled_back_request_notifies_nobody(db: Db, company: Company) -> None:
    async with db.transaction(force_rollback=True):
        await ask(db, company)
        assert await notified(db) == [("Waiting", "New")]

    assert await notified(db) == []


async def test_each_stage_notifies_its_reviewers(db: Db, company: Company) -> None:
    await execute(
        db,
        "UPDATE applications SET provisioner_ids = ARRAY[%(id)s::uuid] WHERE id = %(app)s",
        id=company.alan,
        app=company.payroll,
    )
    request = await ask(db, company)
    assert await notified(db) == [("Waiting", "New")]

    async with db.transaction():
        await opening.approve(db, [request], SYSTEM, clock.now(), "Fine")

    assert await notified(db, company.alan) == [("Waiting", "New")]
    unread = await fetch_rows(db, "SELECT identity_id FROM notifications WHERE NOT is_read")
    assert unread == [(company.alan,)]


async def test_requester_is_notified_of_the_decision(db: Db, company: Company) -> None:
    joan = Caller(company.alan, "Alan Turing", frozenset())
    request = await ask(db, company)
    await execute(db, "UPDATE access_requests SET reporter_id = %(id)s WHERE id = %(r)s", id=company.alan, r=request)

    async with db.transaction():
        await opening.approve(db, [request], SYSTEM, clock.now(), "Fine")
        await moving.cancel(db, [request], joan, clock.now())

    decided = await fetch_rows(
        db, "SELECT part FROM notifications WHERE kind = 'Decided' AND identity_id = %(id)s", id=company.alan
    )
    # A person who cancels a request is not notified of the cancellation.
    assert decided == [("AccessRequestApproved",)]


async def test_assignee_is_notified(db: Db, company: Company) -> None:
    request = await ask(db, company)
    body = {"assigneeId": str(company.alan)}

    async with db.transaction():
        await actions.assign(db, SYSTEM, str(request), body, facts())

    assert ("Assigned", "New") in await notified(db, company.alan)


async def test_failed_import_notifies_the_owner_or_the_administrators_if_there_is_none(
    db: Db, company: Company
) -> None:
    owned = await an_application(db, "CRM", ownerId=str(company.grace))

    await an_import(db, owned, "Failed")
    await an_import(db, company.payroll, "Failed")

    assert await notified(db, company.grace) == [("Import Failed", "New")]
    assert await notified(db, company.alan) == [("Import Failed", "New")]


async def test_held_import_of_an_application_without_an_owner_notifies_the_administrators(
    db: Db, company: Company, desk: Desk
) -> None:
    run = await an_import(db, company.payroll, "Running")
    await execute(db, "INSERT INTO import_runs (import_id) VALUES (%(id)s)", id=run)

    await execute(db, "UPDATE import_runs SET held = 'Removes 40 %%' WHERE import_id = %(id)s", id=run)

    assert await notified(db, company.alan) == [("Import Held", "New")]


async def test_administrators_are_notified_once_of_a_failing_webhook(db: Db, company: Company) -> None:
    hook = UUID(int=5)
    await execute(
        db,
        """INSERT INTO webhooks (id, name, url, events, enabled, created_date, secret)
           VALUES (%(id)s, 'Tickets', 'https://x.example', '{}', true, now(), '')""",
        id=hook,
    )

    for failures in (1, FAILURES_UNTIL_PROBED, FAILURES_UNTIL_PROBED + 1):
        await execute(db, "UPDATE webhooks SET failures = %(n)s WHERE id = %(id)s", n=failures, id=hook)

    assert await notified(db) == [("Webhook Failing", "New")]


async def test_supervisor_and_the_person_are_notified_of_a_leave(db: Db, company: Company) -> None:
    await execute(
        db,
        """INSERT INTO personnel_events (id, type, reporter_id, reporter_name, identity_id, needed_on)
           VALUES (gen_random_uuid(), 'Absence', %(alan)s, 'Alan Turing', %(ada)s, %(on)s)""",
        alan=company.alan,
        ada=company.ada,
        on=clock.now() + timedelta(days=9),
    )

    for person in (company.grace, company.ada):
        assert await notified(db, person) == [("Personnel Event", "New")]
    assert await fetch_value(db, "SELECT count(*) FROM notifications") == 2


async def test_only_the_supervisor_is_notified_of_an_offboarding(db: Db, company: Company) -> None:
    leaving = {"identityId": str(company.ada), "effectiveDate": "2030-01-31"}

    await events.offboard(db, SYSTEM, leaving, facts())

    assert await notified(db, company.grace) == [("Personnel Event", "New")]
    assert await notified(db, company.ada) == []


async def test_person_who_asked_through_a_token_is_notified_of_the_decision(db: Db, company: Company) -> None:
    token = await a_token(db, owner=company.alan)
    request = await ask(db, company)
    await execute(db, "UPDATE access_requests SET reporter_id = %(id)s WHERE id = %(r)s", id=token.id, r=request)

    async with db.transaction():
        await opening.approve(db, [request], SYSTEM, clock.now(), "Fine")
        await moving.cancel(db, [request], Caller(token.id, "API Token - a token", frozenset()), clock.now())

    decided = await fetch_rows(
        db, "SELECT part FROM notifications WHERE kind = 'Decided' AND identity_id = %(id)s", id=company.alan
    )
    assert decided == [("AccessRequestApproved",)]


async def test_bell_does_not_count_work_that_another_reviewer_has_done(db: Db, company: Company) -> None:
    """Grace or Bob can satisfy one rule, and Carl the other: after Grace has approved, only Carl has work."""
    bob, carl = [await an_identity(db, name, "Else") for name in ("Bob", "Carl")]
    request = await ask(db, company)
    await execute(
        db,
        """INSERT INTO responses (request_id, type, rule, position, reason, reviewer_id, reviewer_name, response, asked)
           VALUES (%(r)s, 'Approve', 0, 1, 'One of two', %(bob)s, 'Bob Else', 'Pending', true),
                  (%(r)s, 'Approve', 7, 0, 'Too', %(carl)s, 'Carl Else', 'Pending', true)""",
        r=request,
        bob=bob,
        carl=carl,
    )
    await execute(db, "SELECT notify_reviewers(ARRAY[%(r)s]::uuid[], 'Due')", r=request)

    async with db.transaction():
        await actions.respond(db, await caller_of(db, company.grace), str(request), APPROVED, facts())

    unread = await fetch_rows(db, "SELECT identity_id, kind FROM notifications WHERE NOT is_read")
    assert unread == [(carl, "Due")]


async def test_offboarding_is_not_revealed_by_assigning_its_request_to_the_person(
    db: Db, config: Config, company: Company, desk: Desk
) -> None:
    await change(db, config, email={"transport": "Outbox", "sender": "rolecall@test.example"})
    leaving = {"identityId": str(company.ada), "effectiveDate": "2031-01-31"}
    request = await ask(db, company, action="Remove")
    async with db.transaction():
        event = await events.offboard(db, SYSTEM, leaving, facts())
        await execute(
            db,
            """INSERT INTO related_items (request_id, item_id, kind, number, status, stage)
               SELECT %(r)s, e.id, 'Personnel Event', e.number, e.status, 'Approval'
               FROM personnel_events e WHERE e.id = %(e)s""",
            r=request,
            e=event,
        )
        await actions.assign(db, SYSTEM, str(request), {"assigneeId": str(company.ada)}, facts())

    await desk.work()

    assert await notified(db, company.ada) == [("Assigned", "Withdrawn")]
