"""Test every screen with a record of its kind. The application lists its screens, so none is left out."""

import json
import re
from html import unescape

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.core.ids import new_id
from rolecall.core.roles import SCOPES, Role
from tests.builders import an_access_request, an_application, an_import
from tests.console.company import Company, a_company
from tests.console.test_roles import PROVIDER, SCREENS


@pytest.fixture
async def company(administrator: httpx2.AsyncClient, db: Db, config: Config) -> Company:
    return await a_company(db, config)


def address(path: str, company: Company) -> str:
    """Return a path with the id of a record of the kind that the path names."""
    if path == "/export/{id:str}":
        return "/export/identities?format=csv"
    before, found, _ = path.partition("/{id:str}")
    id = company.ids[before.rpartition("/")[2]] if found else ""
    return path.replace("{id:str}", str(id)).replace("{file:str}", str(company.ids["files"]))


async def test_every_screen_can_be_opened(administrator: httpx2.AsyncClient, company: Company) -> None:
    for method, path in sorted(SCREENS.keys() - PROVIDER):
        if method == "GET" and not path.endswith(("/sign-in/{id:str}", "/log")):
            answer = await administrator.get(address(path, company))

            assert answer.status_code == 200, (path, answer.text)


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.AUDITOR])
async def test_no_link_leads_to_a_screen_that_the_role_may_not_open(
    administrator: httpx2.AsyncClient, company: Company, db: Db, role: Role
) -> None:
    await execute(db, "UPDATE console_roles SET role = %(role)s", role=role)

    assert await dead_ends(administrator, {path: address(path, company) for path in seen_by(role)}) == []


@pytest.mark.parametrize("role", [Role.ADMINISTRATOR, Role.REVIEWER])
async def test_empty_service_has_no_forbidden_links(administrator: httpx2.AsyncClient, db: Db, role: Role) -> None:
    await execute(db, "UPDATE console_roles SET role = %(role)s", role=role)

    assert await dead_ends(administrator, {path: path for path in seen_by(role) if "{" not in path}) == []


def seen_by(role: Role) -> list[str]:
    files = ("/sign-in/{id:str}", "/export/{id:str}", "/run", "/log", ".csv", ".jsonl", "{file:str}", "/evidence")
    return [
        path
        for (method, path), screen in SCREENS.items()
        if method == "GET" and (method, path) not in PROVIDER
        if screen.scope in {None, *SCOPES[role]} and not path.endswith(files)
    ]


async def dead_ends(client: httpx2.AsyncClient, screens: dict[str, str]) -> list[tuple[str, int]]:
    links = set[str]()
    for screen in screens.values():
        page = await client.get(screen)
        links |= {unescape(link).partition("#")[0] for link in re.findall(r'<a [^>]*href="(/[^"]*)"', page.text)}
    assert len(links) > 10
    statuses = {link: (await client.get(link)).status_code for link in sorted(links)}
    return [(link, status) for link, status in statuses.items() if status not in (200, 303)]


async def test_every_tab_can_be_opened(administrator: httpx2.AsyncClient, company: Company) -> None:
    for kind, tabs in {
        "applications": ("accounts", "groups", "permissions", "imports", "connector"),
        "access-models": ("contents", "members", "simulation"),
    }.items():
        for tab in tabs:
            answer = await administrator.get(f"/{kind}/{company.ids[kind]}?tab={tab}")
            assert answer.status_code == 200, (kind, tab)
    simulated = await administrator.get(f"/access-models/{company.ids['model-drafts']}?tab=simulation")
    assert "would join" in simulated.text


@pytest.mark.parametrize(("path", "who"), [("/requests", "Ada Lovelace"), ("/events", "Joan Clarke")])
async def test_list_can_be_filtered_by_person(
    administrator: httpx2.AsyncClient, company: Company, path: str, who: str
) -> None:
    found, others, unknown = [
        (await administrator.get(path, params={"person": words})).text for words in (who, "Grace Hopper", "Nobody Here")
    ]

    assert "data-href" in found
    assert f'value="{who}"' in found
    assert "data-href" not in others
    assert "data-href" not in unknown
    assert "No person matches Nobody Here" in unknown


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"username": "ad"}, ["ada"]),
        ({"username": "BOB"}, ["bob"]),
        ({"username": "a", "match": "Unmatched"}, []),
        ({"username": "x", "match": "Unmatched"}, ["x"]),
        ({"username": "da"}, []),
    ],
)
async def test_accounts_are_found_by_the_start_of_their_username(
    administrator: httpx2.AsyncClient, company: Company, asked: dict[str, str], found: list[str]
) -> None:
    page = await administrator.get(f"/applications/{company.ids['applications']}", params=asked)

    assert re.findall(r'<td><a href="/accounts/[^"]*">([^<]*)</a>', page.text) == found
    assert ("No account matches these filters" in page.text) == (not found)


