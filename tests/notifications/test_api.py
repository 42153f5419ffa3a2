"""Test the API: own notifications, preferences, settings, secrets, templates, test messages and chat messages."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rolecall.core.caller import Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.notifications.chat import body_of
from rolecall.notifications.message_text import Note
from rolecall.notifications.model import Channel
from tests.builders import a_token, an_import, own_tokens
from tests.notifications.mailbox import Mailbox, receiving
from tests.notifications.notifying import Company, Desk, ask, change, notified, set_up_mail
from tests.webhooks.receivers import receiving as receiving_posts

SETTINGS = "/api/notification-settings"


@pytest.fixture
async def graces(db: Db, client: httpx2.AsyncClient, company: Company) -> httpx2.AsyncClient:
    """Return a client with a token that Grace created."""
    await own_tokens(db, company.grace)
    return client


async def test_person_lists_and_marks_only_own_notifications(
    db: Db, graces: httpx2.AsyncClient, company: Company
) -> None:
    request = await ask(db, company)
    await execute(
        db,
        """INSERT INTO notifications (id, identity_id, kind, item_kind, item_id, created_date, next_attempt_on)
           VALUES (gen_random_uuid(), %(alan)s, 'Waiting', 'Access Request', %(r)s, now(), now())""",
        alan=company.alan,
        r=request,
    )

    page = (await graces.get("/api/notifications?isRead=false")).json()

    assert page["totalCount"] == 1
    [item] = page["items"]
    assert item["subject"] == "Approve: Add access in Payroll: Post entries for Ada Lovelace"
    assert (item["link"], item["isCurrent"]) == (f"/requests/{request}", True)
    assert (await graces.patch(f"/api/notifications/{item['id']}", json={"isRead": True})).status_code == 204
    assert (await graces.get("/api/notifications?isRead=false")).json()["totalCount"] == 0
    others = await fetch_value(db, "SELECT id FROM notifications WHERE identity_id = %(id)s", id=company.alan)
    assert (await graces.patch(f"/api/notifications/{others}", json={"isRead": True})).status_code == 404


async def test_token_without_a_person_has_no_notifications(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/api/notifications")).json()["items"] == []
    answer = await client.patch("/api/notification-preferences", json={"zone": "Asia/Tokyo"})
    assert answer.status_code == 409


async def test_preference_of_a_person_applies_unless_the_kind_is_locked(
    db: Db, config: Config, graces: httpx2.AsyncClient, company: Company, mail: Mailbox, desk: Desk
) -> None:
    choice = {"kinds": [{"kind": "Waiting", "channel": "Console"}], "zone": "Europe/Zurich"}
    answer = await graces.patch("/api/notification-preferences", json=choice)
    assert answer.json()["zone"] == "Europe/Zurich"
    refused = await graces.patch("/api/notification-preferences", json={"zone": "localtime"})
    assert refused.status_code == 400
    await ask(db, company)
    await desk.work()
    assert await notified(db, company.grace) == [("Waiting", "Console")]

    await change(db, config, kinds=[{"kind": "Waiting", "isLocked": True}])
    await ask(db, company)
    await desk.work()

    assert await notified(db, company.grace) == [("Waiting", "Console"), ("Waiting", "Sent")]
    refused = await graces.patch("/api/notification-preferences", json=choice)
    message = "An administrator has locked Waiting; you cannot change it"
    assert refused.json()["errors"] == [{"field": "kinds.0.kind", "message": message}]


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({"email": {"transport": "SMTP"}}, "email.host", "Host is required to send by SMTP"),
        ({"email": {"sender": "nobody"}}, "email.sender", "must be an e-mail address"),
        ({"email": {"username": "x", "security": "None"}}, "email.security", "must be STARTTLS or TLS"),
        ({"slackUrl": "http://10.0.0.1/x"}, "slackUrl", "must not point to a private"),
        ({"kinds": [{"kind": "Lunch"}]}, "kinds.0.kind", "must be one of Waiting"),
        ({"kinds": [{"kind": "Channel Failing", "channel": "Email"}]}, "kinds.0.channel", "only in the console"),
        ({"templates": [{"kind": "Waiting", "subject": "{{ persn }}"}]}, "templates.0.subject", "did you mean person?"),
        ({"templates": [{"kind": "Waiting", "body": "a\n{{ what"}]}, "templates.0.body", "Line 2: braces"),
        ({"reminders": {"escalateAfterDays": 2}}, "reminders.escalateAfterDays", "must be more than"),
        ({"reminders": {"holidays": ["Easter"]}}, "reminders.holidays.0", "must be a date such as 2026-12-25"),
    ],
)
async def test_invalid_settings_say_what_is_wrong(
    client: httpx2.AsyncClient, body: dict[str, Any], field: str, message: str
) -> None:
    answer = await client.patch(SETTINGS, json=body)

    assert answer.status_code == 400
    found = {problem["field"]: problem["message"] for problem in answer.json()["errors"]}
    assert message in found[field]


async def test_secrets_are_encrypted_and_never_shown(db: Db, client: httpx2.AsyncClient) -> None:
    given = {"email": {"password": "hunter2-secret"}, "slackUrl": "https://203.1.113.9/services/T0-secret"}

    answer = await client.patch(SETTINGS, json=given)

    assert answer.status_code == 200, answer.text
    assert answer.json()["email"]["hasPassword"] is True
    assert answer.json()["channels"]["Slack"]["isConfigured"] is True
    kept = await fetch_value(db, "SELECT string_agg(encode(secret, 'escape'), '') FROM notification_secrets")
    audited = await fetch_value(db, "SELECT string_agg(entry, '') FROM audit_events")
    for text in (answer.text, kept, audited):
        assert "secret" not in text.replace("secrets", "")


async def test_password_is_not_sent_to_another_host(client: httpx2.AsyncClient) -> None:
    mail = {"transport": "SMTP", "host": "mail.test.example", "sender": "a@test.example", "username": "a"}
    assert (await client.patch(SETTINGS, json={"email": {**mail, "password": "hunter2"}})).status_code == 200

    refused = await client.patch(SETTINGS, json={"email": {"host": "eve.example"}})
    kept = (await client.get(SETTINGS)).json()["email"]["host"]
    answer = await client.patch(SETTINGS, json={"email": {"host": "new.test.example", "password": "hunter3"}})

    assert refused.json()["errors"] == [
        {
            "field": "email.password",
            "message": "The host changes, so enter the password again, or an empty one to remove it",
        }
    ]
    assert kept == "mail.test.example"
    assert (answer.status_code, answer.json()["email"]["host"]) == (200, "new.test.example")


@pytest.mark.timeout(60)
async def test_template_with_an_unclosed_brace_and_many_blanks_is_refused(client: httpx2.AsyncClient) -> None:
    template = {"kind": "Waiting", "subject": "{{  person  }}", "body": f"{{{{{' ' * 1500}x"}

    answer = await client.post(f"{SETTINGS}/preview", json=template)

    assert [problem["field"] for problem in answer.json()["errors"]] == ["body"]


async def test_template_is_previewed_and_used(
    db: Db, client: httpx2.AsyncClient, company: Company, mail: Mailbox, desk: Desk
) -> None:
    template = {"kind": "Waiting", "subject": "Please look: {{ person }}", "body": "{{ by }} asked <b>you</b>."}
    preview = (await client.post(f"{SETTINGS}/preview", json=template)).json()
    assert preview["subject"] == "Please look: Ada Lovelace"
    assert "asked &lt;b&gt;you&lt;/b&gt;." in preview["html"]
    await client.patch(SETTINGS, json={"templates": [template]})
    await ask(db, company)

    await desk.work()

    assert mail.messages[0]["Subject"] == "Please look: Ada Lovelace"
    await client.patch(SETTINGS, json={"templates": [{"kind": "Waiting"}]})
    templates = (await client.get(SETTINGS)).json()["templates"]
    assert next(each for each in templates if each["kind"] == "Waiting")["isDefault"] is True


async def test_name_with_a_line_break_cannot_add_a_header(db: Db, company: Company, mail: Mailbox, desk: Desk) -> None:
    await execute(
        db, "UPDATE identities SET last_name = %(n)s WHERE id = %(id)s", n="X\r\nBcc: eve@x.example", id=company.ada
    )
    await ask(db, company)

    await desk.work()

    [message] = mail.messages
    assert message["Bcc"] is None
    assert message["Subject"].endswith("for Ada X Bcc: eve@x[.]example")


async def test_test_message_returns_the_response_of_the_server(
    db: Db, config: Config, client: httpx2.AsyncClient, mail: Mailbox
) -> None:
    sent = (await client.post(f"{SETTINGS}/test", json={"address": "ada@test.example"})).json()
    refused = (await client.post(f"{SETTINGS}/test", json={"address": "unknown@test.example"})).json()

    assert (sent["outcome"], refused["outcome"]) == ("sent", "refused")
    assert refused["response"] == "550 5.1.1 No such user here"
    await set_up_mail(db, config, 1)
    down = (await client.post(f"{SETTINGS}/test", json={"address": "ada@test.example"})).json()
    assert down["outcome"] == "channel"
    log = (await client.get("/api/notification-messages?outcome=refused")).json()
    assert [item["address"] for item in log["items"]] == ["unknown@test.example"]
    detail = (await client.get(f"/api/notification-messages/{log['items'][0]['id']}")).json()
    assert "Rolecall can send notifications" in detail["text"] + detail["subject"]


async def test_token_that_is_revoked_while_the_body_arrives_sends_no_test_message(
    db: Db, client: httpx2.AsyncClient, mail: Mailbox
) -> None:
    token = await a_token(db, scopes=[Scope.CONFIG_MANAGE])

    async def body() -> AsyncIterator[bytes]:
        yield b"{"
        await execute(db, "UPDATE tokens SET revoked_at = now() WHERE id = %(id)s", id=token.id)
        yield b'"address": "ada@test.example"}'

    headers = {"Authorization": f"Bearer {token.secret}", "Content-Type": "application/json"}
    answer = await client.post(f"{SETTINGS}/test", content=body(), headers=headers)

    assert answer.status_code == 401
    assert mail.messages == []


async def test_test_message_needs_a_configured_channel(client: httpx2.AsyncClient) -> None:
    answer = await client.post(f"{SETTINGS}/test", json={"channel": "Slack"})

    assert answer.status_code == 409
    assert "Slack is not configured" in answer.text


async def test_chat_gets_one_message_for_several_people(db: Db, config: Config, company: Company, desk: Desk) -> None:
    async with receiving_posts() as receiver:
        await change(db, config, slackUrl=receiver.url, kinds=[{"kind": "Import Failed", "channel": "Slack"}])
        for number in range(2):
            await execute(
                db,
                """WITH person AS (
                       INSERT INTO identities (id, first_name, last_name, created_date, updated_date, first_seen_date,
                                               last_name_key, first_name_key)
                       VALUES (gen_random_uuid(), 'Admin', %(n)s::text, now(), now(), now(), 'x', %(n)s::text)
                       RETURNING id)
                   INSERT INTO console_roles (identity_id, role) SELECT id, 'Administrator' FROM person""",
                n=str(number),
            )
        await an_import(db, company.payroll, "Failed")
        await desk.work()

    [post] = receiver.received
    assert b"For " in post.body
    assert all(name in post.body for name in (b"Alan Turing", b"Admin 0", b"Admin 1"))
    assert b"Open the import" in post.body


def test_name_cannot_add_a_link_to_a_chat_message() -> None:
    name = "[Approve here](https://eve.example) <https://eve.example|here>"
    note = Note(name, [name], [("Person", name)], "http://rolecall.test/", "Open the request")

    card = json.loads(body_of(Channel.TEAMS, name, [note]))["attachments"][0]["content"]
    slack = json.loads(body_of(Channel.SLACK, name, [note]))["text"]

    assert {block["type"] for block in card["body"]} == {"RichTextBlock", "ActionSet"}
    assert "<https://eve.example|here>" not in slack


def certificate(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for 127.0.0.1 and its key."""
    from datetime import timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "mail.crt").write_bytes(made.public_bytes(encoding))
    (folder / "mail.key").write_bytes(key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain))
    return folder / "mail.crt", folder / "mail.key"


async def test_wrong_password_is_reported_and_the_right_one_sends_everything(
    db: Db,
    config: Config,
    company: Company,
    desk: Desk,
    client: httpx2.AsyncClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import ssl

    crt, key = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(crt))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(crt, key)
    mailbox = Mailbox()
    mailbox.password = "right"
    with receiving(mailbox, tls_context=context, authenticator=mailbox.authenticate, auth_required=True) as port:
        given = {"security": "STARTTLS", "username": "rolecall"}
        await set_up_mail(db, config, port, **given, password="wrong")
        await ask(db, company)
        await desk.work()
        health = (await client.get(SETTINGS)).json()["channels"]["Email"]
        assert "refused the user name or password" in health["lastError"]
        assert mailbox.messages == []

        await set_up_mail(db, config, port, **given, password="right")
        await execute(db, "UPDATE notifications SET next_attempt_on = now() WHERE next_attempt_on IS NOT NULL")
        await desk.work()

    assert len(mailbox.to("grace@test.example")) == 1
