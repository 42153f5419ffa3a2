"""Test the main tasks of each role in a browser."""

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

from playwright.async_api import expect

from rolecall.application_imports import actions as imports
from rolecall.application_imports.run.job import worker_lock
from rolecall.console import actions
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.roles import Role
from tests.builders import an_access_request, an_application, an_identity
from tests.console.browser.conftest import Visit
from tests.console.company import FILES
from tests.console.company import upload as upload_files
from tests.holdings import an_account
from tests.webhooks.receivers import accept, answering, receiving

FEW = "Username,Name\nada,Ada Lovelace\n"


async def test_reviewer_approves_and_rejects_with_the_keyboard(scripted: Visit, site_db: Db) -> None:
    person = await an_identity(site_db, "Kay", "Board", supervisorId=str(scripted.site.company.administrator))
    application = scripted.site.company.ids["applications"]
    made = [await an_access_request(site_db, application_id=application, identity_id=person) for _ in range(2)]
    page = scripted.page
    await scripted.go("/requests?asks=Approve")
    await page.locator(f"tr:has([value='{made[1]}']) td").last.click()
    await page.wait_for_url(f"**selected={made[1]}**")
    await page.get_by_role("button", name="Cancel request").click()
    await page.keyboard.press("a")
    await page.keyboard.press("Escape")
    assert not await page.locator(":popover-open").count()

    await page.keyboard.press("k")
    await page.wait_for_url(f"**selected={made[0]}**")
    await page.keyboard.press("a")
    await scripted.sees("It waits for")
    await page.wait_for_url(f"**selected={made[1]}**")
    await page.keyboard.press("r")
    await page.keyboard.type("Not in this quarter")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await scripted.sees("is Canceled")

    statuses = {
        await fetch_value(site_db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id) for id in made
    }
    assert statuses == {"Open", "Canceled"}


async def test_reviewer_rejects_with_a_reason_and_responds_in_bulk(visit: Visit, site_db: Db) -> None:
    person = await an_identity(site_db, "Sev", "Eral", supervisorId=str(visit.site.company.administrator))
    application = visit.site.company.ids["applications"]
    made = [await an_access_request(site_db, application_id=application, identity_id=person) for _ in range(3)]
    page = visit.page
    await visit.go(f"/requests?asks=Approve&selected={made[0]}")

    await page.get_by_role("link", name="Reject…").click()
    if not visit.has_scripts and not await page.locator("#reject[open]").count():
        await page.get_by_text("Reject with a reason").click()
    await page.get_by_label("Reason for rejecting").fill("Not in this quarter")
    await visit.press("Reject request", within="#reject")
    await visit.sees("is Canceled")
    for id in made[1:]:
        await page.locator(f"input[name=id][value='{id}']").check()
    await visit.press("Approve 2" if visit.has_scripts else "Approve selected", within=".bulk")
    await expect(
        page.locator(".results .good", has_text=re.compile(r"#\d+ waits for .+ to provision it"))
    ).to_have_count(2)

    statuses = [
        await fetch_value(site_db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id) for id in made
    ]
    assert statuses == ["Canceled", "Open", "Open"]


async def test_provisioner_resolves_and_reopens_and_another_person_verifies(visit: Visit, site_db: Db) -> None:
    person = await an_identity(site_db, "Polly", "Vision", supervisorId=str(visit.site.company.administrator))
    application = visit.site.company.ids["applications"]
    request = await an_access_request(site_db, application_id=application, identity_id=person)
    await visit.go(f"/requests/{request}")

    for button, following in (
        ("Approve", "provision"),
        ("Resolve", "verify"),
        ("Reopen", "provision"),
        ("Resolve", "verify"),
    ):
        await visit.press(button)
        await visit.sees(f" to {following} it")
    await visit.sees("The person who provisioned the access cannot verify it")
    assert not await visit.page.get_by_role("button", name="Verify").count()

    other = await an_identity(site_db, "Vera", "Fied", email=f"vera{datetime.now(UTC):%f}@example.com")
    await actions.set_role(site_db, other, Role.OPERATOR)
    await visit.context.clear_cookies()
    await visit.go(f"/sign-in/{await actions.create_link(site_db, other, datetime.now(UTC))}")
    await visit.press("Sign in")
    await visit.sees("Welcome, Vera")
    await visit.go(f"/requests/{request}")
    await visit.press("Verify")
    await visit.sees("is Completed")