async def test_requests_can_be_filtered_by_application(administrator: httpx2.AsyncClient, company: Company) -> None:
    application = company.ids["applications"]

    shown = (await administrator.get("/requests", params={"applicationId": str(application)})).text

    assert f'<option value="{application}" selected>Payroll</option>' in shown


async def test_unknown_page_is_an_html_404_with_correlation_id(administrator: httpx2.AsyncClient) -> None:
    answer = await administrator.get("/nowhere", headers={"Accept": "text/html"})
    of_api = await administrator.get("/api/nowhere", headers={"Accept": "text/html"})

    assert answer.status_code == 404
    assert answer.headers["x-correlation-id"] in answer.text
    assert "the address is incomplete" in answer.text
    assert of_api.json()["message"] == "No such route"


async def test_server_error_is_an_html_page_with_correlation_id(administrator: httpx2.AsyncClient, db: Db) -> None:
    await db.execute("ALTER TABLE console_roles RENAME TO gone")
    try:
        answer = await administrator.get("/requests", headers={"Accept": "text/html"})
    finally:
        await db.execute("ALTER TABLE gone RENAME TO console_roles")

    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert answer.headers["x-correlation-id"] in answer.text
    assert "gone" not in answer.text


async def test_pages_have_a_strict_content_security_policy(administrator: httpx2.AsyncClient) -> None:
    page = await administrator.get("/")

    assert page.headers["content-security-policy"].startswith("default-src 'self'; frame-ancestors 'none'")
    assert page.headers["cache-control"] == "no-store"
    style = re.search(r'href="(/static/console.css[^"]*)"', page.text)
    assert style
    assert (await administrator.get(style[1])).headers["cache-control"] == "max-age=3600"
    assert not re.search(r"\sstyle=|\son[a-z]+=|<style|<script(?! src=)", page.text)


async def test_untrusted_text_is_escaped(administrator: httpx2.AsyncClient, company: Company) -> None:
    attack = "<script>alert(1)</script>\u202e"
    await administrator.post(f"/requests/{company.ids['requests']}/comment", data={"content": attack})

    page = await administrator.get(f"/requests/{company.ids['requests']}")

    assert "<script>alert" not in page.text
    assert "&lt;script&gt;" in page.text
    assert "\u202e" not in page.text


async def test_curl_command_contains_no_shell_metacharacters(
    administrator: httpx2.AsyncClient, company: Company, db: Db
) -> None:
    await db.execute("UPDATE file_groups SET name = name || '\"; $(reboot) `id`'")

    page = await administrator.get(f"/applications/{company.ids['applications']}/upload")

    assert "users-reboot-id.csv" in page.text
    assert "$(reboot)" not in page.text.partition("curl")[2].partition("</pre>")[0]


async def test_access_on_a_future_date_is_rejected_on_the_same_page(
    administrator: httpx2.AsyncClient, company: Company
) -> None:
    path = f"/identities/{company.ids['identities']}"

    page = await administrator.get(path, params={"asOf": "8999-12-31"})
    asked = {"id": str(company.ids["identities"]), "asOf": "8999-12-31"}
    file = await administrator.get("/export/person-access", params=asked)

    assert (page.status_code, file.status_code) == (200, 400)
    assert 'role="alert">The day must not be in the future' in page.text
    assert "Access now" in page.text


async def test_access_before_the_first_import_is_shown_as_unknown(
    administrator: httpx2.AsyncClient, company: Company
) -> None:
    path = f"/identities/{company.ids['identities']}"

    page = await administrator.get(path, params={"asOf": "2001-01-31"})
    asked = {"id": str(company.ids["identities"]), "asOf": "2001-01-31"}
    file = await administrator.get("/export/person-access", params={**asked, "format": "jsonl"})

    assert "No data on 2001-01-31" in page.text
    assert "no data before" in page.text
    assert "No account was matched" not in page.text
    assert '"noDataBefore":"20' in file.text


