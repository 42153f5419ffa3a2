"""Test that every list of the console has an export with the same content.

The screens are those of all registered routes. Every table must declare which list it shows, or that it is only part
of a record or of a list on another screen. Therefore a new list without an export fails a test.
"""

import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from rolecall.console import rendering
from rolecall.console.lists import CONSOLE_LISTS, OWN_LISTS, OWN_RECORDS
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.web.lists import LISTS
from tests.builders import an_application, an_import
from tests.console.company import Company, a_company
from tests.console.test_roles import PROVIDER, SCREENS
from tests.console.test_screens import address

TEMPLATES = Path(rendering.__file__).parent / "templates"
# Lists that a screen shows with a filter or in a tab, with placeholders for the ids of the company.
VIEWS = [
    "/identities?name=a",
    "/identities?status=Active&department=Finance",
    "/requests?status=Pending",
    "/requests?asks=Approve",
    "/imports?only=troubled",
    "/applications/{applications}?tab=groups",
    "/applications/{applications}?tab=permissions",
    "/applications/{applications}?tab=imports",
    "/applications/{applications}?tab=accounts&username=a",
    "/applications/{applications}?tab=accounts&match=Unmatched",
    "/access-models/{access-models}?tab=members",
    "/access-models/{model-drafts}?tab=simulation",
    "/access/{access}?history=true",
    "/access?kind=Group",
    "/accounts?match=Unmatched",
    "/accounts/{accounts}",
    "/audit?from=2020-01-01&until=2099-01-01",
    "/deliveries?status=Pending",
    "/events?type=Onboard",
    "/reviews/{reviews}/work?by=access",
    "/reviews/{reviews}/items?status=Pending",
    "/notifications?isRead=false",
    "/settings/outbox?outcome=sent",
]
# Lists whose rows in the console do not link to the record by its id, each with an exported field that the row shows.
SHOWN = {
    "access-model-members": "lastName",
    "audit-events": "number",
    "account-access": "permission",
    "changes": "name",
    "connector-templates": "name",
    "conflict-exceptions": "control",
    "dry-run-changes": "name",
    "dry-run-rejects": "reason",
    "duty-holders": "identity.name",
    "groups": "name",
    "holder-history": "account.username",
    "holders": "account.username",
    "notification-messages": "subject",
    "notifications": "subject",
    "permissions": "permission",
    "person-access": "permission",
    "rejects": "reason",
    "report-runs": "sha256",
    "review-coverage": "application.name",
    "review-quality": "reviewer",
    "review-templates": "name",
    "simulated-changes": "identityId",
    "stand-ins": "standIn.name",
    "tokens": "name",
}
NO_PAGE: tuple[str, ...] = ("/sign-in/{id:str}", "/export/{id:str}", "/run", "/log", ".jsonl", "{file:str}", "/verify")
NO_PAGE += ("/evidence", "/report")


class ShownTable(msgspec.Struct):
    name: str
    rows: list[str]


def shown_tables(text: str) -> list[ShownTable]:
    """Return the tables of lists on a page with the HTML of each row; merge tables of the same list.

    Heading rows of groups are not part of the list.
    """
    found: dict[str, list[str]] = {}
    for start, body in re.findall(r"<table([^>]*)>.*?<tbody>(.*?)</tbody>", text, re.S):
        if name := re.search(r'data-list="([^"]+)"', start):
            rows = [unescape(row) for row in body.split("<tr")[1:] if 'scope="rowgroup"' not in row]
            found.setdefault(name[1], []).extend(rows)
    return [ShownTable(name, rows) for name, rows in found.items()]


def exported(text: str, name: str | None = None) -> tuple[str, dict[str, str]]:
    """Return the URL and the filters of the *Export* button of a list."""
    forms = re.findall(r'<form class="filters export" method="get" action="(/export/[^"]+)"(.*?)</form>', text, re.S)
    chosen = [(action, rest) for action, rest in forms if name in (None, action.removeprefix("/export/"))]
    assert len(chosen) == 1, f"{len(chosen)} exports of {name or 'the list'}"
    action, rest = chosen[0]
    return action, {key: unescape(v) for key, v in re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)">', rest)}


def field_of(item: Any, path: str) -> str:
    for name in path.split("."):
        item = item[name]
    return str(item)


async def assert_equal(client: httpx2.AsyncClient, path: str, table: ShownTable, text: str) -> None:
    action, filters = exported(text, table.name)
    answer = await client.get(action, params={**filters, "format": "jsonl"})
    assert answer.status_code == 200, (path, answer.text)
    items = [msgspec.json.decode(line) for line in answer.content.splitlines()]
    # The export is audited too, so the audit has more entries than its page showed.
    assert len(items) == len(table.rows) or table.name == "audit-events", path
    exported_items = iter(items)
    for row in table.rows:
        assert any(_shows(row, table.name, item) for item in exported_items), (path, row)