async def test_operator_can_upload_follow_continue_and_cancel_imports(visit: Visit, site_db: Db) -> None:
    page = visit.page
    application = await an_application(site_db, f"Warehouse {datetime.now(UTC):%f}", guard={"minCount": 1})

    async def upload(files: dict[str, str]) -> None:
        await visit.go(f"/applications/{application}/upload")
        for name, text in files.items():
            field = page.get_by_label(name).first
            await field.set_input_files(
                {"name": f"{name.lower()}.csv", "mimeType": "text/csv", "buffer": text.encode()}
            )
        await visit.press("Upload")

    await upload({"Groups": FILES["Groups"]})
    await visit.sees("Required file missing: Users")
    await upload({"Users": FILES["Users"], "Groups": FILES["Groups"], "Memberships": FILES["Memberships"]})
    await page.locator(".title .status.finished").wait_for()
    await visit.sees("ada in Clerks")
    assert "Manual" in await page.locator("main").inner_text()
    assert await page.locator("#log").inner_text()

    await upload({"Users": FEW})
    await visit.sees("The guard holds this import")
    await visit.press("Cancel")
    await page.locator(".title .status.canceled").wait_for()
    await upload({"Users": FEW})
    await visit.sees("The guard holds this import")
    await visit.go("/imports")
    await page.locator("tbody tr", has=page.locator(".status.held")).first.get_by_role("link").click()
    await visit.press("Continue anyway")
    question = page.locator("#continue:popover-open")
    await expect(question).to_contain_text("it would remove 2 of 3 accounts")
    await question.get_by_role("button", name="Keep import on hold").click()
    await expect(page.locator(".title .status.held")).to_be_visible()
    await visit.press("Continue anyway")
    await visit.press("Continue anyway", within="#continue")
    await page.locator(".title .status.finished").wait_for()


async def test_bulk_resolve_shows_failures_in_red(visit: Visit, site_db: Db) -> None:
    person = await an_identity(site_db, "Mixed", "Results", supervisorId=str(visit.site.company.administrator))
    application = visit.site.company.ids["applications"]
    made = [await an_access_request(site_db, application_id=application, identity_id=person) for _ in range(2)]
    page = visit.page
    for id in made:
        await visit.go(f"/requests/{id}")
        await visit.press("Approve")
        await visit.sees("It waits for")
    await visit.go(f"/requests?asks=Resolve&selected={made[0]}")
    for id in made:
        await page.locator(f"input[name=id][value='{id}']").check()
    await execute(site_db, "UPDATE access_requests SET status = 'Canceled' WHERE id = %(id)s", id=made[1])

    await visit.press("Resolve 2" if visit.has_scripts else "Resolve selected", within=".bulk")

    await expect(page.locator(".results .good")).to_have_text(re.compile(r"^✓ #\d+ waits for .+ to verify it$"))
    failed = page.locator(".results .bad")
    await expect(failed).to_contain_text(
        "An access request that is Canceled does not wait for a response of type Resolve"
    )
    color = await failed.evaluate("each => getComputedStyle(each).color")
    assert color != await page.locator(".results .good").evaluate("each => getComputedStyle(each).color")


async def test_import_log_is_streamed_while_it_is_written(scripted: Visit, site_db: Db) -> None:
    page, site = scripted.page, scripted.site
    application = await an_application(site_db, f"Slow {datetime.now(UTC):%f}")
    caller = Caller(site.company.administrator, "Ada Admin", frozenset(Scope))
    key = worker_lock(application)
    # Lock the import as another worker would, so that it stays pending until the lock is released.
    await execute(site_db, "SELECT pg_advisory_lock(%(key)s)", key=key)
    run = await upload_files(site_db, site.config, caller, application, {"Users": FEW})
    await scripted.go(f"/imports/{run}")
    await scripted.sees("Waiting for a worker")
    await page.evaluate("document.body.dataset.same = 'yes'")

    await imports.log_line(site_db, run, "Half of it is read", datetime.now(UTC))
    await page.locator("#log", has_text="Half of it is read").wait_for()
    assert await page.locator("body[data-same]").count(), "the line came to the page that was there"
    await execute(site_db, "SELECT pg_advisory_unlock(%(key)s)", key=key)

    await page.locator(".title .status.finished").wait_for()
    await scripted.sees("Half of it is read")


