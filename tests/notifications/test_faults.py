"""Test faults of mail servers, recipients who left, chats that are not allowed, and hostile names."""

from datetime import timedelta

import httpx2
import pytest

from rolecall.access_requests import actions as requests
from rolecall.core import clock
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.notifications import health
from rolecall.notifications.message_text import default_template, note_of, write
from rolecall.notifications.model import DEFAULT_RULES, NotificationFacts, NotificationKind
from rolecall.notifications.sender import MessageSender
from rolecall.personnel_events import actions as events
from tests.builders import an_identity, facts, own_tokens
from tests.duties.separating import a_company as a_separated_company
from tests.notifications.mailbox import Mailbox
from tests.notifications.notifying import Company, Desk, ask, change, notified, outcomes, set_up_mail
from tests.stand_ins.standing_in import caller_of
from tests.webhooks.receivers import receiving as receiving_posts


async def test_message_that_the_server_rejects_after_its_text_blocks_nobody_else(
    db: Db, company: Company, mail: Mailbox, desk: Desk
) -> None:
    await execute(db, "UPDATE identities SET email_address = 'spam@x.example' WHERE id = %(id)s", id=company.grace)
    joan = await an_identity(db, "Joan", "Clarke", email="joan@test.example")
    await ask(db, company)
    await execute(db, "UPDATE identities SET supervisor_id = %(o)s WHERE id = %(id)s", o=joan, id=company.ada)
    await ask(db, company)

    await desk.work()

    assert sorted(await outcomes(db)) == ["refused", "sent"]
    assert len(mail.to("joan@test.example")) == 1
    [refused] = (await health.problems(db, clock.now())).refused
    assert (refused.address, refused.response) == ("spam@x.example", "554 5.7.1 Message rejected as spam")