def _shows(row: str, name: str, item: Any) -> bool:
    value = field_of(item, SHOWN.get(name, "id"))
    return (value[:12] if name == "report-runs" else value) in row


@pytest.fixture
async def company(administrator: httpx2.AsyncClient, db: Db, config: Config) -> Company:
    company = await a_company(db, config)
    await execute(db, "INSERT INTO tokens SELECT gen_random_uuid(), 'x', 'x', 'x', '{}', now(), NULL, NULL, NULL")
    await an_import(db, company.ids["applications"], "Failed")  # type: ignore[arg-type]
    await administrator.get(f"/reports/{company.ids['reports']}/run")
    return company


def pages(company: Company) -> list[str]:
    screens = [
        address(path, company)
        for method, path in sorted(SCREENS.keys() - PROVIDER)
        if method == "GET" and not path.endswith(NO_PAGE)
    ]
    return screens + [view.format(**company.ids) for view in VIEWS]


async def test_every_list_has_an_export_with_the_same_rows(administrator: httpx2.AsyncClient, company: Company) -> None:
    seen = set[str]()
    for path in pages(company):
        text = (await administrator.get(path)).text
        for table in shown_tables(text):
            await assert_equal(administrator, path, table, text)
            seen.add(table.name)

    assert set(CONSOLE_LISTS) <= seen
    assert seen <= set(CONSOLE_LISTS) | set(LISTS)


def test_every_table_says_which_list_it_shows() -> None:
    """A table that does not show a whole list has `data-part`."""
    unmarked = [
        f"{path.name}: {tag}"
        for path in TEMPLATES.rglob("*.html")
        for tag in re.findall(r"<table(?:[^>]|%\}>)*", path.read_text())
        if "data-list=" not in tag and "data-part" not in tag
    ]

    assert unmarked == []


def test_every_list_that_limited_people_may_export_exists() -> None:
    assert {*OWN_LISTS, *OWN_RECORDS} <= {*LISTS, *CONSOLE_LISTS}


async def test_an_export_needs_the_scope_of_its_list(administrator: httpx2.AsyncClient, db: Db) -> None:
    await an_application(db)
    await execute(db, "UPDATE console_roles SET role = 'Reviewer'")

    assert (await administrator.get("/export/audit-events")).status_code == 403
    assert (await administrator.get("/export/tokens")).status_code == 403
    assert (await administrator.get("/export/people-and-roles")).status_code == 403
    assert (await administrator.get("/export/applications")).status_code == 200
    assert (await administrator.get("/export/notifications")).status_code == 200
    assert (await administrator.get("/export/passwords")).status_code == 404
    assert (await administrator.get("/export/applications?format=pdf")).status_code == 400


async def _statuses(client: httpx2.AsyncClient, paths: Sequence[str]) -> list[int]:
    return [(await client.get(path)).status_code for path in paths]


async def test_person_who_sees_only_own_records_exports_only_own_records(
    administrator: httpx2.AsyncClient, db: Db, company: Company
) -> None:
    other = await an_application(db, "Ledger")
    await execute(db, "UPDATE console_roles SET role = 'Provisioner'")
    own = company.ids["applications"]

    assert await _statuses(administrator, [f"/export/accounts?id={own}", f"/export/imports?applicationId={own}"]) == [
        200,
        200,
    ]
    assert await _statuses(
        administrator,
        [
            f"/export/accounts?id={other}",
            f"/export/imports?applicationId={other}",
            "/export/imports",
            f"/export/person-access?id={company.ids['identities']}",
            f"/export/person-access?id={company.administrator}",
            "/export/all-accounts",
            "/export/requests-to-answer?asks=Approve",
        ],
    ) == [404, 404, 404, 404, 200, 403, 200]
    names = (await administrator.get("/export/applications?format=jsonl")).text
    assert "Payroll" in names
    assert "Ledger" not in names


async def test_an_export_is_recorded_with_the_person(administrator: httpx2.AsyncClient, db: Db) -> None:
    await administrator.get("/export/identities?format=csv")

    [(status, kind, name)] = await fetch_rows(db, "SELECT status, caller_kind, caller_name FROM exports")
    assert (status, kind) == ("Finished", "Person")
    assert name


async def test_export_from_a_link_on_another_site_is_refused(administrator: httpx2.AsyncClient, db: Db) -> None:
    link = "/export/identities?format=csv"

    assert (await administrator.get(link, headers={"Sec-Fetch-Site": "cross-site"})).status_code == 404
    assert await fetch_value(db, "SELECT count(*) FROM exports") == 0
    assert (await administrator.get(link, headers={"Sec-Fetch-Site": "same-origin"})).status_code == 200