async def test_operator_onboards_a_person_and_follows_the_event(visit: Visit) -> None:
    page = visit.page
    await visit.go("/events/new?type=Onboard")
    first_day = (datetime.now(UTC) + timedelta(days=3)).date()
    await page.get_by_label("First day of work").fill(first_day.isoformat())
    await page.get_by_label("First name").fill("Mary")
    await visit.press("Preview")
    await visit.sees("Last name is required")

    await page.get_by_label("Last name").fill("Shelley")
    await page.get_by_label("Department").fill("Finance")
    await visit.press("Preview")
    await expect(page.get_by_role("heading", name="What this event would do")).to_be_in_viewport()
    await visit.sees("Clerks")
    await visit.press("Create event")
    await visit.sees("Onboard is scheduled")
    await expect(page.locator(".facts").first).to_contain_text(f"{first_day.day} {first_day:%b} {first_day.year}")

    for _ in range(40):
        await page.reload()
        if await page.get_by_text("Payroll").count():
            break
        await page.wait_for_timeout(250)
    assert await page.locator(".steps li").count() >= 3
    assert await page.get_by_text("Payroll").count()


async def test_failed_delivery_can_be_resent(visit: Visit) -> None:
    page = visit.page
    async with receiving() as receiver:
        receiver.answer = answering(500, "not now")
        await visit.go("/webhooks/new")
        await page.get_by_label("Name").fill(f"Tickets {receiver.url}")
        await page.get_by_label("Address").fill(receiver.url)
        await visit.press("Add webhook")
        assert (await page.locator("#secret").inner_text()).startswith("whsec_")
        await page.get_by_role("link", name="Done").click()
        await visit.press("Send test")
        # Wait for the delivery page, because a reload before that would reload the webhook page.
        await page.wait_for_url("**/deliveries/*")
        await _until(visit, ".title .status.failed")
        await visit.sees("not now")

        receiver.answer = accept
        await visit.press("Resend")
        await _until(visit, ".title .status.delivered")


async def _until(visit: Visit, selector: str) -> None:
    for _ in range(60):
        if await visit.page.locator(selector).count():
            return
        await visit.page.wait_for_timeout(250)
        await visit.page.reload()
    raise AssertionError(selector)


async def test_secret_of_a_token_is_shown_once(visit: Visit) -> None:
    page, name = visit.page, f"ci {datetime.now(UTC):%f}"
    await visit.go("/settings/tokens")
    await page.get_by_label("Name of the program").fill(name)
    await visit.press("Create token")
    secret = await page.locator("#secret").inner_text()
    await page.get_by_role("link", name="Done").click()
    await page.get_by_role("heading", name="New token").wait_for()
    await visit.sees(name)
    assert secret.startswith("rct_")
    assert secret not in await page.content()

    await page.get_by_role("button", name=f"Revoke token of {name}").click()
    await visit.press("Revoke token", within=":popover-open")
    await visit.sees("The token was revoked")


async def test_person_without_a_role_signs_in_and_out_and_is_signed_out_when_the_session_ends(
    visit: Visit, site_db: Db
) -> None:
    page, password = visit.page, "a long enough secret"
    person = await an_identity(site_db, "Una", "Signed", email=f"una{datetime.now(UTC):%f}@example.com")
    email = await fetch_value(site_db, "SELECT email_address FROM identities WHERE id = %(id)s", id=person)
    await actions.set_password(site_db, person, password, datetime.now(UTC))
    await visit.context.clear_cookies()
    await visit.go(f"/sign-in/{await actions.create_link(site_db, person, datetime.now(UTC))}")
    await visit.press("Sign in")
    await visit.sees("Welcome, Una")
    await page.get_by_role("button", name="Sign out").click()
    await page.wait_for_url("**/sign-in")
    box = await page.locator("main").bounding_box()
    assert box
    assert abs(box["x"] + box["width"] / 2 - 640) < 1, "the page keeps its width after a sign-out"

    await page.get_by_label("E-mail").fill(email)
    await page.get_by_label("Password").fill("wrong")
    await visit.press("Sign in")
    await visit.sees("E-mail or password is wrong")
    await page.get_by_label("Password").fill(password)
    await visit.press("Sign in")
    await visit.sees("Welcome, Una")
    await visit.sees("No account is matched to you yet")

    await visit.go("/settings")
    await visit.sees("Your role does not allow this")
    await execute(
        site_db,
        "UPDATE console_sessions SET seen_at = seen_at - interval '1 day' WHERE identity_id = %(id)s",
        id=person,
    )
    await visit.go("/requests?status=Open")
    await page.wait_for_url("**/sign-in?next=/**")
    await page.get_by_label("E-mail").fill(email)
    await page.get_by_label("Password").fill(password)
    await visit.press("Sign in")
    await page.wait_for_url("**/requests?status=Open")


