import re
from html import unescape

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from tests.builders import an_identity


async def saved(client: httpx2.AsyncClient, **fields: str) -> httpx2.Response:
    form = {"name": "People of finance", "list": "search-identities", "filters.department": "Finance", **fields}
    return await client.post("/reports/new", data=form)


async def test_a_report_is_chosen_saved_run_and_deleted(administrator: httpx2.AsyncClient, db: Db) -> None:
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


async def test_problems_are_shown_beside_their_fields(administrator: httpx2.AsyncClient) -> None:
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


async def test_an_auditor_runs_reports_and_changes_none(administrator: httpx2.AsyncClient, db: Db) -> None:
    where = (await saved(administrator)).headers["location"]
    await execute(db, "UPDATE console_roles SET role = 'Auditor'")

    page = (await administrator.get(where)).text

    assert "Run report" in page
    assert "Edit report" not in page
    assert "Delete report" not in page
    assert (await administrator.get(f"{where}/run")).status_code == 200
    assert (await administrator.post(where, data={"name": "Mine"})).status_code == 403


async def test_who_may_not_read_the_list_may_not_run_the_report(administrator: httpx2.AsyncClient, db: Db) -> None:
    made = await administrator.post("/reports/new", data={"name": "Audit", "list": "audit-events"})
    where = made.headers["location"]
    await execute(db, "UPDATE console_roles SET role = 'Reviewer'")

    assert "You need audit:read to read the list of this report" in (await administrator.get(where)).text
    assert "you cannot read its list" in (await administrator.get("/reports")).text
    assert (await administrator.get(f"{where}/run")).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_link_of_another_site_runs_no_report(administrator: httpx2.AsyncClient, db: Db, site: str) -> None:
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
