"""Test in a browser that a person signs in by a link from their e-mail, with and without scripts."""

import asyncio
import re
from datetime import UTC, datetime

from rolecall.core.db import Db, fetch_value
from tests.builders import an_identity
from tests.cli.commands import PATIENCE_SECONDS
from tests.console.browser.conftest import Visit
from tests.notifications.notifying import change

_MESSAGE = "SELECT text FROM notification_messages WHERE address = %(to)s"


async def test_person_requests_a_link_and_signs_in_with_it(visit: Visit, site_db: Db) -> None:
    email = f"linus{datetime.now(UTC):%f}@example.com"
    await an_identity(site_db, "Linus", "Link", email=email)
    await visit.context.clear_cookies()
    await change(site_db, visit.site.config, email={"transport": "Outbox"})
    try:
        await visit.go("/sign-in")
        await visit.page.get_by_label("E-mail for the link").fill(email)
        await visit.press("Send me a one-time link")
        await visit.sees("If this is the sign-in e-mail of a person, they get a link in a moment")
        text = await message_to(site_db, email)
    finally:
        await change(site_db, visit.site.config, email={"transport": "Off"})
    link = re.search(r"/sign-in/[\w-]{20,}", text)
    assert link
    await visit.go(link[0])
    await visit.press("Sign in")
    await visit.sees("Welcome, Linus")


async def message_to(db: Db, address: str) -> str:
    """Wait until the worker has written the message; return its text."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if text := await fetch_value(db, _MESSAGE, to=address):
                return str(text)
            await asyncio.sleep(0.05)
