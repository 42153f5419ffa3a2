import re
from html import unescape

import httpx2
import pytest

from rolecall.console.report_filters import filter_fields
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.reports.lists import known_lists
from tests.builders import an_application, an_identity
from tests.holdings import an_account


async def saved(client: httpx2.AsyncClient, **fields: str) -> httpx2.Response:
    form = {"name": "People of finance", "list": "search-identities", "filters.department": "Finance", **fields}
    return await client.post("/reports/new", data=form)


async def test_report_can_be_saved_run_and_deleted(administrator: httpx2.AsyncClient, db: Db) -> None:
    await an_identity(db, "Grace", "Hopper", department="Finance")
    lists = (await administrator.get("/reports/new")).text
    assert '<option value="search-identities">Search identities</option>' in lists
    form = unescape((await administrator.get("/reports/new?list=search-identities")).text)
    assert "Filters of search-identities" in form
    assert 'name="filters.department"' in form

    made = await saved(administrator, columns="lastName")
    page = await administrator.get(made.headers["location"])
    run = await administrator.get(f"{made.headers['location']}/run?format=csv")

    assert made.status_code == 303
    assert "This report has not been run yet" in page.text
    assert run.text == "lastName\r\nHopper\r\n"
    assert run.headers["content-disposition"].startswith('attachment; filename="people-of-finance.csv"')
    after = (await administrator.get(made.headers["location"])).text
    assert re.search(r'class="status finished".*SHA-256', after, re.S)
    listed = (await administrator.get("/reports")).text
    assert "People of finance" in listed
    gone = await administrator.post(f"{made.headers['location']}/delete")
    assert gone.headers["location"] == "/reports"
    assert "No reports yet" in (await administrator.get("/reports")).text


async def test_report_form_shows_problems_next_to_their_fields(administrator: httpx2.AsyncClient) -> None:
    answer = await saved(
        administrator, **{"name": "", "filters.status": "odd", "schedule.cron": "often", "schedule.location": "/srv"}
    )

    assert answer.status_code == 400
    text = unescape(answer.text)
    assert '<p class="notice bad" id="name-problem">Name is required</p>' in text
    assert "Cron must be a cron expression such as 0 6 * * 1-5" in text
    rest = unescape((await saved(administrator, **{"filters.status": "odd"})).text)
    assert 'id="filters.status-problem">Status must be one of' in rest
    nowhere = await saved(administrator, **{"schedule.cron": "0 6 * * *", "schedule.location": "/srv"})
    assert "ask the operator to set ROLECALL_REPORT_ROOTS" in nowhere.text


async def test_auditor_can_run_but_not_change_reports(administrator: httpx2.AsyncClient, db: Db) -> None:
    where = (await saved(administrator)).headers["location"]
    await execute(db, "UPDATE console_roles SET role = 'Auditor'")

    page = (await administrator.get(where)).text

    assert "Run report" in page
    assert "Edit report" not in page
    assert "Delete report" not in page
    assert (await administrator.get(f"{where}/run")).status_code == 200
    assert (await administrator.post(where, data={"name": "Mine"})).status_code == 403


async def test_person_who_may_not_read_the_list_cannot_run_the_report(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    made = await administrator.post("/reports/new", data={"name": "Audit", "list": "audit-events"})
    where = made.headers["location"]
    await execute(db, "UPDATE console_roles SET role = 'Reviewer'")

    assert "To run this report, you need the scope audit:read." in (await administrator.get(where)).text
    assert "you cannot read its list" in (await administrator.get("/reports")).text
    assert (await administrator.get(f"{where}/run")).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_link_on_another_site_cannot_run_a_report(administrator: httpx2.AsyncClient, db: Db, site: str) -> None:
    where = (await saved(administrator)).headers["location"]

    answer = await administrator.get(f"{where}/run", headers={"Sec-Fetch-Site": site})

    assert answer.status_code == 404
    assert await fetch_rows(db, "SELECT FROM exports") == []


async def test_administrators_see_failed_schedules(administrator: httpx2.AsyncClient, db: Db, config: Config) -> None:
    where = (await saved(administrator)).headers["location"]
    await execute(db, "UPDATE reports SET cron = '0 6 * * *', location = '/srv/reports'")
    assert "Failed scheduled reports" not in (await administrator.get("/")).text
    assert (
        "is being written"
        in (await administrator.get((await administrator.post(f"{where}/write")).headers["location"])).text
    )
    await execute(db, "UPDATE exports SET status = 'Failed', reason = 'The disk is full'")

    assert "The last scheduled run failed: The disk is full" in (await administrator.get(where)).text
    assert "Failed scheduled reports" in (await administrator.get("/")).text


# Filters for records without names: a form cannot offer these records, so people type their ids.
UNNAMED = {"audit-events entityId", "webhook-deliveries accessRequestId"} | {
    f"{name} id" for name in ("changes", "rejects", "dry-run-changes", "dry-run-rejects")
}


async def test_filters_for_people_and_records_are_chosen_by_name(db: Db) -> None:
    typed = set()
    for source in known_lists().values():
        named = {name for name, reader in source.filters.items() if reader.schema.get("format") == "uuid"} | {"id"}
        fields = [one for one in await filter_fields(db, source) if one.name in named]
        typed |= {f"{source.name} {one.name}" for one in fields if one.records is None and not one.is_person}

    assert typed - {"holders id", "holder-history id"} == UNNAMED


async def test_report_on_the_holders_of_an_entitlement_finds_it_by_name(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await an_application(db, "Ledger")
    permissions = (("Wires", "Approve wires", "Grant", "High"), ("Wires", "Approve refunds", "Grant", "Low"))
    await an_account(db, ledger, "ada", None, permissions=permissions)
    form = {"name": "Approvers", "list": "holders", "period": "Now", "format": "csv"}

    several = await administrator.post("/reports/new", data={**form, "filters.id": "approve"})
    none = await administrator.post("/reports/new", data={**form, "filters.id": "release"})
    made = await administrator.post("/reports/new", data={**form, "filters.id": "wires"})
    page = unescape((await administrator.get(made.headers["location"])).text)
    again = await administrator.post(
        made.headers["location"], data={**form, "filters.id": "Approve wires (Ledger)", **version(page)}
    )
    run = await administrator.get(f"{made.headers['location']}/run?format=csv")
    # The entitlement is gone, and its application is archived, but the report about its past can still be changed.
    await execute(db, "UPDATE entitlements SET is_present = false WHERE name = 'Approve wires'")
    await execute(db, "UPDATE applications SET is_archived = true")
    gone = await administrator.get(made.headers["location"])
    kept = await administrator.post(
        made.headers["location"],
        data={**form, "description": "x", "filters.id": "Approve wires (Ledger)", **version(unescape(gone.text))},
    )

    assert kept.status_code == 303
    assert "approve matches several groups and permissions; enter one of them: Approve refunds (Ledger)" in several.text
    assert "No group or permission matches release" in none.text
    assert 'value="Approve wires (Ledger)"' in page
    assert again.status_code == 303
    assert "ada" in run.text


def version(page: str) -> dict[str, str]:
    found = re.search(r'name="version" value="([^"]*)"', page)
    assert found
    return {"version": found[1]}
