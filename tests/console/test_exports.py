import re

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from tests.builders import an_application
from tests.console.company import a_company

LISTS = ["/identities", "/identities?name=a", "/requests", "/requests/waiting", "/events", "/applications", "/imports"]
LISTS += ["/access-models", "/reports", "/audit", "/settings/tokens", "/audit?from=2020-01-01&until=2099-01-01"]


def exported(text: str) -> tuple[str, dict[str, str]]:
    """Return where the button *Export* of a page leads, and with which filters."""
    form = re.search(r'<form class="filters export" method="get" action="([^"]+)".*?</form>', text, re.S)
    assert form, "no export"
    return form[1], dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', form[0]))


@pytest.mark.parametrize("path", LISTS)
async def test_a_list_has_an_export_that_works(
    administrator: httpx2.AsyncClient, db: Db, config: Config, path: str
) -> None:
    await a_company(db, config)
    await execute(db, "INSERT INTO tokens SELECT gen_random_uuid(), 'x', 'x', 'x', '{}', now(), NULL, NULL, NULL")
    action, filters = exported((await administrator.get(path)).text)

    answer = await administrator.get(action, params={**filters, "format": "csv"})

    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert len(answer.text.splitlines()) > 1
    [(status, kind, name)] = await fetch_rows(db, "SELECT status, caller_kind, caller_name FROM exports")
    assert (status, kind) == ("Finished", "Person")
    assert name


@pytest.mark.parametrize("tab", ["accounts", "groups", "permissions", "imports"])
async def test_a_list_of_an_application_has_an_export(
    administrator: httpx2.AsyncClient, db: Db, config: Config, tab: str
) -> None:
    company = await a_company(db, config)
    action, filters = exported((await administrator.get(f"/applications/{company.ids['applications']}?tab={tab}")).text)

    answer = await administrator.get(action, params={**filters, "format": "jsonl"})

    assert answer.status_code == 200
    assert str(company.ids["applications"]) in filters.values()
    assert answer.content


async def test_an_export_needs_the_scope_of_its_list(administrator: httpx2.AsyncClient, db: Db) -> None:
    await an_application(db)
    await execute(db, "UPDATE console_roles SET role = 'Reviewer'")

    assert (await administrator.get("/export/audit-events")).status_code == 403
    assert (await administrator.get("/export/tokens")).status_code == 403
    assert (await administrator.get("/export/applications")).status_code == 200
    assert (await administrator.get("/export/passwords")).status_code == 404
    assert (await administrator.get("/export/applications?format=pdf")).status_code == 400


async def test_export_from_a_link_on_another_site_is_refused(administrator: httpx2.AsyncClient, db: Db) -> None:
    link = "/export/identities?format=csv"

    assert (await administrator.get(link, headers={"Sec-Fetch-Site": "cross-site"})).status_code == 404
    assert await fetch_value(db, "SELECT count(*) FROM exports") == 0
    assert (await administrator.get(link, headers={"Sec-Fetch-Site": "same-origin"})).status_code == 200
