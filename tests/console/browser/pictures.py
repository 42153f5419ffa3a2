"""Take the screenshots for docs/ from the sample company: `make pictures`."""

import asyncio
import re
import subprocess
import sys
import tempfile
from base64 import b64encode
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright

from tests.cli.commands import REPOSITORY, environment, eventually, free_port
from tests.console.browser.conftest import ARGUMENTS, find_browser
from tests.console.browser.test_wizard import EXPORT

DOCS = REPOSITORY / "docs"
GUID = "[0-9a-f]{8}-[0-9a-f-]{27}"
# The paths of the screens. For a screen of a record: its path without the id, and a list that links to such a record.
SHEET = {
    "/": None,
    "/requests": None,
    "/requests/": "/requests",
    "/events/calendar": None,
    "/events/new": None,
    "/events/": "/events",
    "/identities/": "/identities?name=a",
    "/applications": None,
    "/applications/": "/applications",
    "/imports/": "/applications",
    "/access-models/": "/access-models",
    "/webhooks": None,
    "/deliveries/": "/deliveries?status=Delivered",
    "/audit": None,
    "/settings": None,
}
README = {"console-requests.png": "/requests?status=Pending", "console-home.png": "/"}


def take() -> None:
    with tempfile.TemporaryDirectory() as folder:
        port, log = free_port(), Path(folder) / "log"
        command = [sys.executable, "-m", "rolecall", "demo", "--port", str(port)]
        with log.open("w") as out:
            demo = subprocess.Popen(command, stdout=out, stderr=out, env=environment())
        try:
            eventually(lambda: " ready " in log.read_text(), 300)
            link = re.search(r"http://\S+/sign-in/\S+", log.read_text())
            assert link, log.read_text()
            asyncio.run(_shoot(link[0], f"http://127.0.0.1:{port}"))
        finally:
            demo.terminate()
            demo.wait(timeout=60)


async def _shoot(link: str, url: str) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(), args=ARGUMENTS)
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.goto(link)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(f"{url}/")
        for name, path in README.items():
            await page.goto(url + path)
            await page.screenshot(path=DOCS / name)
        await _shoot_wizard(page, url)
        shots = [await _shot(page, url, path, place, n) for n, (path, place) in enumerate(SHEET.items())]
        await _compose(browser, shots)
        await browser.close()


async def _shoot_wizard(page: Page, url: str) -> None:
    """Take a screenshot of each step of the wizard, up to the dry run."""
    await page.goto(f"{url}/drafts/new")
    await page.locator("#name").fill("CoreBank operators")
    file = {"name": "operators.csv", "mimeType": "text/csv", "buffer": EXPORT.encode()}
    await page.locator("input[type=file]").set_input_files(file)  # type: ignore[arg-type]
    await page.screenshot(path=DOCS / "wizard-files.png")
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_text("what does Q mean?").wait_for()
    await page.screenshot(path=DOCS / "wizard-proposal.png")
    await page.get_by_role("button", name="Q means not active").click()
    await page.get_by_text("what does Q mean?").wait_for(state="detached")
    await page.get_by_role("button", name="Start dry run").click()
    await page.get_by_text("What the import would change").wait_for()
    await page.screenshot(path=DOCS / "wizard-dry-run.png")


async def _shot(page: Page, url: str, path: str, place: str | None, n: int) -> bytes:
    """Return a screenshot of a page, in dark mode if `n` is odd."""
    await page.emulate_media(color_scheme="dark" if n % 2 else "light")
    if place:
        await page.goto(url + place)
        found = await page.eval_on_selector_all("main a[href]", "links => links.map(a => a.getAttribute('href'))")
        links = [href for href in found if re.fullmatch(f"{re.escape(path)}{GUID}", href)]
        assert links, f"{place} links to no page of {path}"
        path = links[0]
    await page.goto(url + path)
    return await page.screenshot()


async def _compose(browser: Browser, shots: list[bytes]) -> None:
    page = await browser.new_page(viewport={"width": 1620, "height": 400})
    images = "".join(f'<img width="532" src="data:image/png;base64,{b64encode(shot).decode()}">' for shot in shots)
    await page.set_content(f'<body style="margin:6px;display:flex;flex-wrap:wrap;gap:6px">{images}')
    await page.screenshot(path=DOCS / "console.jpg", full_page=True, type="jpeg", quality=70)


if __name__ == "__main__":
    take()
