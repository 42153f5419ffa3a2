"""Test every kind of e-mail in a real browser: readable in light and dark mode on a phone.

`ROLECALL_PICTURES=folder` keeps a picture of each.
"""

import os
from pathlib import Path

import pytest
from playwright.async_api import Browser

from rolecall.notifications.message_text import EXAMPLES, default_template, note_of, write
from rolecall.notifications.model import NotificationKind
from rolecall.notifications.notification_facts import NotificationFacts
from tests.console.browser.test_every_screen import AXE, PHONE

LONG = "x" * 120
RULES = ["color-contrast", "link-in-text-block", "document-title", "html-has-lang", "td-headers-attr"]


def facts(**changed: str) -> NotificationFacts:
    known = {name: text for name, text in EXAMPLES.items() if name != "recipient"} | changed
    return NotificationFacts(**known, link="/requests/0199a8f2-0000-7000-8000-000000000000")  # type: ignore[arg-type]


def message(kinds: list[NotificationKind], **changed: str) -> str:
    base_url = "https://rolecall.example.com"
    notes = [note_of(default_template(kind), facts(**changed), EXAMPLES["recipient"], base_url) for kind in kinds]
    return write(notes, EXAMPLES["recipient"], base_url, is_digest=len(kinds) > 1).html


MESSAGES = {
    **{kind.lower().replace(" ", "-"): message([kind]) for kind in NotificationKind},
    "digest": message([NotificationKind.PERSONNEL_EVENT, NotificationKind.WAITING, NotificationKind.DECIDED]),
    "long-words": message([NotificationKind.WAITING], person=LONG, what=LONG, why=LONG),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_mail_is_readable_on_a_phone(browser: Browser, scheme: str) -> None:
    context = await browser.new_context(color_scheme=scheme, viewport=PHONE)  # type: ignore[arg-type]
    page, problems = await context.new_page(), list[str]()
    for name, html in MESSAGES.items():
        await page.set_content(html)
        wide = await page.evaluate("document.documentElement.scrollWidth")
        problems += [f"{name} is {wide} wide"] if wide > PHONE["width"] else []
        if folder := os.environ.get("ROLECALL_PICTURES"):
            await page.screenshot(path=Path(folder) / f"{name}-{scheme}.png", full_page=True)
        await page.evaluate(AXE)
        found = await page.evaluate("rules => axe.run({runOnly: {type: 'rule', values: rules}})", RULES)
        problems += [f"{name}: {each['id']} {each['nodes'][0]['html'][:120]}" for each in found["violations"]]
    await context.close()

    assert problems == []
