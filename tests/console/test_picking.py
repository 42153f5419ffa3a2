"""Test that forms find groups and permissions, and refuse names that do not exist."""

import re
from html import unescape
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.accounts.model import PermissionName
from rolecall.console.forms import permission_in
from rolecall.console.picking import line_of, with_lines
from rolecall.core.db import Db, execute, fetch_value
from tests.builders import an_access_model, an_application, an_identity
from tests.duties.separating import a_duty
from tests.entitlements.test_list import a_ledger
from tests.nesting import refresh, some_groups

NAMES = ["Post", "Wires / Approve", "Wires / Out / Approve", "/ Out / Approve", "Wires / Out /"]


@pytest.mark.parametrize("line", NAMES)
def test_line_survives_a_round_trip(line: str) -> None:
    assert line_of(PermissionName(**permission_in(line))).strip() == line


def test_empty_section_between_two_slashes_is_parsed_as_empty() -> None:
    """The form of a model writes an empty section this way."""
    assert permission_in("Wires /  / Approve") == {"header": "Wires", "section": "", "permission": "Approve"}


def test_line_with_many_spaces_is_parsed_quickly() -> None:
    """A regular expression that backtracks at each space would take minutes (ReDoS)."""
    name = f"a{' ' * 50_000}b"

    assert permission_in(name) == {"header": "", "section": "", "permission": name}


def test_picked_lines_are_added_without_duplicates() -> None:
    assert with_lines("Clerks\n\n", ["Wires / Approve", "Clerks"]) == "Clerks\nWires / Approve"


def picked(text: str, name: str = "pick") -> list[str]:
    return [unescape(value) for value in re.findall(rf'type="checkbox" name="{re.escape(name)}" value="([^"]*)"', text)]


@pytest.fixture
async def ledger(db: Db) -> UUID:
    return await a_ledger(db)


async def ask(client: httpx2.AsyncClient, ledger: UUID, **fields: Any) -> httpx2.Response:
    form = {"action": "Add", "applicationId": str(ledger), "identityId": "Greta Das", "privileges": "", **fields}
    return await client.post("/requests/new", data=form)


async def test_request_form_finds_access_by_a_part_of_its_name(
    administrator: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    await an_identity(db, "Greta", "Das")

    found = await ask(administrator, ledger, find="appro", pick="Group / Clerks")
    assert picked(found.text) == ["Wires / Approve", "Group / Wire approvers"]
    assert ">Group / Clerks</textarea>" in found.text
    sent = await ask(administrator, ledger, privileges="Group / Clerks", pick=picked(found.text)[0])

    assert sent.status_code == 303
    assert await fetch_value(db, "SELECT array_agg(permission ORDER BY position) FROM privileges") == [
        "Clerks",
        "Approve",
    ]


async def test_form_that_shows_search_results_can_be_submitted(
    administrator: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    await an_identity(db, "Greta", "Das")
    fields = {"find": "appro", "pick": "Wires / Approve"}

    other = await ask(administrator, ledger, **fields, searched="close")
    same = await ask(administrator, ledger, **fields, searched="appro")

    assert (other.status_code, same.status_code) == (200, 303)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"find": "Aprove wires"}, "did you mean"),
        ({"find": "zzz"}, "Permission zzz is not known in Ledger"),
        ({"search": "yes", "applicationId": ""}, "Choose the application first"),
        ({"find": "x", "applicationId": ""}, "Choose the application first"),
        ({"sameAs": "Someone Else"}, "No person matches Someone Else"),
    ],
)
async def test_search_without_a_result_says_what_to_do(
    administrator: httpx2.AsyncClient, db: Db, ledger: UUID, fields: dict[str, str], message: str
) -> None:
    await an_identity(db, "Greta", "Das")

    answer = await ask(administrator, ledger, **fields)

    assert message in unescape(answer.text)
    assert await fetch_value(db, "SELECT count(*) FROM access_requests") == 0


