"""Measure the time from a key press to the painted detail in a browser, with 10,000 requests and 100,000 identities.

    python -m bench.console

Chromium talks to `rolecall serve` with two API processes and a worker, on the embedded database with fsync on. The
browser's own clock measures from the timestamp of the key event to the frame that shows the record.
"""

import asyncio
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
from playwright.async_api import Page, async_playwright

from bench.figures import MISSED, Found, tell
from bench.seeding import company_of
from rolecall.console import actions
from rolecall.core import clock
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import session_options
from tests.cli.commands import a_service
from tests.console.browser.conftest import ARGUMENTS, find_browser

SIZES = {
    "identities": 100_000,
    "applications": 500,
    "access_requests": 10_000,
    "personnel_events": 2_000,
    "application_imports": 2_000,
}
TIMES = 50
PATIENCE_SECONDS = 30
BAR_MS = 150
EMAIL = "bench@example.com"
# Details of requests that `seeding` does not create: 6 privileges, reviewers, activity and comments.
_DETAILS = """
    INSERT INTO privileges
    SELECT id, n, 'None', 'Grant', 'None', NULL, 'Ledger', 'Section ' || n, 'Permission ' || n, 'What it allows',
           (ARRAY['None', 'Low', 'Moderate', 'High'])[1 + n % 4], 'Grant', '{Request}', '{}'
    FROM access_requests, generate_series(1, 6) AS n;
    INSERT INTO responses
    SELECT r.id, type, 1, 1, 'Supervisor of the person', c.identity_id, 'Bench Administrator',
           CASE WHEN r.status = 'Pending' THEN 'Pending' ELSE 'Approved' END, true
    FROM access_requests r, unnest(ARRAY['Approve', 'Resolve', 'Verify']) AS type, console_roles c;
    INSERT INTO activity (item_id, created_date, author, action, content)
    SELECT id, created_at, 'API Token - bench', 'Created', 'Step ' || n
    FROM access_requests, generate_series(1, 5) AS n;
    INSERT INTO comments (item_id, created_date, author, content)
    SELECT id, created_at, 'Bench Administrator', 'As agreed' FROM access_requests;
    ANALYZE;
"""
# A script that measures the milliseconds from a key press until a frame with another heading is painted.
_WATCH = """heading => {
    const text = () => document.querySelector(heading)?.textContent ?? "";
    window.painted = new Promise(resolve => addEventListener("keydown", event => {
        const before = text();
        const look = () => text() && text() !== before
            ? setTimeout(() => resolve(performance.now() - event.timeStamp)) : requestAnimationFrame(look);
        requestAnimationFrame(look);
    }, {capture: true, once: true}));
}"""


async def prepare(url: str, config: Config) -> str:
    """Make an administrator the reviewer of every request; return the secret of a sign-in link."""
    options = session_options(config.base_url)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, options=options) as db:
        link = await actions.create_administrator(db, EMAIL, Facts(now=clock.now(), zone=config.timezone))
        await db.execute("SET session_replication_role = replica")
        for statement in _DETAILS.split(";\n"):
            await db.execute(statement)
        return link


async def timed(page: Page, key: str, heading: str) -> float:
    await page.evaluate(_WATCH, heading)
    await page.keyboard.press(key)
    async with asyncio.timeout(PATIENCE_SECONDS):
        took: float = await page.evaluate("window.painted")
    return took


async def next_request(page: Page, n: int) -> float:
    """Open the next request of the inbox, if necessary on the next page; return the milliseconds."""
    if n % 49 == 0:
        await page.goto(f"/requests?page={n // 49 + 1}")
    return await timed(page, "j", "article h2")


async def open_identity(page: Page, n: int) -> float:
    await page.goto(f"/identities?page={n * 37 + 1}")
    await page.keyboard.press("j")
    return await timed(page, "Enter", "h1")


async def approve(page: Page, n: int) -> float:
    if n == 0:
        await page.goto("/requests?status=Pending")
    return await timed(page, "a", "article h2")


STEPS = {
    "j in the inbox, to the next request": next_request,
    "Enter in the list of identities, to the identity": open_identity,
    "a in the inbox, to the next request": approve,
}


@asynccontextmanager
async def signed_in(url: str, link: str) -> AsyncIterator[Page]:
    """Open a browser that has signed in with the link."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(), args=ARGUMENTS)
        page = await browser.new_page(base_url=url, viewport={"width": 1440, "height": 900})
        await page.goto(f"/sign-in/{link}")
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(f"{url}/")
        yield page
        await browser.close()


async def measure(url: str, link: str) -> dict[str, list[float]]:
    async with signed_in(url, link) as page:
        return {what: [await step(page, n) for n in range(TIMES)] for what, step in STEPS.items()}


def report(times: dict[str, list[float]]) -> bool:
    held = True
    for what, taken in times.items():
        # An approval (the key a) also writes and redirects, so it is reported without a limit.
        bar = None if what.startswith("a ") else BAR_MS
        held &= tell(Found("console", f"{what}, median", statistics.median(taken), "ms", bar, at_most=True))
        tell(Found("console", f"{what}, 95th percentile", statistics.quantiles(taken, n=20)[-1], "ms"))
    return held


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as folder, company_of(**SIZES) as url:
        link = asyncio.run(prepare(url, Config()))
        data_dir = Path(folder) / "service"
        data_dir.mkdir()
        with a_service(data_dir, "--workers", "2", ROLECALL_DATABASE_URL=url) as service:
            held = report(asyncio.run(measure(service.url, link)))
    sys.exit(0 if held else MISSED)


if __name__ == "__main__":
    main()
