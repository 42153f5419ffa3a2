"""Test one-time links by e-mail: who gets one, and that the page does not reveal which e-mail addresses are known."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.console import sign_in_mail
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, execute, fetch_rows, fetch_value, make_pool
from rolecall.web.limits import SIGN_INS_FROM_AN_ADDRESS
from tests.asgi import a_service
from tests.builders import a_token, an_identity
from tests.console.conftest import ORIGIN
from tests.counting import counting
from tests.notifications.mailbox import Mailbox, receiving
from tests.notifications.notifying import change, set_up_mail

LINK = re.compile(r"https?://[^\s\"<]+/sign-in/([\w-]{20,})")
SENT = "If this is the sign-in e-mail of a person, they get a link in a moment"


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


@pytest.fixture
async def mail(db: Db, config: Config, mailbox: Mailbox) -> AsyncIterator[Mailbox]:
    with receiving(mailbox) as port:
        await set_up_mail(db, config, port)
        yield mailbox


@pytest.fixture
async def pool(config: Config) -> AsyncIterator[Pool]:
    async with make_pool(config) as pool:
        yield pool


@pytest.fixture
async def ada(db: Db) -> UUID:
    return await an_identity(db, email="ada@test.example")


async def ask(visitor: httpx2.AsyncClient, email: str) -> httpx2.Response:
    return await visitor.post("/sign-in/email", data={"email": email})


async def send(pool: Pool, config: Config, after: timedelta = timedelta()) -> None:
    while await sign_in_mail.send_links(pool, config, clock.now() + after):
        pass


def link_in(mailbox: Mailbox) -> str:
    part = mailbox.messages[-1].get_body(("plain",))
    assert part
    found = LINK.search(part.get_content())
    assert found
    return found[1]


async def test_link_signs_in_once(
    visitor: httpx2.AsyncClient, config: Config, pool: Pool, mail: Mailbox, ada: UUID
) -> None:
    page = (await visitor.get("/sign-in")).text
    answer = await ask(visitor, "ADA@test.example")
    await send(pool, config)

    assert 'action="/sign-in/email"' in page
    assert SENT in answer.text
    assert [message["to"] for message in mail.messages] == ["ada@test.example"]
    link = link_in(mail)
    assert (await visitor.post(f"/sign-in/{link}")).headers["location"] == "/"
    assert (await visitor.get("/requests")).status_code == 200
    visitor.cookies.clear()
    assert (await visitor.post(f"/sign-in/{link}")).status_code == 401


async def test_link_expires_after_15_minutes(
    visitor: httpx2.AsyncClient, config: Config, pool: Pool, mail: Mailbox, ada: UUID
) -> None:
    await ask(visitor, "ada@test.example")
    await send(pool, config)

    clock.travel(timedelta(minutes=15, seconds=1))

    assert (await visitor.post(f"/sign-in/{link_in(mail)}")).status_code == 401


async def test_link_of_a_person_who_left_does_not_sign_in(
    visitor: httpx2.AsyncClient, db: Db, config: Config, pool: Pool, mail: Mailbox, ada: UUID
) -> None:
    await ask(visitor, "ada@test.example")
    await send(pool, config)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=ada)

    assert (await visitor.post(f"/sign-in/{link_in(mail)}")).status_code == 401


async def test_response_and_queries_are_the_same_for_known_and_unknown_emails(
    visitor: httpx2.AsyncClient, db: Db, config: Config, pool: Pool, mail: Mailbox, ada: UUID, clean_database: str
) -> None:
    gone = await an_identity(db, "Gone", "Person", email="gone@test.example")
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=gone)
    await an_identity(db, "Robo", "Account", email="robot@test.example", identityType="Service Account")
    for name in ("Twin", "Double"):
        await an_identity(db, name, "Same", email="twins@test.example")

    texts, statements = set(), set()
    for word in ("ada", "gone", "robot", "twins", "nobody"):
        email = f"{word}@test.example"
        async with counting(clean_database) as counts:
            statements.add(await counts.of(sign_in_mail.ask(counts.db, email, clock.now())))
        answer = await ask(visitor, email)
        texts.add((answer.status_code, answer.text.replace(email, "")))
    await send(pool, config)

    assert len(texts) == 1
    assert len(statements) == 1
    assert [message["to"] for message in mail.messages] == ["ada@test.example"]
    assert await fetch_value(db, "SELECT count(*) FROM sign_in_mails WHERE next_attempt_on IS NOT NULL") == 0


@pytest.mark.parametrize(
    "email",
    ["ada@test.example\r\nBcc: eve@test.example", "ada@test.example\n", "x" * 300 + "@test.example", ""],
)
async def test_entered_email_cannot_inject_headers_or_recipients(
    visitor: httpx2.AsyncClient, config: Config, pool: Pool, mail: Mailbox, ada: UUID, email: str
) -> None:
    answer = await ask(visitor, email)
    await send(pool, config)

    assert answer.status_code == 200
    assert SENT in answer.text
    # Whitespace around an address is ignored, so Ada gets a message in one case. Nobody else ever gets one.
    assert all(message["to"] == "ada@test.example" and not message["bcc"] for message in mail.messages)
    assert len(mail.messages) == (email.strip() == "ada@test.example")


async def test_requests_from_one_address_are_rate_limited(
    visitor: httpx2.AsyncClient, mail: Mailbox, ada: UUID
) -> None:
    clock.stop_at(datetime.now(UTC).replace(second=1))

    answers = [(await ask(visitor, "ada@test.example")).status_code for _ in range(SIGN_INS_FROM_AN_ADDRESS + 1)]

    assert answers == [200] * SIGN_INS_FROM_AN_ADDRESS + [429]


async def test_stranger_who_requests_links_cannot_prevent_the_person_from_signing_in(
    visitor: httpx2.AsyncClient, config: Config, pool: Pool, mail: Mailbox, ada: UUID
) -> None:
    for minute in range(40):
        clock.travel(timedelta(minutes=minute))
        await ask(visitor, "ada@test.example")
        await send(pool, config)

    assert len(mail.messages) == 8
    assert (await visitor.post(f"/sign-in/{link_in(mail)}")).status_code == 303


async def test_person_who_used_a_link_can_get_another_one_at_once(
    visitor: httpx2.AsyncClient, config: Config, pool: Pool, mail: Mailbox, ada: UUID
) -> None:
    for _ in range(2):
        await ask(visitor, "ada@test.example")
        await send(pool, config)
        assert (await visitor.post(f"/sign-in/{link_in(mail)}")).status_code == 303

    assert len(mail.messages) == 2


async def test_links_by_e_mail_can_be_turned_off(db: Db, config: Config, mail: Mailbox, ada: UUID) -> None:
    async with a_service(msgspec.structs.replace(config, base_url=ORIGIN, mailed_links=False)) as app:
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN, headers={"Origin": ORIGIN}) as visitor:
            page = (await visitor.get("/sign-in")).text
            answer = await ask(visitor, "ada@test.example")

    assert "/sign-in/email" not in page
    assert (answer.status_code, "Links by e-mail are turned off" in answer.text) == (409, True)
    assert await fetch_value(db, "SELECT count(*) FROM sign_in_mails") == 0


async def test_log_of_messages_does_not_contain_the_link(
    visitor: httpx2.AsyncClient, db: Db, config: Config, pool: Pool, mail: Mailbox, ada: UUID
) -> None:
    await ask(visitor, "ada@test.example")
    await send(pool, config)

    [(kind, text, html, outcome)] = await fetch_rows(db, "SELECT kind, text, html, outcome FROM notification_messages")

    assert (kind, outcome) == ("Sign-In Link", "sent")
    assert link_in(mail) not in text + html
    assert "/sign-in/…" in text


async def test_outbox_contains_the_link_because_nothing_is_sent(
    visitor: httpx2.AsyncClient, db: Db, config: Config, pool: Pool, ada: UUID
) -> None:
    await change(db, config, email={"transport": "Outbox"})
    await ask(visitor, "ada@test.example")
    await send(pool, config)

    found = LINK.search(await fetch_value(db, "SELECT text FROM notification_messages"))

    assert found
    assert (await visitor.post(f"/sign-in/{found[1]}")).status_code == 303


@pytest.mark.parametrize(("more", "status"), [([], 403), (["identities:write"], 200)])
async def test_token_without_the_right_to_change_people_cannot_read_or_redirect_links(
    visitor: httpx2.AsyncClient, db: Db, config: Config, pool: Pool, ada: UUID, more: list[str], status: int
) -> None:
    await change(db, config, email={"transport": "Outbox"})
    await ask(visitor, "ada@test.example")
    await send(pool, config)
    token = (await a_token(db, scopes=["config:manage", *more])).secret
    bearer, id = {"Authorization": f"Bearer {token}"}, await fetch_value(db, "SELECT id FROM notification_messages")

    read = await visitor.get(f"/api/notification-messages/{id}", headers=bearer)
    mail = {"email": {"transport": "Outbox", "host": "mail.attacker.example"}}
    redirected = await visitor.patch("/api/notification-settings", json=mail, headers=bearer)
    other = await visitor.patch("/api/notification-settings", json={"reminders": {}}, headers=bearer)

    assert (read.status_code, redirected.status_code, other.status_code) == (status, status, 200), redirected.text


async def test_greylisted_link_is_sent_again_with_a_new_secret(
    visitor: httpx2.AsyncClient, db: Db, config: Config, pool: Pool, mail: Mailbox
) -> None:
    await an_identity(db, email="grey1@test.example")
    await ask(visitor, "grey1@test.example")
    await send(pool, config)
    assert mail.messages == []

    await send(pool, config, timedelta(seconds=31))

    assert (await visitor.post(f"/sign-in/{link_in(mail)}")).status_code == 303


async def test_page_offers_no_link_without_a_mail_server(visitor: httpx2.AsyncClient, db: Db, ada: UUID) -> None:
    page = (await visitor.get("/sign-in")).text
    answer = await ask(visitor, "ada@test.example")

    assert "/sign-in/email" not in page
    assert "Ask an administrator for a one-time link" in page
    assert answer.status_code == 409
    assert "no mail server is configured" in answer.text
    assert await fetch_value(db, "SELECT count(*) FROM sign_in_mails") == 0


async def test_form_from_another_site_is_refused(visitor: httpx2.AsyncClient, db: Db, mail: Mailbox) -> None:
    answer = await visitor.post(
        "/sign-in/email", data={"email": "ada@test.example"}, headers={"Origin": "https://evil.example"}
    )

    assert answer.status_code == 403
    assert await fetch_value(db, "SELECT count(*) FROM sign_in_mails") == 0