async def test_export_of_the_requests_of_an_event_has_no_other_requests(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    event, own, _ = new_id(), await an_access_request(db), await an_access_request(db)
    await execute(
        db, "INSERT INTO related_items VALUES (%(own)s, %(event)s, 'Personnel Event', 1, 'Open')", own=own, event=event
    )

    file = await administrator.get("/export/event-requests", params={"id": str(event), "format": "jsonl"})

    assert [json.loads(line)["id"] for line in file.text.splitlines()] == [str(own)]


async def test_failed_schedule_is_shown_on_the_application_and_the_home_page(
    administrator: httpx2.AsyncClient, company: Company, db: Db
) -> None:
    wiki = await an_application(db, "Wiki", schedule={"cron": "0 5 * * *", "locations": {"Users": "/x.csv"}})
    run = await an_import(db, wiki, "Failed", type="Scheduled")
    failure = "Users: /x.csv cannot be read"
    await execute(db, "UPDATE application_imports SET failure = %(failure)s WHERE id = %(id)s", id=run, failure=failure)

    page = await administrator.get(f"/applications/{wiki}")
    home = await administrator.get("/")

    assert "The last scheduled import failed:</strong> Users: /x.csv cannot be read" in page.text
    assert re.search(r"<strong>[1-9]\d*</strong>\s*Failed or held imports", home.text)
    await an_import(db, wiki, "Finished", type="Scheduled")
    assert "scheduled import failed" not in (await administrator.get(f"/applications/{wiki}")).text


async def test_list_of_applications_names_the_finished_import_that_its_data_is_from(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    wiki = await an_application(db, "Wiki")
    finished = await an_import(db, wiki, "Finished", build_end="2026-10-01T08:00:00Z")
    canceled = await an_import(db, wiki, "Canceled", build_end="2026-10-02T08:00:00Z")

    page = (await administrator.get("/applications")).text

    assert '<th scope="col">Last import</th><th scope="col">Data from</th>' in page
    assert re.search(rf'/imports/{canceled}">#\d+</a> <span class="status[^>]*>Canceled', page)
    assert re.search(rf'/imports/{finished}">#\d+</a> <time [^>]*>1 Oct 2026, 08:00 UTC</time>', page)
    assert "2 Oct 2026" not in page


async def test_import_canceled_before_it_started_is_never_started_in_the_list_and_on_its_page(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    run = await an_import(db, status="Canceled", build_start=None)

    assert '<span class="quiet">never</span>' in (await administrator.get("/imports")).text
    assert (
        '<dt>Started</dt><dd><span class="quiet">never</span></dd>' in (await administrator.get(f"/imports/{run}")).text
    )


async def test_long_log_says_how_to_read_all_of_it(administrator: httpx2.AsyncClient, db: Db) -> None:
    run = await an_import(db, status="Finished")
    await execute(
        db,
        """INSERT INTO import_log (import_id, line)
           SELECT %(id)s, '2026-11-02T08:00:00Z ' || CASE n WHEN 10002 THEN 'Warning: late' ELSE 'step ' || n END
           FROM generate_series(1, 10002) AS n""",
        id=run,
    )

    page = unescape((await administrator.get(f"/imports/{run}")).text)

    assert "step 10000\n" in page
    assert "step 10001\n" not in page
    assert "The first 10,000 of 10,002 lines are shown" in page
    assert f"rolecall import log {run}" in page
    assert "<li>late</li>" in page


async def test_guard_in_the_settings_applies_to_all_applications(administrator: httpx2.AsyncClient, db: Db) -> None:
    wiki = await an_application(db, "Wiki")
    form = {"approvalLeadDays": "7", "webhookRetentionDays": "90"}
    guard = {"guard.maxRemovedPercent": "12.5", "guard.maxNewPercent": "60", "guard.minCount": "5"}

    saved = await administrator.post("/settings", data=form | guard)
    page = await administrator.get(f"/applications/{wiki}?tab=connector")
    edited = await administrator.post(
        f"/applications/{wiki}/edit", data={"name": "Wiki", "priority": "None", "guard.maxRemovedPercent": "3"}
    )
    own = await administrator.get(f"/applications/{wiki}?tab=connector")
    await administrator.post(f"/applications/{wiki}/edit", data={"name": "Wiki", "priority": "None"})
    again = await administrator.get(f"/applications/{wiki}?tab=connector")

    assert (saved.status_code, edited.status_code) == (303, 303)
    rest = "of the records of one kind, such as groups, or add more than 60 % accounts, if there were at least 5 before"
    said = f"remove more than 12.5 % {rest} (from the settings)."
    assert said in page.text
    assert f"remove more than 3 % {rest}." in own.text
    assert said in again.text
    assert 'value="12.5"' in (await administrator.get("/settings")).text
