"""Add an application from an unfamiliar export in a browser: count the clicks, and test questions and progress."""

import asyncio
import os
from pathlib import Path

from playwright.async_api import Page, Route, expect

from tests.console.browser.conftest import Visit

EXPORT = (
    "Operators of CoreBank, exported 2026-11-02\n\nOpr ID,Opr Name,Emp No,Sts,Branch,Pwd Hash,Roles\n"
    'kowalr1,"KOWALSKI, Ravi",E1061,Active,MAIN,x1,Teller;Wire\nmeyerm2,"MEYER, Malik",E1170,Suspended,ELM,x2,Teller\n'
    'moreau3,"MOREAU, Joana",E1072,Q,MAIN,x3,\n'
)
MOST_CLICKS = 12


class Clicks:
    """Click in the page and count the clicks; choosing a file counts as one click."""

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0

    async def on(self, role: str, name: str) -> None:
        self.count += 1
        await self.page.locator("main").get_by_role(role, name=name).first.click()  # type: ignore[arg-type]

    async def choose(self, label: str, name: str, text: str) -> None:
        self.count += 1
        file = {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
        await self.page.locator(f"input[type=file][name={label}]").set_input_files(file)  # type: ignore[arg-type]


async def shoot(page: Page, name: str) -> None:
    """Take screenshots in light and dark mode, wide and narrow, if ROLECALL_PICTURES names a folder."""
    if not (folder := os.environ.get("ROLECALL_PICTURES")):
        return
    for scheme in ("light", "dark"):
        for width in (1280, 390):
            await page.emulate_media(color_scheme=scheme)
            await page.set_viewport_size({"width": width, "height": 900})
            await page.screenshot(path=Path(folder) / f"{name}-{scheme}-{width}.png", full_page=True)
    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size({"width": 1280, "height": 900})


async def test_unfamiliar_export_is_imported_within_twelve_clicks(visit: Visit) -> None:
    page, clicks = visit.page, Clicks(visit.page)
    name = f"CoreBank {'scripted' if visit.has_scripts else 'plain'}"
    await visit.go("/applications")

    await clicks.on("link", "Add application")
    await page.locator("#name").fill(name)
    await clicks.choose("files", "operators.csv", EXPORT)
    await shoot(page, "files")
    await clicks.on("button", "Continue")
    await visit.sees("what does Q mean?")
    await shoot(page, "proposal")
    await clicks.on("button", "Q means not active")
    await expect(page.get_by_text("what does Q mean?")).to_have_count(0)
    await clicks.on("button", "Start dry run")
    await visit.sees("What the import would change")
    await shoot(page, "dry-run")
    await clicks.on("button", "Save and import")
    await expect(page.locator(".status.finished")).to_be_visible()

    assert clicks.count <= MOST_CLICKS
    await visit.sees("moreau3")
    await visit.go("/applications")
    await visit.sees(name)


async def test_open_question_is_readable_and_fits_a_phone(visit: Visit) -> None:
    page, clicks = visit.page, Clicks(visit.page)
    await visit.go("/drafts/new")
    await page.locator("#name").fill("CoreBank with a question")
    await clicks.choose("files", "operators.csv", EXPORT)
    await clicks.on("button", "Continue")
    await visit.sees("what does Q mean?")
    await page.set_viewport_size({"width": 390, "height": 900})
    for choice in await page.locator(".hintbar button").all():
        box = await choice.bounding_box()
        assert box
        assert box["x"] + box["width"] <= 390
    await clicks.on("button", "Start dry run")
    await visit.sees("1 question about the files is open.")
    await expect(page.locator(".notice .button")).to_have_css("color", "rgb(255, 255, 255)")


async def test_buttons_cannot_be_clicked_while_an_answer_is_stored(scripted: Visit) -> None:
    page, clicks, stored = scripted.page, Clicks(scripted.page), asyncio.Event()
    await scripted.go("/drafts/new")
    await page.locator("#name").fill("CoreBank with a slow answer")
    await clicks.choose("files", "operators.csv", EXPORT)
    await clicks.on("button", "Continue")
    await scripted.sees("what does Q mean?")

    async def hold(route: Route) -> None:
        await stored.wait()
        await route.continue_()

    await page.route("**/drafts/*", hold)
    await clicks.on("button", "Q means not active")
    await expect(page.get_by_role("button", name="Q means active")).to_have_css("pointer-events", "none")
    stored.set()

    await expect(page.get_by_text("what does Q mean?")).to_have_count(0)


async def test_enter_in_the_header_line_is_no_answer(visit: Visit) -> None:
    page, clicks = visit.page, Clicks(visit.page)
    await visit.go("/drafts/new")
    await page.locator("#name").fill("CoreBank with a header line")
    await clicks.choose("files", "operators.csv", EXPORT)
    await clicks.on("button", "Continue")
    await visit.sees("what does Q mean?")
    await page.get_by_label("Header line", exact=True).fill("1")

    await page.get_by_label("Header line", exact=True).press("Enter")

    await visit.sees("What becomes of 2 columns")


async def test_progress_of_an_upload_ends_with_an_error(scripted: Visit) -> None:
    page, clicks = scripted.page, Clicks(scripted.page)
    await scripted.go("/drafts/new")
    await page.locator("#name").fill("CoreBank without an answer")
    await clicks.choose("files", "operators.csv", EXPORT)

    await page.route("**/drafts/new", lambda route: route.fulfill(status=503, body=""))
    await clicks.on("button", "Continue")

    await expect(page.get_by_text("The service is not available (503)")).to_be_visible()
    await expect(page.locator("progress")).to_be_hidden()
