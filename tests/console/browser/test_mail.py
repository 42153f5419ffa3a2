"""Test in a real browser that every kind of e-mail is readable on a phone, in light and dark mode.

`ROLECALL_PICTURES=folder` saves a screenshot of each e-mail to that folder.
"""

import os
import re
from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace
from playwright.async_api import Browser

from rolecall.core.config import Config
from rolecall.core.db import Db, make_pool
from rolecall.notifications.message_text import EXAMPLES, default_template, note_of, write
from rolecall.notifications.model import ALWAYS_CONSOLE, NotificationKind
from rolecall.notifications.notification_facts import NotificationFacts
from tests.asgi import serving
from tests.console.browser.test_every_screen import AXE, PHONE
from tests.notifications.notifying import Desk
from tests.notifications.occurrences import OccurredMail, a_mail_office, every_mail

LONG = "x" * 120
RULES = ["color-contrast", "link-in-text-block", "document-title", "html-has-lang", "td-headers-attr"]


@pytest.fixture
def config(config: Config, tmp_path: Path) -> Config:
    (tmp_path / "reports").mkdir()
    return replace(config, report_roots=(str(tmp_path),), webhook_allow=(ip_network("127.0.0.0/8"),))


@pytest.fixture
async def service(config: Config, token: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with serving(config) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        yield client


@pytest.fixture
async def mails(db: Db, service: httpx2.AsyncClient, config: Config, tmp_path: Path) -> list[OccurredMail]:
    async with make_pool(config) as pool:
        office = await a_mail_office(db, service, config, Desk(pool, config), tmp_path / "reports")
        return await every_mail(office)


def with_long_words() -> OccurredMail:
    """Return a message with long names that cannot be broken into lines."""
    facts = NotificationFacts(person=LONG, what=LONG, why=LONG)
    base_url = "https://rolecall.example.com"
    note = note_of(default_template(NotificationKind.WAITING), facts, EXAMPLES["recipient"], base_url)
    written = write([note], EXAMPLES["recipient"], base_url, is_digest=False)
    return OccurredMail("long words", "Waiting", "", written.subject, written.text, written.html)


async def test_every_mail_is_readable_on_a_phone(browser: Browser, mails: list[OccurredMail]) -> None:
    kinds = {mail.kind for mail in mails}
    assert kinds >= set(NotificationKind) - ALWAYS_CONSOLE, "Let each kind occur in occurrences.py"
    problems = list[str]()
    for scheme in ("light", "dark"):
        context = await browser.new_context(color_scheme=scheme, viewport=PHONE)  # type: ignore[arg-type]
        page = await context.new_page()
        for number, mail in enumerate([*mails, with_long_words()]):
            await page.set_content(mail.html)
            name = re.sub(r"\W+", "-", f"{number:02} {mail.occurrence} {mail.kind}".lower())
            wide = await page.evaluate("document.documentElement.scrollWidth")
            problems += [f"{name} is {wide} wide"] if wide > PHONE["width"] else []
            if folder := os.environ.get("ROLECALL_PICTURES"):
                await page.screenshot(path=Path(folder) / f"{name}-{scheme}.png", full_page=True)
            await page.evaluate(AXE)
            found = await page.evaluate("rules => axe.run({runOnly: {type: 'rule', values: rules}})", RULES)
            problems += [f"{name}: {each['id']} {each['nodes'][0]['html'][:120]}" for each in found["violations"]]
        await context.close()

    assert problems == []


async def test_mails_contain_names_instead_of_ids_and_are_complete(mails: list[OccurredMail]) -> None:
    """Each e-mail greets its recipient, gives the reason (except digests and sign-in links), and has no empty field."""
    for mail in mails:
        said = re.sub(r"https?://\S+", "…", f"{mail.subject}\n{mail.text}")
        assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", said), said
        assert not re.search(r"None|[{}]|  |^(Person|What|By|Why you|Due):$| [.:,]", said, re.MULTILINE), said
        assert mail.text.startswith("Hello "), mail
        if mail.kind not in ("Sign-In Link", "Digest"):
            assert "Why you: " in mail.text, mail
