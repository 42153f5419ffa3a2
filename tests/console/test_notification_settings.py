"""Test the screens for notification preferences and, for administrators, settings, test messages and templates."""

import re
from html import unescape
from typing import Any

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from tests.notifications.mailbox import Mailbox, receiving
from tests.notifications.notifying import change, set_up_mail

PREFERENCES, SETTINGS = "/notifications/preferences", "/settings/notifications"
TEMPLATE = f"{SETTINGS}/templates/waiting"


def fields(page: str) -> dict[str, Any]:
    """Return the fields that the form of a page sends if nothing is changed."""
    form = page.partition("<main")[2]
    found: dict[str, Any] = {}
    for tag in re.findall(r"<input [^>]*>", form):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if attributes.get("type") != "checkbox" or " checked" in tag:
            found[attributes["name"]] = unescape(attributes.get("value", ""))
    for name, options in re.findall(r'<select [^>]*name="([^"]*)"[^>]*>(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'<option(?: value="([^"]*)")? selected>([^<]*)', options)
        found[name] = unescape(chosen[1] or chosen[2]) if chosen else ""
    for name, text in re.findall(r'<textarea [^>]*name="([^"]*)"[^>]*>(.*?)</textarea>', form, re.DOTALL):
        found[name] = unescape(text)
    return found


async def test_person_chooses_how_to_be_notified(administrator: httpx2.AsyncClient, db: Db) -> None:
    form = fields((await administrator.get(PREFERENCES)).text)
    assert form["choice.waiting"] == "Email/At Once"
    form |= {"choice.waiting": "Email/Digest", "choice.decided": "Console/At Once", "zone": "Asia/Tokyo"}

    answer = await administrator.post(PREFERENCES, data=form)

    assert answer.headers["location"] == PREFERENCES
    chosen = await fetch_rows(db, "SELECT kind, channel, rhythm FROM notification_preferences ORDER BY kind")
    assert chosen == [("Decided", "Console", "At Once"), ("Waiting", "Email", "Digest")]
    again = fields((await administrator.get(PREFERENCES)).text)
    assert (again["choice.waiting"], again["zone"]) == ("Email/Digest", "Asia/Tokyo")
    await administrator.post(PREFERENCES, data={**again, "choice.waiting": "Email/At Once"})
    assert await fetch_rows(db, "SELECT kind FROM notification_preferences") == [("Decided",)]


async def test_locked_kind_is_shown_as_locked(administrator: httpx2.AsyncClient, db: Db, config: Config) -> None:
    await change(db, config, kinds=[{"kind": "Waiting", "isLocked": True}])

    page = (await administrator.get(PREFERENCES)).text

    assert "choice.waiting" not in fields(page)
    assert "An administrator has set this for everyone" in page


async def test_problem_in_preferences_is_shown_next_to_its_field(administrator: httpx2.AsyncClient) -> None:
    form = fields((await administrator.get(PREFERENCES)).text)

    answer = await administrator.post(PREFERENCES, data={**form, "zone": "Mars", "choice.due": "Pigeon/At Once"})

    assert answer.status_code == 400
    assert 'id="zone-problem">Zone must be a time zone such as Europe/Zurich' in answer.text
    assert 'id="choice.due-problem"' in answer.text
    assert 'value="Mars"' in answer.text


async def test_administrator_sets_up_mail_and_sends_a_test(administrator: httpx2.AsyncClient, db: Db) -> None:
    mailbox = Mailbox()
    with receiving(mailbox) as port:
        form = fields((await administrator.get(SETTINGS)).text)
        form |= {"transport": "SMTP", "host": "127.0.0.1", "port": str(port), "security": "None"}
        refused = await administrator.post(SETTINGS, data=form)
        saved = await administrator.post(SETTINGS, data={**form, "sender": "rolecall@test.example"})
        sent = await administrator.post(f"{SETTINGS}/test", data={"channel": "Email", "address": "me@test.example"})
        notice = (await administrator.get(SETTINGS)).text

    assert 'id="sender-problem">Sender is required to send by SMTP' in refused.text
    assert (saved.status_code, sent.status_code) == (303, 303)
    assert len(mailbox.to("me@test.example")) == 1
    assert "The test message was sent. The server responded: 250 2.0.0 Queued" in notice


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"channel": "Email", "address": "unknown@test.example"}, "The test failed: 550 5.1.1 No such user here"),
        ({"channel": "Email", "address": ""}, "Address is required"),
        ({"channel": "Slack", "address": ""}, "Slack is not configured"),
    ],
)
async def test_failed_test_message_is_explained(
    administrator: httpx2.AsyncClient, db: Db, config: Config, given: dict[str, str], said: str
) -> None:
    with receiving(Mailbox()) as port:
        await set_up_mail(db, config, port)
        await administrator.post(f"{SETTINGS}/test", data=given, headers={"referer": f"http://localhost{SETTINGS}"})

    assert said in (await administrator.get(SETTINGS)).text