async def test_request_form_lists_the_catalogue_of_the_application_without_words(
    administrator: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    await an_identity(db, "Greta", "Das")
    bank, empty = await an_application(db, "Bank"), await an_application(db, "Empty")
    await some_groups(db, bank, {f"Tellers {n:02}": "" for n in range(25)})

    found = (await ask(administrator, ledger, search="yes")).text
    cut = (await ask(administrator, bank, search="yes")).text
    nothing = (await ask(administrator, empty, search="yes")).text

    assert picked(found) == ["Wires / Approve", "Group / Clerks", "Books / Close", "Group / Wire approvers"]
    assert "These are the first" not in found
    assert picked(cut) == [f"Group / Tellers {n:02}" for n in range(20)]
    assert "These are the first 20; type a part of the name to find others." in cut
    assert f'href="/access?applicationId={bank}">Browse the catalogue' in cut
    assert "No import has shown groups or permissions of this application yet." in nothing


async def test_access_is_requested_from_its_page_in_the_catalogue(
    administrator: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    await an_identity(db, "Greta", "Das")
    id = await fetch_value(db, "SELECT id FROM entitlements WHERE name = 'Approve'")

    link = re.search(r'href="([^"]+)">Request access<', (await administrator.get(f"/access/{id}")).text)
    assert link
    form = (await administrator.get(unescape(link[1]))).text
    sent = await ask(administrator, ledger, privileges="Wires / Approve")

    assert ">Wires / Approve</textarea>" in form
    assert f'<option value="{ledger}" selected>' in form
    assert "<option selected>Add</option>" in form
    assert sent.status_code == 303


async def test_request_form_offers_the_access_of_another_person(
    administrator: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    await an_identity(db, "Greta", "Das")

    found = await ask(administrator, ledger, sameAs="Ada Ledger")

    lines = picked(found.text)
    assert "Group / Clerks" in lines
    # Access through a group is not offered, because the offered group gives it.
    assert "Wires / Approve" not in lines
    assert found.text.count(" checked>") >= len(lines)
    assert (await ask(administrator, ledger, pick=lines)).status_code == 303


async def test_unknown_name_in_a_request_is_refused_with_similar_names(
    administrator: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    await an_identity(db, "Greta", "Das")

    answer = await ask(administrator, ledger, privileges="Group / Clerk")

    assert answer.status_code == 400
    assert "Group Clerk is not known in Ledger; did you mean Clerks?" in unescape(answer.text)


@pytest.mark.parametrize(("person", "said"), [("", "Person is required"), ("Nobody", "No person matches Nobody")])
async def test_request_form_reports_every_problem_at_once(
    administrator: httpx2.AsyncClient, ledger: UUID, person: str, said: str
) -> None:
    without = unescape((await ask(administrator, ledger, identityId=person, applicationId="")).text)
    unknown = unescape((await ask(administrator, ledger, identityId=person, privileges="Group / Clerk")).text)

    assert all(each in without for each in (said, "Application is required"))
    assert all(each in unknown for each in (said, "did you mean Clerks?"))
    assert '<label for="applicationId">Application <span class="quiet">(required)</span></label>' in without


async def test_request_form_marks_held_access(administrator: httpx2.AsyncClient, ledger: UUID) -> None:
    async def chips(**fields: str) -> list[str]:
        page = (await ask(administrator, ledger, **fields)).text
        return re.findall(r'<span class="chip ">(held[^<]*)</span>', page)

    assert await chips(identityId="Ada Ledger", find="clo") == ["held"]
    assert await chips(identityId="Ada Ledger", find="appro") == ["held through Clerks"] * 2
    assert await chips(identityId="Nobody", find="clo") == []


async def test_request_that_changes_nothing_requires_confirmation(
    administrator: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    fields = {"identityId": "Ada Ledger", "privileges": "Books / Close\nWires / Approve"}

    asked = await ask(administrator, ledger, **fields)
    confirmed = [unescape(each) for each in re.findall('name="confirmed" value="([^"]*)"', asked.text)]
    before = await fetch_value(db, "SELECT count(*) FROM access_requests")
    sent = await ask(administrator, ledger, **fields, confirmed=confirmed)

    assert "it would change nothing" in asked.text
    assert "Close: access is already Grant." in asked.text
    assert "Approve: access is already Grant, held through Clerks" in unescape(asked.text)
    assert (asked.status_code, before, sent.status_code) == (200, 0, 303)


async def test_model_form_finds_groups_and_permissions(administrator: httpx2.AsyncClient, db: Db, ledger: UUID) -> None:
    form = {"name": "Wirers", "enabled": "yes", "applicationId.0": str(ledger), "groups.0": "", "permissions.0": ""}

    found = (await administrator.post("/access-models/new", data={**form, "find.0": "appro"})).text
    groups, permissions = picked(found, "pickGroups.0"), picked(found, "pick.0")
    saved = await administrator.post("/access-models/new", data={**form, "pickGroups.0": groups, "pick.0": permissions})

    assert (groups, permissions, saved.status_code) == (["Wire approvers"], ["Wires / Approve"], 303)
    draft = await fetch_value(db, "SELECT draft -> 'access' -> 0 FROM access_models")
    assert draft["groups"] == ["Wire approvers"]
    assert [one["permission"] for one in draft["permissions"]] == ["Approve"]


async def test_committing_a_draft_with_unknown_names_requires_confirmation(
    administrator: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    access = [{"applicationId": str(ledger), "groups": ["Clerk"]}]
    id = await an_access_model(db, "Clerks", access=access, committed=False)
    commit = f"/access-models/{id}/commit"

    page = await administrator.get(f"/access-models/{id}?tab=simulation")
    await administrator.post(commit, data={})
    refused = await fetch_value(db, "SELECT version FROM access_models")
    await administrator.post(commit, data={"allowUnknown": "yes"})

    assert "Group Clerk is not known in Ledger; did you mean Clerks?" in page.text
    assert 'name="allowUnknown"' in page.text
    assert refused == 0
    assert await fetch_value(db, "SELECT version FROM access_models") == 1


async def test_catalogue_is_filtered_by_owner(administrator: httpx2.AsyncClient, db: Db, ledger: UUID) -> None:
    greta = await an_identity(db, "Greta", "Das", email="greta@example.com")
    id = await fetch_value(db, "SELECT id FROM entitlements WHERE name = 'Approve'")
    await administrator.post(f"/access/{id}", data={"owner": "Greta Das"})

    by_name = await administrator.get("/access", params={"person": "Greta Das"})
    by_id = await administrator.get("/access", params={"ownerId": str(greta)})

    for page in (by_name, by_id):
        assert "Approve</a>" in page.text
        assert "Clerks</a>" not in page.text
        assert f'name="ownerId" value="{greta}"' in page.text


async def test_entitlement_form_sets_the_former_name_of_a_renamed_group(
    administrator: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    former = await fetch_value(db, "SELECT id FROM entitlements WHERE name = 'Clerks'")
    run = await some_groups(db, ledger, {"Tellers": ""})
    await execute(
        db,
        """UPDATE group_versions SET until_import = %(run)s FROM groups g
           WHERE g.number = group_number AND g.name = 'Clerks'""",
        run=run,
    )
    await refresh(db, ledger, run)
    id = await fetch_value(db, "SELECT id FROM entitlements WHERE name = 'Tellers'")

    form = await administrator.get(f"/access/{id}/edit")
    await administrator.post(f"/access/{id}", data={"sameAs": str(former)})

    assert f'<option value="{former}">Clerks</option>' in form.text
    assert await fetch_value(db, "SELECT same_as FROM curations WHERE entitlement_id = %(id)s", id=id) == former


@pytest.mark.parametrize(
    "path",
    ["/events/new", "/identities", "/reviews/new", "/review-templates/new", "/reports/new?list=search-identities"],
)
async def test_departments_are_suggested(administrator: httpx2.AsyncClient, db: Db, path: str) -> None:
    for n, department in enumerate(["Treasury", "Finance", "finance", ""]):
        await an_identity(db, f"First{n}", f"Last{n}", department=department)

    page = (await administrator.get(path)).text

    suggested = re.findall(r'<datalist id="[\w.]*departments?(?:-known)?">(.*?)</datalist>', page, re.S)[0]
    assert [name.lower() for name in re.findall(r'<option value="([^"]*)">', suggested)] == ["finance", "treasury"]


async def test_duty_form_adds_ticked_access_as_patterns_for_the_searched_application(
    administrator: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    other = await an_application(db, "Other")
    form = {"name": "Wires", "patterns": "*: group Clerks", "applicationId.1": str(ledger)}

    found = (await administrator.post("/duties/new", data={**form, "find.1": "appro"})).text
    ticks = {"pickGroups.1": picked(found, "pickGroups.1"), "pick.1": picked(found, "pick.1")}
    searched = {"searchedIn": str(ledger), "searched.1": "appro", "find.1": "appro"}
    saved = await administrator.post("/duties/new", data={**form, **ticks, **searched, "applicationId.1": str(other)})

    assert f'name="searchedIn" value="{ledger}"' in found
    assert saved.status_code == 303
    patterns = await fetch_value(db, "SELECT patterns FROM duties")
    assert [(one["application"], one["group"], one["header"], one["permission"]) for one in patterns] == [
        ("*", "Clerks", None, None),
        ("Ledger", "Wire approvers", None, None),
        ("Ledger", None, "Wires", "Approve"),
    ]


async def test_duty_form_offers_similar_names_if_a_search_finds_nothing(
    administrator: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    duty = await a_duty(db, "Wires", {"group": "Clerks"})
    form = {"name": "Wires", "patterns": "*: group Clerks", "find.1": "Wire aprovers"}

    without = (await administrator.post(f"/duties/{duty}/edit", data=form)).text
    nearest = (await administrator.post(f"/duties/{duty}/edit", data={**form, "applicationId.1": str(ledger)})).text

    assert "Choose the application first" in without
    assert "did you mean" in unescape(nearest)
    assert "*: group Clerks" in nearest


async def test_review_keeps_each_department_that_was_chosen(administrator: httpx2.AsyncClient, db: Db) -> None:
    await an_identity(db, "Ada", "Byron", department="Sales, north")
    form = {"name": "All", "type": "Supervisor", "stage1": "Supervisor", "dueOn": "2099-01-01"}

    made = await administrator.post("/reviews/new", data={**form, "departments": ["Sales, north", "", "Finance"]})

    assert made.status_code == 303, made.text
    page = (await administrator.get(f"{made.headers['location']}/edit")).text
    assert [value for value in re.findall(r'name="departments"[^>]* value="([^"]*)"', page) if value] == [
        "Sales, north",
        "Finance",
    ]
