"""Run a real browser against a real service: two API processes and a worker with their own database."""

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import UUID

import msgspec
import psycopg
import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    async_playwright,
    expect,
)
from playwright.async_api import Error as PlaywrightError
from psycopg import sql

from rolecall.console import actions
from rolecall.console.responses import SESSION_COOKIE
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, session_options
from tests.cli.commands import PATIENCE_SECONDS, Running, environment, eventually, free_port
from tests.conftest import TEMPLATE, with_database
from tests.console.company import Company, a_company
from tests.console.openid import CLIENT_ID, CLIENT_SECRET, OpenIdProvider, providing

# Messages in the browser's developer console that are not failures: Chromium and htmx log 4xx responses, outages and
# aborted requests, which the page handles.
SAID_BY_THE_PAGE = ("Failed to load resource", "htmx:sendAbort", "htmx:sendError", "htmx:afterRequest")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Pages load slowly on a busy machine.
_PATIENCE = PATIENCE_SECONDS * 1000
expect.set_options(timeout=_PATIENCE)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def find_browser() -> str | None:
    return os.environ.get("ROLECALL_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)


def need_browser() -> str:
    """Skip these tests if no browser is installed; in continuous integration, fail instead."""
    if found := find_browser():
        return found
    message = "no Chromium here: `make browser` installs it, or name one in ROLECALL_BROWSER"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def browser_path() -> str:
    return need_browser()


@pytest.fixture(scope="session")
def own_database(server_url: str, database_url: str) -> Iterator[str]:
    """Create a separate database, because other tests empty theirs while the service runs."""
    name = f"rolecall_browser_{os.getpid()}"
    with psycopg.connect(server_url, autocommit=True) as db:
        db.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(TEMPLATE)))
    yield with_database(server_url, name)
    with psycopg.connect(server_url, autocommit=True) as db:
        db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class Site(msgspec.Struct, frozen=True):
    url: str
    config: Config
    company: Company
    provider: OpenIdProvider


@pytest.fixture(scope="session")
async def site(browser_path: str, own_database: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    port, data_dir = free_port(), tmp_path_factory.mktemp("site")
    url = f"http://127.0.0.1:{port}"
    config = Config(database_url=own_database, data_dir=data_dir, base_url=url)
    async with await _connect(own_database, url) as db:
        company = await a_company(db, config)
    variables = {"ROLECALL_DATABASE_URL": own_database, "ROLECALL_BASE_URL": url, "ROLECALL_TICK_SECONDS": "1"}
    # The provider has another host name, so the browser treats it as another site; this tests the SameSite cookies.
    async with providing("localhost") as provider:
        variables |= {"ROLECALL_OIDC_ISSUER": provider.url, "ROLECALL_OIDC_CLIENT_ID": CLIENT_ID}
        with _service(port, data_dir, variables | {"ROLECALL_OIDC_CLIENT_SECRET": CLIENT_SECRET}):
            yield Site(url, config, company, provider)


class _service:  # noqa: N801
    def __init__(self, port: int, data_dir: Path, variables: dict[str, str]) -> None:
        self.log = (data_dir / "service.log").open("w")
        command = [sys.executable, "-m", "rolecall", "serve", "--port", str(port), "--workers", "2"]
        self.process = subprocess.Popen(
            [*command, "--data-dir", str(data_dir)],
            stdout=self.log, stderr=self.log, text=True, start_new_session=True,
            env=environment(
                ROLECALL_WEBHOOK_ALLOW="127.0.0.0/8", ROLECALL_SOURCE_HOSTS="127.0.0.0/8", **variables
            ),
        )  # fmt: skip
        self.running = Running(self.process, data_dir, port, data_dir / "service.log")

    def __enter__(self) -> None:
        eventually(self.running.answers)

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)
        self.log.close()


async def _connect(database: str, url: str) -> Db:
    return await psycopg.AsyncConnection.connect(database, autocommit=True, options=session_options(url))


@pytest.fixture
async def site_db(site: Site) -> AsyncIterator[Db]:
    assert site.config.database_url
    async with await _connect(site.config.database_url, site.url) as db:
        yield db


@pytest.fixture(scope="session")
async def browser(browser_path: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        yield browser
        await browser.close()


class Visit:
    """The browser window of a signed-in person; it records requests to other origins, errors and warnings."""

    def __init__(self, context: BrowserContext, page: Page, site: Site, *, has_scripts: bool) -> None:
        self.context, self.page, self.site, self.has_scripts = context, page, site, has_scripts
        self.strays: list[str] = []
        self.complaints: list[str] = []
        page.on("request", self._note_request)
        page.on("console", self._note_complaint)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith((self.site.url, "data:", "blob:")):
            self.strays.append(request.url)

    def _note_complaint(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(SAID_BY_THE_PAGE):
            self.complaints.append(message.text)

    async def go(self, path: str) -> None:
        await self.page.goto(self.site.url + path)

    async def press(self, name: str, within: str = "main") -> None:
        await self.page.locator(within).get_by_role("button", name=name).first.click()

    async def sees(self, text: str) -> None:
        try:
            await self.page.get_by_text(text).first.wait_for()
        except PlaywrightError as error:
            raise AssertionError(f"{text} is not on {self.page.url}:\n{await self.page.inner_text('body')}") from error


async def a_visit(browser: Browser, site: Site, db: Db, person: UUID | None = None, *, scripts: bool = True) -> Visit:
    """Open a window with a session cookie; signing in has a test of its own."""
    # A time zone far west of the service must not shift calendar days.
    context = await browser.new_context(java_script_enabled=scripts, base_url=site.url, timezone_id="Pacific/Honolulu")
    context.set_default_timeout(_PATIENCE)
    visit = Visit(context, await context.new_page(), site, has_scripts=scripts)
    link = await actions.create_link(db, person or site.company.administrator, clock.now())
    session = await actions.sign_in_by_link(db, link, clock.now())
    assert session
    await context.add_cookies([{"name": SESSION_COOKIE, "value": session, "url": site.url, "httpOnly": True}])
    return visit


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
async def visit(request: pytest.FixtureRequest, browser: Browser, site: Site, site_db: Db) -> AsyncIterator[Visit]:
    """Open a window, once with and once without JavaScript."""
    async with _watched(await a_visit(browser, site, site_db, scripts=request.param)) as visit:
        yield visit


@pytest.fixture
async def scripted(browser: Browser, site: Site, site_db: Db) -> AsyncIterator[Visit]:
    """Open a window with JavaScript, for tests that need it, such as keyboard shortcuts."""
    async with _watched(await a_visit(browser, site, site_db)) as visit:
        yield visit


class _watched:  # noqa: N801
    def __init__(self, visit: Visit) -> None:
        self.visit = visit

    async def __aenter__(self) -> Visit:
        return self.visit

    async def __aexit__(self, *_: object) -> None:
        await self.visit.context.close()
        assert self.visit.strays == []
        assert self.visit.complaints == []
