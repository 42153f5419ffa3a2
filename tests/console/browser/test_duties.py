"""Follow a conflict of duties in the browser: approval by the owner of the rule, an exception, and its expiry."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from playwright.async_api import Browser

from rolecall.core.db import Db, execute, fetch_value
from tests.builders import an_identity
from tests.console.browser.conftest import Site, Visit, a_visit
from tests.duties.separating import conflict_of, finish_again
from tests.holdings import a_finished_import, an_account


async def test_conflict_is_approved_gets_an_exception_and_reopens_when_it_expires(
    browser: Browser, site: Site, site_db: Db
) -> None:
    finn = await an_identity(site_db, "Finn", "Santos", email="finn@example.com")
    payroll, grace = site.company.ids["applications"], site.company.ids["people"]
    assert isinstance(payroll, UUID)
    assert isinstance(grace, UUID)
    admin = await a_visit(browser, site, site_db)
    owner = await a_visit(browser, site, site_db, grace)
    own = await a_visit(browser, site, site_db, finn)

    await ask_for_access(admin)
    await admin.sees("With this request the person would hold Post entries and Approve entries")
    await admin.sees("The request waits for Grace Hopper to approve the conflict")
    request = admin.page.url.rpartition("/")[2]
    await owner.go(f"/requests/{request}")
    await owner.press("Approve")
    await owner.sees("Grace Hopper approved")

    await import_access(site_db, payroll, finn)
    conflict = await conflict_of(site_db, finn)
    await admin.go("/conflicts?status=Open")
    await admin.sees("Finn Santos")
    await own.go(f"/conflicts/{conflict}")
    await own.sees("by itself")
    await own.sees("Other ways to end it")
    await request_exception(own)
    await own.sees("The exception was requested")
    assert await own.page.get_by_role("button", name="Approve exception").count() == 0
    await owner.go(f"/conflicts/{conflict}")
    await owner.press("Approve exception")
    await owner.sees("Your approval was recorded")
    assert await status_of(site_db, conflict) == "Open"
    await admin.go(f"/conflicts/{conflict}")
    await admin.press("Approve exception")
    await admin.sees("The exception is in force")
    assert await status_of(site_db, conflict) == "Excepted"

    await execute(site_db, "UPDATE conflict_exceptions SET until = now() WHERE conflict_id = %(id)s", id=conflict)
    await until_open(admin, site_db, conflict)
    await admin.go(f"/conflicts/{conflict}")
    await admin.sees("The exception expired; the conflict is open again")
    await admin.go("/conflicts?status=Open")
    await admin.sees("Finn Santos")
    for visit in (admin, owner, own):
        await visit.context.close()
        assert (visit.strays, visit.complaints) == ([], [])


async def ask_for_access(visit: Visit) -> None:
    await visit.go("/requests/new")
    page = visit.page
    await page.get_by_label("Person (required)").fill("Finn Santos")
    await page.get_by_label("Application (required)").select_option(label="Payroll")
    await page.get_by_label("Groups and permissions").fill("Clerks")
    await visit.press("Send request")
    await visit.sees("The request has not been sent yet: it would create 1 conflict of duties.")
    await visit.press("Send request anyway")


async def request_exception(visit: Visit) -> None:
    page = visit.page
    await page.get_by_label("Reason").fill("Two people are on leave")
    await page.get_by_label("Compensating control").fill("Every entry is checked the next morning")
    await page.get_by_label("Control owner").fill("grace@example.com")
    await page.get_by_label("Ends").fill((datetime.now(UTC) + timedelta(days=30)).date().isoformat())
    await visit.press("Request exception")


async def import_access(db: Db, application_id: UUID, person: UUID) -> None:
    """Import the requested membership."""
    run = await a_finished_import(db, application_id)
    await an_account(db, application_id, "finn", person, groups=("Clerks",), run=run)
    await finish_again(db, run)


async def status_of(db: Db, conflict: UUID) -> str:
    status: str = await fetch_value(db, "SELECT status FROM conflicts WHERE id = %(id)s", id=conflict)
    return status


async def until_open(visit: Visit, db: Db, conflict: UUID) -> None:
    """Wait until the worker has noticed that the exception expired and the conflict is open again."""
    for _ in range(300):
        if await status_of(db, conflict) == "Open":
            return
        await visit.page.wait_for_timeout(200)
