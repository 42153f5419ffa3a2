"""Test bounces: reports that a message could not be delivered after the mail server accepted it."""

from datetime import timedelta
from email.message import EmailMessage

import httpx2
import pytest

from rolecall.core import clock
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.notifications import health
from rolecall.notifications.bounces import report_in
from rolecall.notifications.sender import MessageSender
from tests.builders import a_token
from tests.notifications.mailbox import Mailbox
from tests.notifications.notifying import Company, Desk, ask, change, notified, outcomes

BOUNCE = "/api/notification-messages/bounce"
FULL = "552 5.2.2 The mailbox is over quota"


def returned(sent: EmailMessage, action: str = "failed", status: str = "5.2.2", said: str = FULL) -> str:
    """Return the report that a mail server sends if it cannot deliver a message (RFC 3464)."""
    return f"""From: MAILER-DAEMON@relay.example
To: {sent["From"]}
Message-ID: <20261117.4711@relay.example>
Subject: Undelivered Mail Returned to Sender
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

I am sorry to have to inform you that your message could not be delivered.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.example

Final-Recipient: rfc822; {sent["To"]}
Action: {action}
Status: {status}
Diagnostic-Code: smtp; {said}

--b
Content-Type: message/rfc822

{sent.as_string()}
--b--
"""


async def bounce(client: httpx2.AsyncClient, mail: str) -> tuple[str | None, str]:
    answer = await client.post(BOUNCE, json={"mail": mail})
    assert answer.status_code == 200, answer.text
    return answer.json()["messageId"], answer.json()["said"]


@pytest.fixture
async def sent(db: Db, company: Company, mail: Mailbox, desk: Desk) -> EmailMessage:
    """Send a message to Grace, and return it as the mail server accepted it."""
    await ask(db, company)
    await desk.work()
    assert await outcomes(db) == ["sent"]
    return mail.messages[0]


async def test_report_marks_the_message_as_bounced_and_its_notification_as_failed(
    client: httpx2.AsyncClient, db: Db, company: Company, sent: EmailMessage
) -> None:
    id, said = await bounce(client, returned(sent))

    assert said == f"5.2.2 {FULL}"
    message = (await client.get(f"/api/notification-messages/{id}")).json()
    assert (message["address"], message["outcome"], message["response"]) == ("grace@test.example", "bounced", said)
    assert await notified(db, company.grace) == [("Waiting", "Failed")]
    assert not await fetch_value(db, "SELECT is_read FROM notifications")
    [address] = (await health.problems(db, clock.now())).refused
    assert (address.address, address.response) == ("grace@test.example", said)


async def test_repeated_report_changes_nothing(client: httpx2.AsyncClient, db: Db, sent: EmailMessage) -> None:
    assert await bounce(client, returned(sent)) == await bounce(client, returned(sent))
    assert await outcomes(db) == ["bounced"]


async def test_report_may_quote_headers_only(client: httpx2.AsyncClient, db: Db, sent: EmailMessage) -> None:
    head = returned(sent).partition("Content-Type: message/rfc822")[0]

    id, _ = await bounce(
        client, f"{head}Content-Type: text/rfc822-headers\n\nmessage-id:\n {sent['Message-ID']}\n--b--\n"
    )

    assert id
    assert await outcomes(db) == ["bounced"]


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("delayed", "The report does not say that delivery has failed permanently"),
        ("delivered", "The report does not say that delivery has failed permanently"),
    ],
)
async def test_report_of_a_delay_or_delivery_changes_nothing(
    client: httpx2.AsyncClient, db: Db, sent: EmailMessage, action: str, said: str
) -> None:
    assert await bounce(client, returned(sent, action, "4.4.7")) == (None, said)
    assert await outcomes(db) == ["sent"]


async def test_other_mail_changes_nothing(client: httpx2.AsyncClient, db: Db, sent: EmailMessage) -> None:
    away = f"In-Reply-To: {sent['Message-ID']}\nAuto-Submitted: auto-replied\n\nI am on leave until Monday."
    stranger = returned(sent).replace(str(sent["Message-ID"]), "<1b4e28ba-2fa1-11d2-883f-0016d3cca427@x.example>")

    assert await bounce(client, away) == (None, "The mail contains no delivery report that can be read")
    assert await bounce(client, stranger) == (None, "The delivery report matches no e-mail of the last 90 days")
    assert await outcomes(db) == ["sent"]


async def test_every_notification_of_a_returned_digest_fails(
    client: httpx2.AsyncClient, db: Db, company: Company, mail: Mailbox, desk: Desk
) -> None:
    await change(db, desk.config, kinds=[{"kind": "Waiting", "rhythm": "Digest"}])
    await ask(db, company)
    await ask(db, company)
    await desk.work()
    clock.travel_to(clock.now() + timedelta(days=1))
    await desk.work()

    await bounce(client, returned(mail.messages[0]))

    assert await notified(db, company.grace) == [("Waiting", "Failed")] * 2


async def test_report_that_arrives_before_the_result_of_sending_takes_precedence(
    client: httpx2.AsyncClient, db: Db, company: Company, mail: Mailbox, desk: Desk
) -> None:
    await ask(db, company)
    async with MessageSender(desk.pool, desk.config, lambda: None) as sender:
        while await sender.turn(desk.pool, desk.config, clock.now()):
            pass
        await sender._flight.finish()
        assert await outcomes(db) == ["sending"]

        await bounce(client, returned(mail.messages[0]))

    assert await outcomes(db) == ["bounced"]
    assert await fetch_rows(db, "SELECT status, lease FROM notifications") == [("Failed", None)]


async def test_token_of_the_mail_server_reports_bounces_and_nothing_else(
    db: Db, anonymous: httpx2.AsyncClient, sent: EmailMessage
) -> None:
    relay = {"Authorization": f"Bearer {(await a_token(db, 'relay', scopes=['bounces:write'])).secret}"}

    reported = await anonymous.post(BOUNCE, json={"mail": returned(sent)}, headers=relay)
    listed = await anonymous.get("/api/notification-messages", headers=relay)

    assert (reported.status_code, listed.status_code) == (200, 403)


def test_malformed_mails_are_not_taken_for_reports() -> None:
    parameters = "Content-Type: multipart/report; a*0=b; a*=c\n\n"
    for mail in ("", "\n", "Content-Type: message/delivery-status", "Content-Type: multipart/report", parameters):
        assert report_in(mail) is None


def nested(depth: int, before: str = "") -> str:
    """Return a delivery status nested in other parts, which is slow to parse."""
    parts = "".join(f"Content-Type: multipart/mixed; boundary={n}\n\n{before}\n--{n}\n" for n in range(depth))
    return f"{parts}Content-Type: message/delivery-status\n\nAction: failed\nStatus: 5.2.2\n\n"


@pytest.mark.parametrize(("depth", "before", "is_report"), [(3, "", True), (20, "", False), (1, "x" * 70_000, False)])
async def test_reports_that_are_nested_deeply_or_begin_late_in_a_mail_are_not_read(
    client: httpx2.AsyncClient, depth: int, before: str, is_report: bool
) -> None:
    no_report = (None, "The mail contains no delivery report that can be read")
    assert (await bounce(client, nested(depth, before)) != no_report) == is_report


async def test_bounce_without_a_mail_is_refused(client: httpx2.AsyncClient) -> None:
    answer = await client.post(BOUNCE, json={})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "mail")