async def test_administrator_can_lock_kinds_and_allow_chats(
    administrator: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    await change(db, config, slackUrl="https://203.1.113.9/hook")
    form = fields((await administrator.get(SETTINGS)).text)
    assert ("chat.waiting" in form, "chat.personnel-event" in form) == (True, False)

    refused = await administrator.post(SETTINGS, data={**form, "choice.personnel-event": "Slack/At Once"})
    allowed = {"choice.personnel-event": "Slack/At Once", "chat.personnel-event": "yes", "locked.waiting": "yes"}
    saved = await administrator.post(SETTINGS, data={**form, **allowed})

    assert 'id="choice.personnel-event-problem">Everyone in the Slack channel would read' in refused.text
    assert saved.status_code == 303
    [(kinds,)] = await fetch_rows(db, "SELECT value FROM notification_settings WHERE name = 'kinds'")
    assert {(rule["kind"], rule["channel"], rule["isLocked"]) for rule in kinds} == {
        ("Personnel Event", "Slack", False),
        ("Waiting", "Email", True),
    }


async def test_outdated_form_does_not_undo_a_newer_change(
    administrator: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    form = fields((await administrator.get(SETTINGS)).text)
    await change(db, config, reminders={"remindAfterDays": 5})

    answer = await administrator.post(SETTINGS, data=form)

    assert answer.status_code == 409
    assert "changed this" in answer.text


async def test_template_is_previewed_saved_and_reset(administrator: httpx2.AsyncClient, db: Db) -> None:
    form = {**fields((await administrator.get(TEMPLATE)).text), "subject": "Decide: {{ what }}", "body": "By {{ due }}"}

    preview = await administrator.post(TEMPLATE, data={**form, "act": "preview"})
    assert await fetch_rows(db, "SELECT FROM notification_settings") == []
    await administrator.post(TEMPLATE, data={**form, "act": "save"})
    saved = (await administrator.get(TEMPLATE)).text
    reset = await administrator.post(TEMPLATE, data={**fields(saved), "act": "reset"})

    assert "<strong>Decide: Add access in Payroll: Post entries</strong>" in preview.text
    assert "not saved yet" in preview.text
    assert '<iframe sandbox title="The message as mail programs show it" srcdoc="&lt;!doctype html&gt;' in preview.text
    assert fields(saved)["subject"] == "Decide: {{ what }}"
    assert reset.status_code == 303
    assert fields((await administrator.get(TEMPLATE)).text)["subject"] == "{{ asked }}: {{ what }} for {{ person }}"


@pytest.mark.parametrize("act", ["preview", "save"])
async def test_error_in_a_template_is_shown_with_its_line(administrator: httpx2.AsyncClient, db: Db, act: str) -> None:
    form = {"subject": "{{ persn }}", "body": "{{ du }}\r\n{{ what", "act": act}

    answer = await administrator.post(TEMPLATE, data=form)

    assert answer.status_code == 400
    assert 'id="subject-problem">Line 1: persn is unknown; did you mean person?' in answer.text
    said = "Line 1: du is unknown; did you mean due? Line 2: braces are only for names; write a name as {{ person }}."
    assert f'id="body-problem">{said}</p>' in answer.text
    assert await fetch_rows(db, "SELECT FROM notification_settings") == []


async def test_invalid_stored_template_is_reported_on_its_page(administrator: httpx2.AsyncClient, db: Db) -> None:
    await execute(
        db,
        """INSERT INTO notification_settings (name, value)
           VALUES ('templates', '[{"kind": "Waiting", "subject": "{{ nobody }}", "body": ""}]')""",
    )

    answer = await administrator.get(TEMPLATE)

    assert answer.status_code == 200
    assert 'id="subject-problem">Line 1: nobody is unknown' in answer.text


async def test_unknown_template_is_not_found(administrator: httpx2.AsyncClient) -> None:
    assert (await administrator.get(f"{SETTINGS}/templates/lunch")).status_code == 404
