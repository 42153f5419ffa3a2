"""Test that a page keeps the input during an outage and after the end of the session."""

import pytest
from playwright.async_api import Route, expect

from tests.console.browser.conftest import Visit

TEXT = "Written with care"
OFF = {
    "offline": "The service cannot be reached",
    "502": "The service is not available (502)",
    "500": "Something went wrong",
}


@pytest.mark.parametrize("how", OFF)
async def test_input_is_kept_and_sent_again_after_an_outage(scripted: Visit, how: str) -> None:
    page = scripted.page
    await scripted.go(f"/requests/{scripted.site.company.ids['requests']}")

    async def fail(route: Route) -> None:
        if how == "offline":
            await route.abort()
        else:
            await route.fulfill(status=int(how), body="<h1>Bad</h1>", headers={"X-Correlation-Id": "abc-123"})

    await page.route("**/comment", fail)
    await page.get_by_label("Comment").fill(f"{TEXT} {how}")
    await scripted.press("Comment")
    await expect(page.get_by_role("alert")).to_contain_text(OFF[how])
    await expect(page.get_by_label("Comment")).to_have_value(f"{TEXT} {how}")
    if how != "offline":
        await expect(page.get_by_role("alert")).to_contain_text("abc-123")

    await page.unroute("**/comment")
    await page.get_by_role("button", name="Try again").click()
    await scripted.sees("Your comment was added")
    await expect(page.locator(".activity", has_text=f"{TEXT} {how}")).to_have_count(1)
    await expect(page.get_by_role("alert")).to_have_count(0)
    await expect(page.locator("main > .notice")).to_be_focused()


async def test_input_is_kept_when_the_session_ends(scripted: Visit) -> None:
    page = scripted.page
    await scripted.go(f"/requests/{scripted.site.company.ids['requests']}")
    cookies = await scripted.context.cookies()
    await scripted.context.clear_cookies()
    await page.get_by_label("Comment").fill("Signed out")
    await scripted.press("Comment")
    await expect(page.get_by_role("alert")).to_contain_text("You are signed out")
    await expect(page.get_by_label("Comment")).to_have_value("Signed out")

    await scripted.context.add_cookies(
        [{"name": one["name"], "value": one["value"], "url": scripted.site.url} for one in cookies]
    )
    await page.get_by_role("button", name="Try again").click()
    await scripted.sees("Your comment was added")
