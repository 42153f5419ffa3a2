"""Find out in a browser who had access on a past day, as an auditor does."""

from datetime import UTC, datetime, timedelta

from rolecall.core.db import Db, execute
from tests.builders import an_access_model, an_application, an_identity
from tests.console.browser.conftest import Visit
from tests.holdings import a_finished_import, an_account
from tests.nesting import give, some_groups


async def test_auditor_finds_holders_on_a_past_day_in_three_clicks_from_home(visit: Visit, site_db: Db) -> None:
    tess = await an_identity(site_db, "Tess", "Wirth", department=f"Treasury {visit.has_scripts}")
    bank = await an_application(site_db, f"CoreBank {visit.has_scripts}")
    run = await some_groups(site_db, bank, {"Wire approvers": "", "Treasury": "Wire approvers"})
    what = f"Approve wires {visit.has_scripts}"
    await give(site_db, bank, "Wire approvers", what, run, risk="Critical")
    await an_account(site_db, bank, "twirth", tess, groups=("Treasury",), run=run)
    treasury = [[{"field": "department", "operator": "is", "value": f"Treasury {visit.has_scripts}"}]]
    access = [{"applicationId": str(bank), "groups": ["Treasury"]}]
    await an_access_model(site_db, f"Treasurers {visit.has_scripts}", conditions=treasury, access=access)
    for table, column in (("access_model_versions", "committed_at"), ("access_model_members", "since")):
        await execute(site_db, f"UPDATE {table} SET {column} = now() - interval '300 days'")
    await execute(
        site_db,
        "UPDATE application_imports SET build_end = now() - interval '300 days' WHERE number = %(run)s",
        run=run,
    )
    # Tess has since left the group.
    left = await a_finished_import(site_db, bank)
    await execute(
        site_db, "UPDATE memberships SET until_import = %(left)s WHERE from_import = %(run)s", left=left, run=run
    )
    page, day = visit.page, datetime.now(UTC).date() - timedelta(days=100)
    await visit.go("/")

    await page.get_by_role("navigation", name="Main").get_by_role("link", name="Access", exact=True).click()
    await page.get_by_role("link", name=what, exact=True).click()
    await visit.sees("No account holds it")
    await page.get_by_label("Day").fill(str(day))
    await page.get_by_role("button", name="Show holders").click()

    await visit.sees(f"Who held it on {day.day} {day:%b %Y}")
    await visit.sees("Tess Wirth")
    await visit.sees("through Treasury → Wire approvers")
    await visit.sees(f"Treasurers {visit.has_scripts}")
