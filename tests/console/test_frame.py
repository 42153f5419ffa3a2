"""Test what pages share: navigation, count of waiting requests, names instead of GUIDs, icon, URLs of forms."""

import re
from typing import get_args, get_type_hints
from uuid import UUID

import httpx2
import pytest

from rolecall.console.answers import HtmlPage
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.roles import Role
from tests.builders import an_access_request, an_identity
from tests.console.company import Company, a_company
from tests.console.test_roles import MISSING, SCREENS


def navigation(page: str) -> dict[str, list[str]]:
    """Return the groups of the main navigation with their entries."""
    nav = page.partition("<nav")[2].partition("</nav>")[0]
    groups = re.findall(r'<p class="group"[^>]*>([^<]*)</p>(.*?)</ul>', nav, re.DOTALL)
    return {group: re.findall(r"</svg> (\w+)", links) for group, links in groups}


@pytest.mark.parametrize(
    ("role", "groups"),
    [
        (
            Role.ADMINISTRATOR,
            {
                "My work": ["Home", "Requests", "Reviews", "Events"],
                "Who has what": ["People", "Access", "Applications"],
                "How it is governed": ["Models", "Duties", "Reports"],
                "System": ["Webhooks", "Audit", "Settings"],
            },
        ),
        (
            Role.REVIEWER,
            {
                "My work": ["Home", "Requests", "Reviews", "Events"],
                "Who has what": ["People", "Access", "Applications"],
                "How it is governed": ["Models", "Duties", "Reports"],
            },
        ),
    ],
)
async def test_navigation_shows_only_groups_that_the_role_may_see(
    administrator: httpx2.AsyncClient, db: Db, role: Role, groups: dict[str, list[str]]
) -> None:
    await execute(db, "UPDATE console_roles SET role = %(role)s", role=role)

    assert navigation((await administrator.get("/")).text) == groups


async def test_key_help_names_the_keys_of_every_system(administrator: httpx2.AsyncClient) -> None:
    assert "<kbd>/</kbd>, <kbd>Ctrl K</kbd> or <kbd>⌘ K</kbd></dt><dd>search" in (await administrator.get("/")).text


async def test_navigation_counts_only_requests_that_wait_for_the_person(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    me: UUID = await fetch_value(db, "SELECT identity_id FROM console_roles")
    mine = await an_identity(db, "Kit", "Keys", supervisorId=str(me))
    other = await an_identity(db, "Una", "Other", supervisorId=str(mine))

    nothing = (await administrator.get("/events")).text
    for person in (mine, mine, other):
        await an_access_request(db, identity_id=person)
    waiting = (await administrator.get("/events")).text
    fragment = (await administrator.get("/requests", headers={"HX-Request": "true", "HX-Target": "detail"})).text
    await execute(db, "UPDATE console_roles SET role = 'Auditor'")

    assert "waiting for you" not in nothing
    assert '<span class="n">2<span class="unseen"> waiting for you' in waiting
    assert "waiting for you" not in fragment
    assert fragment.count("<article>") == 1
    assert "<nav" not in fragment
    assert "<table data-rows" not in fragment
    assert "waiting for you" not in (await administrator.get("/events")).text


async def test_request_list_shows_names_and_initials_of_people(
    administrator: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    await a_company(db, config)

    page = (await administrator.get("/requests?status=Pending")).text

    assert "Ada Lovelace</a>" in page
    assert ">AL</span>" in page


async def test_changes_of_an_import_are_described_in_words(
    administrator: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, config)

    page = (await administrator.get(f"/imports/{company.ids['imports']}")).text
    changes = page.partition('id="changes"')[2].partition("</table>")[0]

    assert '<span class="quiet">Is active</span> Yes' in changes
    assert not re.search(r"\b(True|False|None|isActive)\b", changes)


async def test_audit_entry_shows_names_instead_of_ids(
    administrator: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company: Company = await a_company(db, config)
    number = await fetch_value(
        db,
        "SELECT number FROM audit_events WHERE entity_id = %(id)s ORDER BY number LIMIT 1",
        id=company.ids["applications"],
    )

    page = (await administrator.get(f"/audit/{number}")).text
    fields = page.partition('id="fields"')[2].partition("</table>")[0]

    assert "Ada Admin" in fields
    assert str(company.administrator) not in fields
    assert '<th scope="row">Is identity source</th>' in fields


async def test_icon_is_served_at_the_default_url(visitor: httpx2.AsyncClient) -> None:
    answer = await visitor.get("/favicon.ico")

    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")


async def test_get_of_a_form_url_redirects_to_its_page(administrator: httpx2.AsyncClient) -> None:
    html = {"Accept": "text/html"}

    tested = await administrator.get(f"/applications/{MISSING}/source/test", headers=html)
    hostile = await administrator.get("/review-items/a%0d%0ax: y/decide", headers=html)
    program = await administrator.get(f"/applications/{MISSING}/source/test")

    assert (tested.status_code, tested.headers["location"]) == (303, f"/applications/{MISSING}/source")
    assert (hostile.status_code, hostile.headers["location"]) == (303, "/review-items/a%0D%0Ax%3A%20y")
    assert program.status_code == 405


def test_every_form_url_has_a_page_to_redirect_to() -> None:
    pages = {path for method, path in SCREENS if method == "GET"}
    answered = {
        path
        for (method, path), screen in SCREENS.items()
        if method == "POST" and path not in pages and HtmlPage in get_args(get_type_hints(screen.function)["return"])
    }

    assert {path for path in answered if path.rpartition("/")[0] not in pages} == set()