async def test_message_that_waits_too_long_is_released_without_an_attempt(
    db: Db, company: Company, mail: Mailbox, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ask(db, company)
    with monkeypatch.context() as slow:
        slow.setattr("rolecall.notifications.mail.FRESH_FOR", timedelta(seconds=-1))
        async with MessageSender(desk.pool, desk.config, lambda: None) as sender:
            await sender.turn(desk.pool, desk.config, clock.now())
            await sender.rest()
    assert mail.messages == []
    assert await outcomes(db) == []
    assert await fetch_rows(db, "SELECT status, step, lease FROM notifications") == [("Pending", 0, None)]

    await desk.work()

    assert await outcomes(db) == ["sent"]


async def test_stopping_worker_releases_messages_that_it_has_not_started_to_send(
    db: Db, company: Company, mail: Mailbox, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        await ask(db, company)
    with monkeypatch.context() as one_connection:
        one_connection.setattr("rolecall.notifications.mail._CONNECTIONS", 1)
        async with MessageSender(desk.pool, desk.config, lambda: None) as sender:
            await sender.turn(desk.pool, desk.config, clock.now())

    assert len(await outcomes(db)) < 3
    assert await fetch_value(db, "SELECT count(*) FROM notifications WHERE lease IS NOT NULL") == 0
    await desk.work()
    assert await outcomes(db) == ["sent"] * 3
    assert len(mail.messages) == 3


async def test_message_whose_response_is_late_has_an_unknown_outcome(
    db: Db, company: Company, mail: Mailbox, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail.late_seconds = 3.0
    monkeypatch.setattr("rolecall.notifications.mail.MESSAGE_TAKES", timedelta(seconds=6))
    await ask(db, company)

    await desk.work()

    assert await outcomes(db) == ["unknown"]
    assert await notified(db, company.grace) == [("Waiting", "Pending")]


@pytest.mark.parametrize("is_allowed", [False, True])
async def test_event_about_a_person_goes_to_a_shared_channel_only_if_allowed(
    db: Db, config: Config, company: Company, mail: Mailbox, desk: Desk, is_allowed: bool
) -> None:
    """Grace chose Slack for personnel events and for assignments, and an event is assigned to her."""
    async with receiving_posts() as receiver:
        await change(db, config, slackUrl=receiver.url)
        if is_allowed:
            await change(db, config, kinds=[{"kind": "Personnel Event", "isChatAllowed": True}])
        for kind in ("Personnel Event", "Assigned"):
            await execute(
                db,
                """INSERT INTO notification_preferences (identity_id, kind, channel, rhythm)
                   VALUES (%(id)s, %(kind)s, 'Slack', 'At Once')""",
                id=company.grace,
                kind=kind,
            )
        leaving = {"identityId": str(company.ada), "effectiveDate": "2030-01-31"}
        event = await events.offboard(db, SYSTEM, leaving, facts())
        await events.assign_event(db, SYSTEM, event, {"assigneeId": str(company.grace)}, facts())
        await desk.work()

    assert len(receiver.received) == (2 if is_allowed else 0)
    assert len(mail.to("grace@test.example")) == (0 if is_allowed else 2)


async def test_shared_channel_for_events_about_people_must_be_allowed(
    db: Db, config: Config, company: Company, client: httpx2.AsyncClient
) -> None:
    settings, preferences = "/api/notification-settings", "/api/notification-preferences"
    await own_tokens(db, company.grace)
    slack = {"kinds": [{"kind": "Personnel Event", "channel": "Slack"}]}

    refused, chosen = await client.patch(settings, json=slack), await client.patch(preferences, json=slack)
    allowed = await client.patch(settings, json={"kinds": [{**slack["kinds"][0], "isChatAllowed": True}]})

    [problem] = refused.json()["errors"]
    assert problem["field"] == "kinds.0.channel"
    assert "Everyone in the Slack channel would read Personnel Event messages" in problem["message"]
    assert "An administrator has not allowed Personnel Event in Slack" in chosen.text
    assert allowed.status_code == 200
    assert (await client.patch(preferences, json=slack)).status_code == 200


async def test_mailbox_that_stays_full_is_reported_after_the_last_attempt(
    db: Db, company: Company, mail: Mailbox, desk: Desk
) -> None:
    await execute(db, "UPDATE identities SET email_address = 'full@x.example' WHERE id = %(id)s", id=company.grace)
    await ask(db, company)

    reported = []
    for days in range(8):
        clock.travel(timedelta(days=2 * days))
        await desk.work()
        reported.append([each.address for each in (await health.problems(db, clock.now())).refused])

    assert reported == [[]] * 7 + [["full@x.example"]]
    [(address, response)] = [(each.address, each.response) for each in (await health.problems(db, clock.now())).refused]
    assert (address, response) == ("full@x.example", "452 4.2.2 Mailbox full")


async def test_missing_mail_server_is_reported_and_blocks_no_response(
    db: Db, config: Config, company: Company, desk: Desk, mail_port: int
) -> None:
    request = await ask(db, company)
    await desk.work()
    approved = {"type": "Approve", "response": "Approved"}
    async with db.transaction():
        await requests.respond(db, await caller_of(db, company.grace), str(request), approved, facts())

    found = await health.problems(db, clock.now())
    await set_up_mail(db, config, mail_port)

    assert found.unsendable == 1
    assert (await health.problems(db, clock.now())).unsendable == 0


async def test_person_who_left_before_the_digest_gets_no_mail(
    db: Db, company: Company, mail: Mailbox, desk: Desk
) -> None:
    leaving = {"identityId": str(company.ada), "effectiveDate": "2030-01-31"}
    await events.offboard(db, SYSTEM, leaving, facts())
    request = await ask(db, company)
    await execute(db, "UPDATE access_requests SET reporter_id = %(id)s", id=company.grace)
    async with db.transaction():
        await requests.cancel(db, SYSTEM, str(request), {}, facts())
    await desk.work()
    mail.messages.clear()
    await ask(db, company)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=company.grace)

    clock.travel(timedelta(days=2))
    await desk.work()

    assert mail.messages == []
    assert ("Personnel Event", "Withdrawn") in await notified(db, company.grace)


async def test_former_owner_of_a_rule_gets_no_mail_about_its_conflicts(
    db: Db, config: Config, mail: Mailbox, desk: Desk
) -> None:
    await change(db, config, kinds=[{"kind": "Conflict Opened", "rhythm": "At Once"}])
    company = await a_separated_company(db)
    joan = await an_identity(db, "Joan", "Clarke")
    await execute(db, "UPDATE identities SET email_address = first_name || '@test.example'")
    changed = "UPDATE duty_rules SET definition = jsonb_set(definition, '{ownerId}', to_jsonb(%(id)s::text))"
    await execute(db, changed, id=joan)

    await desk.work()

    assert mail.messages == []
    assert await notified(db, company.owner) == [("Conflict Opened", "Withdrawn")]


async def test_notification_that_cannot_be_written_blocks_no_other(
    db: Db, company: Company, mail: Mailbox, desk: Desk
) -> None:
    leaving = {"identityId": str(company.ada), "effectiveDate": "2030-01-31"}
    event = await events.offboard(db, SYSTEM, leaving, facts())
    await events.assign_event(db, SYSTEM, event, {"assigneeId": str(company.grace)}, facts())
    await execute(db, "UPDATE personnel_events SET needed_until = 'infinity'")
    await ask(db, company)

    await desk.work()

    [sent] = mail.to("grace@test.example")
    assert sent["subject"] == "Approve: Add access in Payroll: Post entries for Ada Lovelace"
    assert sorted(await outcomes(db)) == ["sent", "unwritten"]
    [said] = (await health.problems(db, clock.now())).unwritten
    assert said.startswith("Assigned for Grace Hopper (DataError: timestamp too large")
    failed = await fetch_rows(db, "SELECT kind FROM notifications WHERE status = 'Failed' AND lease IS NULL")
    assert failed == [("Assigned",)]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("www.evil.example/login", "www[.]evil[.]example/login"),
        ("MAILTO:help@evil.example", "MAILTO[:]help@evil[.]example"),
        ("Evil.Com", "Evil[.]Com"),
        ("evil.भारत/login", "evil[.]भारत/login"),
        ("evil。example", "evil[.]example"),
        ("tel:+4930", "tel[:]+4930"),
        (r"\\evil\share", r"[\\]evil\share"),
        ("ftp://10.0.0.7/x", "ftp[:]//10.0.0.7/x"),
        ("users.csv of J. R. Tolkien, 3.5 km", "users.csv of J. R. Tolkien, 3.5 km"),
    ],
)
def test_mail_programs_find_no_address_in_a_name(name: str, shown: str) -> None:
    facts = NotificationFacts(person=name, what=name, by=name, why=name, link="/requests/1")
    note = note_of(default_template(NotificationKind.WAITING), facts, name, "https://rolecall.example.com")
    message = write([note], name, "https://rolecall.example.com", is_digest=False)

    assert f"Hello {shown},\n" in message.text
    assert f"Person: {shown}\nWhat: {shown}\nBy: {shown}\nWhy you: {shown}\n" in message.text
    assert (name in f"{message.subject} {message.text} {message.html}") is (name == shown)