async def test_provider_signs_in_a_person_without_a_role_but_not_a_stranger(visit: Visit, site_db: Db) -> None:
    page, provider = visit.page, visit.site.provider
    person = await an_identity(site_db, "Olga", "Pen", email=f"olga{datetime.now(UTC):%f}@example.com")
    provider.email = await fetch_value(site_db, "SELECT email_address FROM identities WHERE id = %(id)s", id=person)

    async def sign_in() -> None:
        await page.get_by_role("link", name="Sign in with localhost").click()
        await page.get_by_role("link", name=f"Continue as {provider.email}").click()

    await visit.context.clear_cookies()
    await visit.go("/requests?status=Open")
    await sign_in()
    await page.wait_for_url("**/requests?status=Open")
    await visit.sees("Olga Pen")
    assert not await page.get_by_role("link", name="Settings").count()

    await page.get_by_role("button", name="Sign out").click()
    await page.wait_for_url("**/sign-in")
    provider.email = "stranger@example.com"
    await sign_in()
    await visit.sees("No active person signs in with stranger@example.com. Ask Ada Admin for help")
    await visit.go("/audit")
    await page.wait_for_url("**/sign-in?next=/**")

    assert all(url.startswith(f"{provider.url}/authorize") for url in visit.strays)
    visit.strays.clear()


async def test_comment_is_shown_on_the_page_where_it_was_written(visit: Visit) -> None:
    page, text = visit.page, f"Said at {datetime.now(UTC):%f}"
    await visit.go(f"/requests/{visit.site.company.ids['requests']}")
    await page.get_by_label("Comment").fill(text)
    await visit.press("Comment")

    await visit.sees("Your comment was added")
    await expect(page.locator(".activity li", has_text=text)).to_be_in_viewport()
    await expect(page.locator("main > .notice")).to_be_in_viewport()


async def test_supervisor_requests_a_change_and_creates_an_event_from_the_home_page(visit: Visit, site_db: Db) -> None:
    grace = await an_identity(site_db, "Manon", "Ager", email=f"manon{visit.has_scripts}@example.com")
    ada = await an_identity(site_db, "Emma", "Ployee", supervisorId=str(grace), email=f"emma{visit.has_scripts}@x.org")
    application = visit.site.company.ids["applications"]
    assert isinstance(application, UUID)
    await an_account(site_db, application, f"emma{visit.has_scripts}", ada)
    page = visit.page
    await visit.context.clear_cookies()
    await visit.go(f"/sign-in/{await actions.create_link(site_db, grace, datetime.now(UTC))}")
    await visit.press("Sign in")
    await visit.sees("Your people")

    await page.get_by_role("link", name="Request a change for Emma Ployee").click()
    await page.get_by_label("Action").select_option("Remove")
    await page.get_by_label("Application (required)").select_option(str(application))
    await visit.press("Send request")
    await visit.sees("Remove access for Emma Ployee")
    await visit.go("/")
    await page.get_by_role("link", name="Create an event").click()
    await page.get_by_role("link", name="Absence").click()
    await page.get_by_label("Person").fill(f"emma{visit.has_scripts}@x.org")
    await page.get_by_label("Effective date").fill((datetime.now(UTC) + timedelta(days=5)).date().isoformat())
    await visit.press("Create event")
    await visit.sees("Absence with effect from")

    made = await fetch_value(
        site_db, "SELECT reporter_id FROM personnel_events WHERE identity_id = %(id)s AND type = 'Absence'", id=ada
    )
    assert made == grace
