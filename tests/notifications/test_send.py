"""Test e-mail to a real server: what arrives, what is tried again, and what an administrator sees."""

from datetime import timedelta

import pytest

from rolecall.access_requests import moving
from rolecall.core import clock
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from tests.builders import an_identity
from tests.notifications.mailbox import Mailbox
from tests.notifications.notifying import Company, Desk, ask, change, channel_error, notified, outcomes, set_up_mail


async def test_reviewer_gets_one_message_with_all_facts(db: Db, company: Company, mail: Mailbox, desk: Desk) -> None:
    request = await ask(db, company)

    await desk.work()
    await desk.work()

    [message] = mail.to("grace@test.example")
    assert message["Subject"] == "Approve: Add access in Payroll: Post entries for Ada Lovelace"
    parts = {part.get_content_type(): part.get_content() for part in message.iter_parts()}
    for text in parts.values():
        for said in (
            "Hello Grace Hopper",
            "Ada Lovelace",
            "The supervisor approves added and changed access",
            "After 7 working days, your supervisor can respond too",
            f"http://rolecall.test/requests/{request}",
        ):
            assert said in text
    assert list(parts) == ["text/plain", "text/html"]
    assert await notified(db, company.grace) == [("Waiting", "Sent")]
    assert await outcomes(db) == ["sent"]


async def test_nothing_is_sent_for_finished_work(db: Db, company: Company, mail: Mailbox, desk: Desk) -> None:
    request = await ask(db, company)
    async with db.transaction():
        await moving.cancel(db, [request], SYSTEM, clock.now())

    await desk.work()

    assert mail.messages == []
    assert await notified(db, company.grace) == [("Waiting", "Withdrawn")]


async def test_notifications_stay_in_the_console_without_a_mail_server(db: Db, company: Company, desk: Desk) -> None:
    await ask(db, company)

    await desk.work()

    assert await notified(db, company.grace) == [("Waiting", "Console")]
    assert await outcomes(db) == []


async def test_person_without_an_address_is_notified_in_the_console(
    db: Db, company: Company, mail: Mailbox, desk: Desk
) -> None:
    await execute(db, "UPDATE identities SET email_address = '' WHERE id = %(id)s", id=company.grace)
    await ask(db, company)

    await desk.work()

    assert await notified(db, company.grace) == [("Waiting", "Console")]


@pytest.mark.parametrize(("word", "first"), [("grey", "deferred"), ("hangup", "deferred"), ("lost", "unknown")])
async def test_message_is_retried_after_a_transient_error(
    db: Db, company: Company, mail: Mailbox, desk: Desk, word: str, first: str
) -> None:
    await execute(
        db, "UPDATE identities SET email_address = %(to)s WHERE id = %(id)s", to=f"{word}@x.example", id=company.grace
    )
    await ask(db, company)

    await desk.work()
    assert await outcomes(db) == [first]
    clock.travel(timedelta(minutes=1))
    await desk.work()

    assert await outcomes(db) == [first, "sent"]
    copies = mail.to(f"{word}@x.example")
    assert len(copies) == (2 if first == "unknown" else 1)
    assert len({copy["Message-ID"] for copy in copies}) == 1


@pytest.mark.parametrize(("word", "outcome"), [("unknown", "refused"), ("overfull", "refused"), ("full", "deferred")])
async def test_refused_or_deferred_message_blocks_nobody_else(
    db: Db, company: Company, mail: Mailbox, desk: Desk, word: str, outcome: str
) -> None:
    await execute(
        db, "UPDATE identities SET email_address = %(to)s WHERE id = %(id)s", to=f"{word}@x.example", id=company.grace
    )
    other = await an_identity(db, "Joan", "Clarke", email="joan@test.example")
    await ask(db, company)
    await execute(db, "UPDATE identities SET supervisor_id = %(o)s WHERE id = %(id)s", o=other, id=company.ada)
    await ask(db, company)

    await desk.work()

    assert sorted(await outcomes(db)) == sorted([outcome, "sent"])
    assert len(mail.to("joan@test.example")) == 1
    said = await fetch_value(db, "SELECT response FROM notification_messages WHERE outcome = %(o)s", o=outcome)
    assert said.startswith(("550", "552", "452"))


@pytest.mark.parametrize(
    "address", ["grace@", "@x.example", "<grace@x.example>", "grace@x..example", "grace@[127.0.0.1"]
)
async def test_address_that_cannot_be_parsed_is_refused_once(
    db: Db, company: Company, mail: Mailbox, desk: Desk, address: str
) -> None:
    await execute(db, "UPDATE identities SET email_address = %(to)s WHERE id = %(id)s", to=address, id=company.grace)
    await ask(db, company)

    await desk.work()

    assert await outcomes(db) == ["refused"]
    assert await notified(db, company.grace) == [("Waiting", "Failed")]


