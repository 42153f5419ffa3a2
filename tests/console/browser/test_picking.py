"""Test the search for access in forms, with and without scripts."""

import asyncio

from playwright.async_api import Route, expect

from rolecall.core.db import Db, fetch_value
from tests.builders import an_application, an_identity
from tests.console.browser.conftest import Visit
from tests.holdings import an_account
from tests.nesting import give, some_groups


async def test_request_form_finds_access_by_name_and_access_of_another_person(visit: Visit, site_db: Db) -> None:
    suffix = "with" if visit.has_scripts else "without"
    tess = await an_identity(site_db, "Tess", f"Wirth {suffix}", email=f"tess.{suffix}@example.com")
    await an_identity(site_db, "Nora", f"Neu {suffix}", email=f"nora.{suffix}@example.com")
    bank = await an_application(site_db, f"Wire bank {suffix}")
    run = await some_groups(site_db, bank, {"Wire approvers": "", "Treasury": "Wire approvers"})
    await give(site_db, bank, "Wire approvers", "Approve wires", run, risk="Critical")
    await an_account(site_db, bank, "twirth", tess, groups=("Treasury",), run=run)
    page = visit.page
    await visit.go("/requests/new")
    await page.get_by_label("Person (required)").fill(f"nora.{suffix}@example.com")
    await page.get_by_label("Application (required)").select_option(label=f"Wire bank {suffix}")
    # With scripts, choosing the application lists its catalogue; typing narrows the list.
    if not visit.has_scripts:
        await page.get_by_role("button", name="Find access").click()
    await expect(page.locator("#picks").get_by_role("checkbox")).to_have_count(3)

    await page.get_by_label("Find a group or permission").fill("approve wires")
    if not visit.has_scripts:
        await page.get_by_role("button", name="Find access").click()
    await expect(page.locator("#picks").get_by_role("checkbox")).to_have_count(1)
    await page.get_by_label("Approve wires").check()
    await page.get_by_label("Same access as another person").fill(f"tess.{suffix}@example.com")
    await page.get_by_role("button", name="Find access").click()
    await visit.sees("Treasury")
    await page.get_by_role("button", name="Send request").click()

    await visit.sees("Request #")
    named = await fetch_value(
        site_db,
        """SELECT array_agg(p.permission ORDER BY p.position) FROM privileges p
           JOIN access_requests r ON r.id = p.request_id WHERE r.application_id = %(bank)s""",
        bank=bank,
    )
    assert named == ["Approve wires", "Treasury"]


async def test_model_form_finds_groups_by_a_part_of_their_name(visit: Visit, site_db: Db) -> None:
    name = f"Grants {'with' if visit.has_scripts else 'without'}"
    bank = await an_application(site_db, f"{name} bank")
    await some_groups(site_db, bank, {"Wire approvers": "", "Treasury": ""})
    page = visit.page
    await visit.go("/access-models/new")
    await page.get_by_label("Name (required)").fill(name)
    await page.get_by_label("Application 1").select_option(label=f"{name} bank")

    for words, group in (("treas", "Treasury"), ("approv", "Wire approvers")):
        await page.get_by_label("Find a group or permission").first.fill(words)
        if not visit.has_scripts:
            await page.get_by_role("button", name="Find access").first.click()
        await page.get_by_label(group).check()
    await page.get_by_role("button", name="Save draft").click()

    await visit.sees("The draft was created")
    draft = await fetch_value(site_db, "SELECT draft -> 'access' -> 0 FROM access_models WHERE name = %(n)s", n=name)
    assert draft["groups"] == ["Treasury", "Wire approvers"]


async def test_text_typed_while_the_catalogue_loads_is_kept(scripted: Visit, site_db: Db) -> None:
    page = scripted.page
    bank = await an_application(site_db, "Slow bank")
    await some_groups(site_db, bank, {"Tellers": ""})
    arrives = asyncio.Event()

    async def later(route: Route) -> None:
        await arrives.wait()
        await route.continue_()

    await scripted.go("/requests/new")
    await page.route("**/requests/new", later)
    await page.get_by_label("Application (required)").select_option(label="Slow bank")
    await page.get_by_label("Groups and permissions").fill("Clerks")
    arrives.set()
    await page.locator("#picks").get_by_role("checkbox").first.wait_for()
    await expect(page.get_by_label("Groups and permissions")).to_have_value("Clerks")