def test_name_cannot_add_a_line_or_a_link_to_a_mail() -> None:
    name = "Post\n\nYour session ended. Sign in: https://evil.example/login"
    facts = NotificationFacts(person="Ada", what=name, by=name, why=name, link="/requests/1")
    note = note_of(default_template(NotificationKind.WAITING), facts, "Grace", "https://rolecall.example.com")

    text = write([note], "Grace", "https://rolecall.example.com", is_digest=False).text

    assert "What: Post Your session ended. Sign in: https[:]//evil[.]example/login\n" in text
    assert "://evil" not in f"{note.subject} {text}"
    assert "Open the request: https://rolecall.example.com/requests/1" in text


async def test_notification_for_a_chat_that_was_removed_is_mailed(
    db: Db, config: Config, company: Company, mail: Mailbox, desk: Desk
) -> None:
    async with receiving_posts() as receiver:
        await change(db, config, slackUrl=receiver.url, kinds=[{"kind": "Waiting", "channel": "Slack"}])
        await change(db, config, slackUrl="")
        await ask(db, company)
        await desk.work()

    assert receiver.received == []
    assert len(mail.to("grace@test.example")) == 1


def test_notifications_about_conflicts_events_or_reviews_do_not_go_to_a_chat_by_default() -> None:
    allowed = {kind for kind, rule in DEFAULT_RULES.items() if rule.is_chat_allowed}

    assert not [kind for kind in allowed if kind.startswith(("Conflict", "Personnel", "Review"))]
