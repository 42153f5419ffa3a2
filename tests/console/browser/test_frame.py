"""Test the frame and lists in a browser: selecting, sorting, printing and narrow windows."""

import re
from datetime import date

from playwright.async_api import Route, expect

from rolecall.core.db import Db, execute
from tests.builders import an_access_request, an_application, an_identity
from tests.console.browser.conftest import Visit


async def an_inbox(visit: Visit, db: Db, count: int) -> str:
    person = await an_identity(db, "Bulk", "Bar", supervisorId=str(visit.site.company.administrator))
    for _ in range(count):
        await an_access_request(db, application_id=visit.site.company.ids["applications"], identity_id=person)
    return f"/requests?status=Pending&identityId={person}"


async def test_bulk_bar_selects_all_rows_and_counts_the_selected_ones(scripted: Visit, site_db: Db) -> None:
    page = scripted.page
    await scripted.go(await an_inbox(scripted, site_db, 4))
    every, verb = page.locator("[data-all]"), page.locator(".bulk button[value=Approved]")
    await expect(verb).to_be_hidden()

    await every.check()
    await expect(page.locator(".bulk")).to_contain_text("4 of 4 selected")
    await expect(verb).to_have_text("Approve 4")
    await page.keyboard.press("x")
    await expect(page.locator(".bulk")).to_contain_text("3 of 4 selected")
    assert await every.evaluate("one => one.indeterminate")

    await every.check()
    await every.uncheck()
    await expect(page.locator(".bulk")).to_contain_text("Select all 4")
    assert not await page.locator("td.tick :checked").count()


async def test_opened_ticked_and_hovered_rows_look_different(scripted: Visit, site_db: Db) -> None:
    page = scripted.page
    await scripted.go(await an_inbox(scripted, site_db, 4))
    rows = page.locator("tr[data-href]")
    await rows.nth(1).locator(".tick input").check()
    await rows.nth(2).hover()
    await page.wait_for_timeout(300)

    colors = [await row.evaluate("row => getComputedStyle(row).backgroundColor") for row in await rows.all()]

    assert len(set(colors)) == 4, colors


async def test_script_writes_dates_as_the_server_does(scripted: Visit) -> None:
    days = [date(2026, month, 22) for month in range(1, 13)]
    times = [*(day.isoformat() for day in days), "2026-09-22T20:00:00Z"]

    async def with_times(route: Route) -> None:
        answer = await route.fetch()
        shown = "".join(f'<time datetime="{each}"></time>' for each in times)
        await route.fulfill(
            response=answer, body=(await answer.text()).replace("</main>", f"<p id=t>{shown}</p></main>")
        )

    await scripted.page.route("**/account", with_times)
    await scripted.go("/account")

    # The browser is ten hours west of UTC.
    await expect(scripted.page.locator("#t time")).to_have_text(
        [*(f"{day.day} {day:%b %Y}" for day in days), "22 Sep 2026, 10:00"]
    )
    assert "22 Sep 2026" in str(await scripted.page.locator("#t time").last.get_attribute("title"))


async def test_complete_list_is_sorted_by_the_clicked_column(scripted: Visit, site_db: Db) -> None:
    page = scripted.page
    await an_application(site_db, "Zebra", priority="Critical")
    await scripted.go("/applications")
    names = page.locator("tbody td:first-child a")
    await page.get_by_role("button", name="Name").click()
    rising = await names.all_inner_texts()
    await page.get_by_role("button", name="Name").click()
    falling = await names.all_inner_texts()
    await expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "descending")
    await page.get_by_role("button", name="Priority").click()
    await page.get_by_role("button", name="Priority").click()

    assert rising == sorted(rising, key=str.casefold)
    assert falling == rising[::-1]
    assert (await names.all_inner_texts())[0] == "Zebra"
    await execute(site_db, "UPDATE applications SET is_archived = true WHERE name = 'Zebra'")


async def test_print_expands_collapsed_sections(scripted: Visit) -> None:
    page = scripted.page
    await scripted.go("/")
    table = page.locator("main details table").first
    await expect(table).to_be_hidden()

    await page.emulate_media(media="print")

    await expect(table).to_be_visible()


async def test_window_narrower_than_1200_px_shows_either_list_or_detail(visit: Visit, site_db: Db) -> None:
    page = visit.page
    await page.set_viewport_size({"width": 1100, "height": 800})
    await visit.go(await an_inbox(visit, site_db, 2))
    await expect(page.locator("#detail")).to_be_hidden()
    await expect(page.locator(".search")).to_be_hidden()

    await page.locator("tr[data-href] a").first.click()
    await expect(page.locator("#detail")).to_be_visible()
    await expect(page.locator("table.inbox")).to_be_hidden()
    await page.get_by_role("link", name="All requests").click()
    await expect(page.locator("table.inbox")).to_be_visible()


async def test_window_narrower_than_960_px_shows_navigation_as_a_menu(visit: Visit) -> None:
    page = visit.page
    await page.set_viewport_size({"width": 900, "height": 800})
    await visit.go("/")
    await expect(page.locator("#nav")).to_be_hidden()

    await page.get_by_role("button", name="Menu").click()
    await page.get_by_role("link", name="Applications").click()

    await page.wait_for_url("**/applications")
    await expect(page.locator("#nav")).to_be_hidden()


async def test_script_writes_times_in_the_format_of_the_server(scripted: Visit) -> None:
    await scripted.go("/imports")

    day = re.compile(r"\d{1,2} \w{3,4} \d{4}, \d\d:\d\d")
    await expect(scripted.page.locator("main td time[data-local]").first).to_have_text(day)
