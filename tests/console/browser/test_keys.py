"""Test keyboard shortcuts."""

import asyncio
from uuid import UUID

from playwright.async_api import Request, Route, expect

from rolecall.core.db import Db, fetch_value
from tests.builders import an_access_request, an_identity
from tests.console.browser.conftest import Visit

# Press all keys in one script call, so that timing cannot affect the result.
PRESS = """([key, times]) => {
  for (let n = 0; n < times; n++) {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, repeat: n > 0, bubbles: true }));
  }
}"""


async def waiting(visit: Visit, db: Db, count: int) -> tuple[str, list[UUID]]:
    """Create requests that the administrator must decide; return the URL of the inbox and the ids, newest first."""
    person = await an_identity(db, "Kit", "Keys", supervisorId=str(visit.site.company.administrator))
    application = visit.site.company.ids["applications"]
    made = [await an_access_request(db, application_id=application, identity_id=person) for _ in range(count)]
    return f"/requests?identityId={person}", made[::-1]


def sent(visit: Visit) -> list[str]:
    """Return a list that records the HTTP requests to the inbox from now on."""
    urls = list[str]()

    def note(request: Request) -> None:
        if "/requests" in request.url:
            urls.append(f"{request.method} {request.url.removeprefix(visit.site.url)}")

    visit.page.on("request", note)
    return urls


async def status(db: Db, id: UUID) -> str:
    found: str = await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id)
    return found


async def test_held_key_fetches_only_the_last_selected_detail(scripted: Visit, site_db: Db) -> None:
    inbox, made = await waiting(scripted, site_db, 8)
    await scripted.go(inbox)
    asked = sent(scripted)

    await scripted.page.evaluate(PRESS, ["j", 6])
    await expect(scripted.page.locator("tr.chosen")).to_have_attribute("data-id", str(made[6]))
    await expect(scripted.page.locator("#detail")).to_have_attribute("data-id", str(made[6]))

    assert asked == [f"GET {inbox}&selected={made[6]}"]
    await expect(scripted.page.locator("tr.chosen a")).to_be_focused()
    await expect(scripted.page.locator("#announcement")).to_contain_text(f"#{await number(site_db, made[6])}")


async def number(db: Db, id: UUID) -> int:
    found: int = await fetch_value(db, "SELECT number FROM access_requests WHERE id = %(id)s", id=id)
    return found


async def test_response_key_acts_once_and_only_on_the_shown_request(scripted: Visit, site_db: Db) -> None:
    page, loaded = scripted.page, asyncio.Event()
    inbox, (first, second, third) = await waiting(scripted, site_db, 3)
    await scripted.go(inbox)
    asked = sent(scripted)

    async def late(route: Route) -> None:
        await loaded.wait()
        await route.continue_()

    await page.route(f"**/requests?*selected={second}*", late)
    await page.keyboard.press("j")
    await expect(page.locator("#detail")).to_have_attribute("aria-busy", "true")
    for key in ("a", "r", "Control+a", "Alt+a", "Meta+a"):
        await page.keyboard.press(key)
    loaded.set()
    await expect(page.locator("#detail")).to_have_attribute("data-id", str(second))
    assert not [url for url in asked if url.startswith("POST")]

    await page.evaluate(PRESS, ["a", 5])
    await expect(page.locator("#detail")).to_have_attribute("data-id", str(third))
    await expect(page.locator("tr.chosen a")).to_be_focused()
    await expect(page.locator("#announcement")).to_contain_text("to provision it")

    assert [await status(site_db, id) for id in (first, second, third)] == ["Pending", "Open", "Pending"]


async def test_keys_are_ignored_in_a_field_or_behind_a_dialog(scripted: Visit, site_db: Db) -> None:
    page = scripted.page
    inbox, (first, _) = await waiting(scripted, site_db, 2)
    await scripted.go(inbox)
    await page.keyboard.press("?")
    await page.evaluate(PRESS, ["j", 1])
    await page.evaluate(PRESS, ["a", 1])
    await page.keyboard.press("Escape")
    await page.locator("#content").fill("")
    await page.locator("#content").press_sequentially("jar")

    await expect(page.locator("#content")).to_have_value("jar")
    await expect(page.locator("tr.chosen")).to_have_attribute("data-id", str(first))
    assert await status(site_db, first) == "Pending"


async def test_detail_stays_visible_next_to_a_long_list(scripted: Visit, site_db: Db) -> None:
    inbox, made = await waiting(scripted, site_db, 30)
    await scripted.go(f"{inbox}&selected={made[28]}")

    await expect(scripted.page.locator("tr.chosen")).to_be_in_viewport()
    await expect(scripted.page.locator("#detail h2").first).to_be_in_viewport()