async def test_deferred_message_fails_after_the_last_attempt(
    db: Db, company: Company, mail: Mailbox, desk: Desk
) -> None:
    await execute(db, "UPDATE identities SET email_address = 'full@x.example' WHERE id = %(id)s", id=company.grace)
    await ask(db, company)

    for days in range(9):
        clock.travel(timedelta(days=2 * days))
        await desk.work()

    assert await notified(db, company.grace) == [("Waiting", "Failed")]
    assert await outcomes(db) == ["deferred"] * 8


async def test_unreachable_server_delays_messages_and_notifies_administrators(
    db: Db, config: Config, company: Company, mail: Mailbox, desk: Desk, mail_port: int
) -> None:
    await set_up_mail(db, config, 1)
    await ask(db, company)

    await desk.work()

    assert "127.0.0.1:1" in (await channel_error(db) or "")
    assert ("Channel Failing", "Console") in await notified(db, company.alan)
    assert await notified(db, company.grace) == [("Waiting", "Pending")]
    await set_up_mail(db, config, mail_port)
    clock.travel(timedelta(minutes=1))
    await desk.work()
    assert await notified(db, company.grace) == [("Waiting", "Sent")]
    assert await channel_error(db) is None


async def test_refused_sender_is_a_fault_of_the_channel(db: Db, company: Company, mail: Mailbox, desk: Desk) -> None:
    mail.senders_refused = True
    await ask(db, company)

    await desk.work()

    assert "refused the sender rolecall@test.example" in (await channel_error(db) or "")
    assert await notified(db, company.grace) == [("Waiting", "Pending")]


async def test_outbox_keeps_messages_without_sending(
    db: Db, config: Config, company: Company, mailbox: Mailbox, desk: Desk
) -> None:
    await change(db, config, email={"transport": "Outbox"})
    await ask(db, company)

    await desk.work()

    assert await outcomes(db) == ["kept"]
    assert mailbox.messages == []


async def test_digest_is_sent_once_at_eight_in_the_persons_zone(
    db: Db, config: Config, company: Company, mail: Mailbox, desk: Desk
) -> None:
    await change(db, config, kinds=[{"kind": "Waiting", "rhythm": "Digest"}])
    await execute(
        db, "INSERT INTO notification_zones (identity_id, zone) VALUES (%(id)s, 'Asia/Tokyo')", id=company.grace
    )
    for _ in range(3):
        await ask(db, company)
    await desk.work()
    assert mail.messages == []
    due = await fetch_value(
        db, "SELECT min(next_attempt_on) FROM notifications WHERE identity_id = %(id)s", id=company.grace
    )
    assert due.strftime("%H:%M") == "23:00"

    clock.travel_to(due)
    await desk.work()

    [message] = mail.to("grace@test.example")
    assert message["Subject"] == "3 notifications from Rolecall"


async def test_time_zone_unknown_to_this_machine_blocks_no_message(
    db: Db, config: Config, company: Company, mail: Mailbox, desk: Desk
) -> None:
    await change(db, config, kinds=[{"kind": "Waiting", "rhythm": "Digest"}])
    await execute(db, "INSERT INTO notification_zones VALUES (%(id)s, 'Gone/Zone')", id=company.grace)
    await ask(db, company)

    await desk.work()

    assert await fetch_value(db, "SELECT count(*) FROM notifications WHERE status = 'New'") == 0


async def test_broken_template_is_replaced_and_reported(
    db: Db, config: Config, company: Company, mail: Mailbox, desk: Desk
) -> None:
    await execute(
        db,
        """INSERT INTO notification_settings (name, value)
           VALUES ('templates', '[{"kind": "Waiting", "subject": "{{ nobody }}", "body": ""}]')""",
    )
    await ask(db, company)

    await desk.work()

    [message] = mail.to("grace@test.example")
    assert message["Subject"].startswith("Approve: ")
    problem = await fetch_value(db, "SELECT problem FROM notification_template_faults WHERE kind = 'Waiting'")
    assert "nobody is unknown" in problem


async def test_worker_that_died_leaves_an_unknown_outcome(db: Db, company: Company, mail: Mailbox, desk: Desk) -> None:
    await ask(db, company)
    await desk.work()
    await execute(
        db,
        """UPDATE notifications SET status = 'Pending', lease = gen_random_uuid(),
                                    next_attempt_on = now() - interval '1 s' WHERE identity_id = %(id)s""",
        id=company.grace,
    )
    await execute(db, "UPDATE notification_messages SET outcome = 'sending', ended_on = NULL")

    await desk.work()

    assert await outcomes(db) == ["unknown", "sent"]
    assert len({message["Message-ID"] for message in mail.to("grace@test.example")}) == 1
