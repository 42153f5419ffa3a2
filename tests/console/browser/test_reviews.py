"""Run a review in the browser: an administrator prepares it, a supervisor decides, an auditor verifies the evidence."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import msgspec
from playwright.async_api import Browser, expect

from rolecall.console import actions as console
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.roles import Role
from rolecall.evidence import verify
from rolecall.reviews import actions
from tests.builders import an_application, an_identity, facts
from tests.console.browser.conftest import Site, Visit, a_visit
from tests.console.company import upload

USERS = (
    "Username,Name,Email\nfay,Fay Berg,fay@example.com\ngus,Gus Lind,gus@example.com\nhal,Hal Moen,hal@example.com\n"
)
MEMBERSHIPS = "Username,Group\nfay,Bookkeeper\ngus,Bookkeeper\nhal,Bookkeeper\nfay,Releasers\n"
CLERK = Caller(UUID(int=5), "Clerk", frozenset(Scope))


class Ledger(msgspec.Struct):
    application: UUID
    supervisor: UUID
    auditor: UUID


async def a_ledger(db: Db, site: Site, name: str) -> Ledger:
    nora = await an_identity(db, "Nora", f"Lead {name}")
    people = {"Fay Berg": "fay", "Gus Lind": "gus", "Hal Moen": "hal"}
    for full, username in people.items():
        first, last = full.split()
        await an_identity(db, first, last, email=f"{username}@{name}.example", supervisorId=str(nora))
    auditor = await an_identity(db, "Aud", f"Itor {name}", email=f"aud@{name}.example")
    await console.set_role(db, auditor, Role.AUDITOR)
    application = await an_application(db, f"Ledger {name}", ownerId=str(auditor), guard={"minCount": 1000})
    ledger = Ledger(application, nora, auditor)
    await import_files(db, site, ledger, name, MEMBERSHIPS)
    return ledger


async def import_files(db: Db, site: Site, ledger: Ledger, name: str, memberships: str) -> None:
    """Upload files and wait until the worker of the site has imported them."""
    users = USERS.replace("example.com", f"{name}.example")
    run = await upload(db, site.config, CLERK, ledger.application, {"Users": users, "Memberships": memberships})
    await until(db, "SELECT status = 'Finished' FROM application_imports WHERE id = %(id)s", run)


async def until(db: Db, question: str, id: object) -> None:
    for _ in range(400):
        if await fetch_value(db, question, id=id):
            return
        await fetch_rows(db, "SELECT pg_sleep(0.1)")
    raise AssertionError(question)


async def prepare(visit: Visit, name: str) -> str:
    """Draft a review, read its preview, and open it."""
    page = visit.page
    await visit.go("/reviews")
    await page.get_by_role("link", name="New review").first.click()
    await page.get_by_label("Name (required)").fill(f"Review of {name}")
    await page.get_by_label(f"Ledger {name}", exact=True).check()
    await page.get_by_label("Due on").fill((datetime.now(UTC) + timedelta(days=14)).date().isoformat())
    await visit.press("Save draft and preview")
    await visit.sees("computed now; nothing is stored")
    await visit.sees("4items")
    await visit.press("Open review")
    await visit.sees("The review is open with 4 items")
    await visit.sees("Adds up")
    return page.url.rpartition("/")[2]


async def test_review_is_opened_decided_carried_out_and_verified(
    browser: Browser, site: Site, site_db: Db, tmp_path: Path
) -> None:
    ledger = await a_ledger(site_db, site, "alpha")
    admin = await a_visit(browser, site, site_db)
    review = await prepare(admin, "alpha")

    supervisor = await a_visit(browser, site, site_db, ledger.supervisor)
    page = supervisor.page
    await supervisor.go("/")
    await page.get_by_role("link", name="Decide Review of alpha").click()
    await supervisor.sees("0 of 4")
    # The first item is selected: keep it, undo the decision, then revoke the group Releasers.
    await page.keyboard.press("a")
    await supervisor.sees("1 of 4")
    await page.get_by_role("link", name="Kept").click()
    await page.get_by_role("button", name="Undo the decision").first.click()
    await supervisor.sees("0 of 4")
    await supervisor.go(f"/reviews/{review}/work")
    await page.get_by_role("link", name="Releasers").click()
    await expect(page.locator("#detail h2")).to_contain_text("Releasers")
    await page.locator("#comment").fill("Moved to another team")
    await page.locator("#detail label", has=page.locator("[value=Revoke]")).click()
    await page.get_by_role("button", name="Revoke and go to next").click()
    await supervisor.sees("1 of 4")
    # The other people hold the same entitlement, so decide about all of them at once.
    await page.get_by_role("link", name="By access").click()
    await page.get_by_role("link", name=re.compile("^Decide 3")).click()
    await expect(page.get_by_role("button", name="Keep for all others")).to_be_visible()
    await page.locator("form.list input[name=comment]").fill("Needed by the team")
    for box in await page.get_by_role("checkbox").all():
        await box.uncheck()
    await page.get_by_role("button", name="Keep for all others").click()
    await supervisor.sees("4 of 4")
    await page.get_by_role("link", name="Submit decisions").click()
    await supervisor.sees("1 request will be made")
    await page.get_by_label("I sign this statement").check()
    await supervisor.press("Sign and submit")
    await supervisor.sees("Your 4 decisions were submitted")

    await import_files(site_db, site, ledger, "alpha", MEMBERSHIPS.replace("fay,Releasers\n", ""))
    await until(site_db, "SELECT status = 'Completed' FROM reviews WHERE id = %(id)s", review)
    await admin.go(f"/reviews/{review}")
    await admin.sees("Completed")
    await prove(browser, site, site_db, ledger, review, tmp_path)
    for visit in (admin, supervisor):
        await visit.context.close()
        assert (visit.strays, visit.complaints) == ([], [])


async def prove(browser: Browser, site: Site, db: Db, ledger: Ledger, review: str, folder: Path) -> None:
    """Download the evidence as an auditor, and verify it with the seal that the page shows."""
    auditor = await a_visit(browser, site, db, ledger.auditor)
    await auditor.go(f"/reviews/{review}")
    async with auditor.page.expect_download() as started:
        await auditor.page.get_by_role("link", name="Evidence").click()
    download = await started.value
    await download.save_as(folder / "review.zip")
    notice = await auditor.page.locator("main > .notice").inner_text()
    seal = notice.partition("seal: ")[2][:64]
    assert verify.check(verify.Bundle(folder / "review.zip"), seal=seal) == []
    await auditor.context.close()


async def test_review_is_decided_without_scripts(browser: Browser, site: Site, site_db: Db) -> None:
    ledger = await a_ledger(site_db, site, "beta")
    admin = await a_visit(browser, site, site_db, scripts=False)
    review = await prepare(admin, "beta")
    supervisor = await a_visit(browser, site, site_db, ledger.supervisor, scripts=False)
    page = supervisor.page

    await supervisor.go(f"/reviews/{review}/work")
    for box in await page.locator("td.tick input").all():
        await box.check()
    await page.locator("#several").get_by_role("button", name="Keep").first.click()
    await supervisor.sees("items were kept")
    for item in await undecided(site_db, review):
        await supervisor.go(f"/reviews/{review}/work?selected={item}")
        await page.locator("#detail [value=Keep]").check()
        await page.locator("#comment").fill("Needed by the team")
        await page.get_by_role("button", name="Decide and go to next").click()
    await supervisor.go(f"/reviews/{review}/submit")
    await page.get_by_label("I sign this statement").check()
    await supervisor.press("Sign and submit")

    await supervisor.sees("Your 4 decisions were submitted")
    await supervisor.context.close()
    await admin.context.close()


async def undecided(db: Db, review: str) -> list[str]:
    rows = await fetch_rows(
        db,
        "SELECT id::text FROM review_items WHERE review_id = %(id)s AND status = 'Pending' ORDER BY list_key",
        id=UUID(review),
    )
    return [id for (id,) in rows]


async def an_open_review(db: Db, ledger: Ledger, name: str) -> str:
    """Open a review without the browser. No item has a recommendation, so no comment is required."""
    raw = {
        "name": f"Review of {name}",
        "type": "Supervisor",
        "dueOn": (datetime.now(UTC) + timedelta(days=14)).isoformat(),
        "scope": {"applicationIds": [str(ledger.application)]},
    }
    async with db.transaction():
        draft = await actions.create_review(db, CLERK, raw, facts())
        await actions.open_review(db, CLERK, draft.id, facts().now)
        await execute(db, "UPDATE review_items SET recommendation = NULL WHERE review_id = %(id)s", id=draft.id)
    return str(draft.id)


async def decided(db: Db, item: str) -> str | None:
    found: str | None = await fetch_value(db, "SELECT decision FROM review_items WHERE id = %(id)s", id=UUID(item))
    return found


async def decide_selected(visit: Visit, third: str, fourth: str) -> None:
    """Select two items: one key decides both, another key undoes both; the selection stays after other decisions."""
    page, keys = visit.page, visit.page.keyboard
    for item in (third, fourth):
        await page.locator(f"input[value='{item}']").check()
    await page.locator(f"tr[data-id='{third}'] a.what").click()
    await expect(page.locator("#detail")).to_have_attribute("data-id", third)
    await keys.press("a")
    await visit.sees("4 of 4")
    await keys.press("z")
    await visit.sees("2 of 4")
    await page.locator(f"input[value='{fourth}']").check()
    await page.locator(f"tr[data-id='{third}'] button[value=Revoke]").click()
    await visit.sees("3 of 4")
    await expect(page.locator(f"input[value='{fourth}']")).to_be_checked()
    await page.locator(f"input[value='{fourth}']").uncheck()


async def test_every_key_of_the_workspace_works(browser: Browser, site: Site, site_db: Db) -> None:
    ledger = await a_ledger(site_db, site, "gamma")
    review = await an_open_review(site_db, ledger, "gamma")
    first, second, third, fourth = await undecided(site_db, review)
    visit = await a_visit(browser, site, site_db, ledger.supervisor)
    page, keys = visit.page, visit.page.keyboard
    await visit.go(f"/reviews/{review}/work")
    detail = page.locator("#detail")

    await keys.press("j")
    await expect(detail).to_have_attribute("data-id", second)
    await keys.press("k")
    await expect(detail).to_have_attribute("data-id", first)
    await keys.press("x")
    await expect(page.locator(f"input[value='{first}']")).to_be_checked()
    await keys.press("x")
    await keys.press("?")
    await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    await keys.press("Escape")
    await keys.press("a")
    await visit.sees("1 of 4")
    # The keys for Keep Until and Change ask for a value. Those for Not Mine and for decisions against the
    # recommendation ask for a comment.
    await keys.press("u")
    await expect(page.locator("#until")).to_be_focused()
    await page.locator("#until").fill((datetime.now(UTC) + timedelta(days=30)).date().isoformat())
    await page.get_by_role("button", name="Keep Until and go to next").click()
    await visit.sees("2 of 4")
    # A membership in a group has no lower level of access, so the key for Change does nothing.
    await keys.press("c")
    await expect(page.locator("#access")).to_have_count(0)
    await keys.press("r")
    await visit.sees("3 of 4")
    await keys.press("z")
    await visit.sees("2 of 4")
    await decide_selected(visit, third, fourth)
    await keys.press("n")
    await expect(page.locator("#comment")).to_be_focused()
    # The service refuses an unknown person; the page keeps the choice and the text, and shows the error next to them.
    await page.locator("#identityId").fill("Nemo")
    await page.locator("#comment").fill("Not my team")
    await page.get_by_role("button", name="Not Mine: pass on and go to next").click()
    await expect(page.locator("#refusal")).to_be_visible()
    await expect(page.locator("#comment")).to_have_value("Not my team")
    await expect(page.locator("#detail [value='Not Mine']")).to_be_checked()
    await page.locator("#comment").fill("")
    await page.get_by_role("button", name="Not Mine: pass on and go to next").click()
    await visit.sees("Enter a comment")
    await visit.go(f"/reviews/{review}/work")
    await keys.press("s")
    await expect(page.get_by_role("button", name="Unsure: pass on and go to next")).to_be_focused()
    await keys.press("Enter")
    await visit.sees("This cannot be undone")

    assert [await decided(site_db, item) for item in (first, second, third)] == ["Keep", "Keep Until", "Revoke"]
    moved = "SELECT reviewer_id <> %(me)s FROM review_items WHERE id = %(id)s"
    assert await fetch_value(site_db, moved, me=ledger.supervisor, id=UUID(fourth))
    await visit.go(f"/reviews/{review}/work?tab=kept&selected={first}")
    await keys.press("z")
    await visit.sees("was undone")
    assert await decided(site_db, first) is None
    await visit.context.close()
    assert (visit.strays, visit.complaints) == ([], [])


async def test_decision_in_a_second_tab_replaces_the_first_one(browser: Browser, site: Site, site_db: Db) -> None:
    ledger = await a_ledger(site_db, site, "delta")
    review = await an_open_review(site_db, ledger, "delta")
    first, *others = await undecided(site_db, review)
    visit = await a_visit(browser, site, site_db, ledger.supervisor)
    tab = await visit.context.new_page()
    for page in (visit.page, tab):
        await page.goto(f"{site.url}/reviews/{review}/work?selected={first}")

    await visit.page.keyboard.press("a")
    await visit.sees("1 of 4")
    # The other tab still shows the item. Its decision replaces the first one; the history contains both.
    await tab.keyboard.press("r")
    await tab.get_by_text("1 of 4").first.wait_for()
    for item in others:
        await visit.go(f"/reviews/{review}/work?selected={item}")
        await visit.page.keyboard.press("a")
        await until(site_db, "SELECT status <> 'Pending' FROM review_items WHERE id = %(id)s", UUID(item))
    await tab.goto(f"{site.url}/reviews/{review}/work?tab=flagged&selected={first}")
    await visit.go(f"/reviews/{review}/submit")
    await visit.page.get_by_label("I sign this statement").check()
    await visit.press("Sign and submit")
    await visit.sees("Your 4 decisions were submitted")
    await tab.keyboard.press("a")

    await tab.get_by_text("decisions can be made only while it is Open").first.wait_for()
    history = await fetch_rows(
        site_db, "SELECT decision FROM review_decisions WHERE item_id = %(id)s ORDER BY number", id=UUID(first)
    )
    assert history == [("Keep",), ("Revoke",)]
    await visit.context.close()


async def test_two_reviewers_can_decide_at_once(browser: Browser, site: Site, site_db: Db) -> None:
    ledger = await a_ledger(site_db, site, "epsilon")
    review = await an_open_review(site_db, ledger, "epsilon")
    items = await undecided(site_db, review)
    other = await an_identity(site_db, "Otto", "Lead epsilon")
    await execute(
        site_db, "UPDATE review_items SET reviewer_id = %(o)s WHERE id = ANY(%(ids)s)", o=other, ids=items[:2]
    )
    visits = [await a_visit(browser, site, site_db, person) for person in (other, ledger.supervisor)]
    for visit in visits:
        await visit.go(f"/reviews/{review}/work")

    for count in ("1 of 2", "2 of 2"):
        await asyncio.gather(*(visit.page.keyboard.press("a") for visit in visits))
        await asyncio.gather(*(visit.sees(count) for visit in visits))
    for visit in visits:
        await visit.go(f"/reviews/{review}/submit")
        await visit.page.get_by_label("I sign this statement").check()
    await asyncio.gather(*(visit.press("Sign and submit") for visit in visits))
    await asyncio.gather(*(visit.sees("Your 2 decisions were submitted") for visit in visits))

    assert await fetch_value(site_db, "SELECT status FROM reviews WHERE id = %(id)s", id=UUID(review)) == "Completed"
    sql = "SELECT count(*) FROM review_decisions WHERE review_id = %(id)s"
    assert await fetch_value(site_db, sql, id=UUID(review)) == 4
    for visit in visits:
        await visit.context.close()
