import asyncio
from pathlib import Path

from playwright.async_api import expect

from tests.console.browser.conftest import Visit


async def test_a_report_is_saved_and_downloaded(visit: Visit) -> None:
    """Save a report of a list with a filter and a column, with and without JavaScript, and run it."""
    page = visit.page
    await visit.go("/reports")
    await expect(page.get_by_role("link", name="Everyone's access", exact=True)).to_be_visible()
    await page.get_by_role("link", name="New report").click()
    await page.get_by_label("List").select_option("search-identities")
    await page.get_by_role("button", name="Choose list").click()
    name = f"People found {'with' if visit.has_scripts else 'without'} scripts"
    await page.get_by_label("Name (required)").fill(name)
    await page.get_by_label("Q", exact=True).fill("Lovelace")
    await page.get_by_text("Columns: all").click()
    await page.get_by_label("lastName").check()
    await page.get_by_role("button", name="Save report").click()
    await expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()

    async with page.expect_download() as coming:
        await page.get_by_role("button", name="Run report").click()
    file = await (await coming.value).path()

    assert (await asyncio.to_thread(Path(file).read_text)).splitlines() == ["lastName", "Lovelace"]
    await page.reload()
    await expect(page.get_by_text("Finished")).to_be_visible()
