"""Submit every form as its page shows it, and test rejected input and concurrent edits."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx2
import msgspec
import pytest

from rolecall.console.forms import problems_by_field
from rolecall.core.config import AllowedHosts, Config
from rolecall.core.db import Db, fetch_value
from rolecall.core.errors import Invalid, Problem
from rolecall.core.roles import Role
from tests.console.company import FILES, Company, a_company
from tests.console.pages import Field, Form, filled, forms_of
from tests.console.test_screens import address, seen_by

IN_A_WEEK = (datetime.now(UTC) + timedelta(days=7)).date().isoformat()
LATER = (datetime.now(UTC) + timedelta(days=14)).date().isoformat()
# The input for each field, by name.
VALUES = {
    "name": "Something new", "reason": "Because", "content": "A comment", "comment": "A reason",
    "url": "https://hooks.example.com/new", "identityId": "Ada Lovelace", "firstName": "Mary", "lastName": "Shelley",
    "until": IN_A_WEEK, "since": "2026-01-01", "effectiveDate": IN_A_WEEK, "startDate": IN_A_WEEK, "endDate": LATER,
    "returnDate": IN_A_WEEK, "password": "a long enough secret", "control": "A monthly review",
    "controlOwnerId": "Grace Hopper", "standInId": "Grace Hopper", "endsOn": LATER,
}  # fmt: skip
WHAT_FOR = ("type", "response", "never", "archived")
# Input for particular forms, by URL. Nobody can review their own account, so the item about Ada Lovelace is reassigned
# to Grace, and then to the administrator.
CHOSEN: dict[str, dict[str, str]] = {
    "/settings/policy#policy": {"responder": "Identity"},
    "/review-items/{id}/reassign": {"identityId": "Grace Hopper"},
    "/reviews/{id}/reassign": {"identityId": "ada.admin@example.com"},
    "/applications/{id}/template": {"template": "Something new"},
    "/applications/connect": {"name": "A live system"},
    "/drafts/new": {"name": "Something from a file"},
}
# Forms that must be refused, with the message. One form cancels the review before the other forms of its pages are
# tested.
REFUSED = {
    "/reviews/{id}/submit": "The review is Canceled; decisions can be made only while it is Open",
}
GUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MORE = [
    *(f"/applications/{{id:str}}?tab={tab}" for tab in ("accounts", "groups", "permissions", "imports", "connector")),
    *(f"/events/new?type={type}" for type in ("Onboard", "RoleTransition", "Absence", "Offboard")),
    "/requests?asks=Approve",
]


@pytest.fixture
def config(config: Config) -> Config:
    """Allow live sources on the host that the forms contain."""
    return msgspec.structs.replace(config, source_hosts=AllowedHosts(frozenset({"hooks.example.com"})))


@pytest.fixture
async def company(administrator: httpx2.AsyncClient, db: Db, config: Config) -> Company:
    return await a_company(db, config)


async def send(client: httpx2.AsyncClient, form: Form, button: Field | None, **changed: str) -> httpx2.Response:
    data = filled(form, button, VALUES) | changed
    headers = {"Referer": f"{client.base_url}"}
    if form.method == "GET":
        return await client.get(form.action.partition("?")[0], params=data)
    if form.is_upload:
        return await client.post(form.action, data=data, files=[(name, _file(form, name)) for name in form.files])
    return await client.post(form.action, data=data, headers=headers)


def _file(form: Form, name: str) -> tuple[str, bytes]:
    content = list(FILES.values())[form.files.index(name)]
    return f"{name}.csv", content.encode()


async def complaint(db: Db) -> str | None:
    """Return the error that the next page would show."""
    found: str | None = await fetch_value(db, "SELECT max(notice) FROM console_sessions WHERE notice_kind = 'bad'")
    return found


@pytest.mark.timeout(600)
async def test_every_form_can_be_submitted(administrator: httpx2.AsyncClient, company: Company, db: Db) -> None:
    shown = [address(path, company) for path in [*sorted(seen_by(Role.ADMINISTRATOR)), *MORE] if path != "/sign-in"]
    chosen = CHOSEN | {"/requests/new": {"applicationId": str(company.ids["applications"])}}
    sent, problems, refused = set[tuple[str, ...]](), list[str](), dict[str, str]()
    for url in shown:
        while form := await _next_form(administrator, url, sent):
            for button in form.buttons or [None]:
                path = GUID.sub("{id}", form.action)
                answer = await send(administrator, form, button, **chosen.get(path, {}))
                notice = await complaint(db)
                if notice and notice == REFUSED.get(path):
                    refused[path] = notice
                    continue
                said = notice or re.findall('class="notice bad[^>]*>([^<]*)<|<h1>([^<]*)', answer.text)
                if answer.status_code not in (200, 303) or notice:
                    problems.append(f"{url}: {form.method} {form.action} {answer.status_code} {said}")

    assert not problems, "\n".join(problems)
    assert refused == REFUSED
    assert len(sent) > 40, sorted(sent)


async def _next_form(client: httpx2.AsyncClient, url: str, sent: set[tuple[str, ...]]) -> Form | None:
    """Return the next form of a page to submit, or None. Open the page each time, because a form may change it."""
    page = await client.get(url)
    if page.status_code == 404:
        return None
    assert page.status_code in (200, 303), (url, page.text)
    # A template must not render a macro itself, for example because an imported macro hides a value with the same name.
    assert "&lt;Macro" not in page.text, url
    for form in forms_of(url, page.text):
        # Several forms may have the same URL; the values of the fields in WHAT_FOR tell them apart. Sign-out is tested
        # elsewhere.
        key = (form.method, form.action, *(field.value for field in form.fields if field.name in WHAT_FOR))
        if key not in sent and form.action != "/sign-out" and form.method != "DIALOG":
            sent.add(key)
            return form
    return None


# For each kind of record in the company: the page with its form, and the API call of a concurrent change.
RECORDS = {
    "applications": ("/applications/{}/edit", "PATCH", "/api/applications/{}", {"priority": "Low"}),
    "access-models": ("/access-models/{}/edit", "PATCH", "/api/access-models/{}", {"description": "Meanwhile"}),
    "webhooks": ("/webhooks/{}", "PATCH", "/api/webhooks/{}", {"url": "https://hooks.example.com/meanwhile"}),
    "reports": ("/reports/{}", "PATCH", "/api/reports/{}", {"description": "Meanwhile"}),
    "settings": ("/settings", "PATCH", "/api/settings", {"approvalLeadDays": 21}),
}
TYPED = {"settings": {"label.1": "Typed"}}


async def the_form(client: httpx2.AsyncClient, url: str) -> Form:
    page = await client.get(url)
    return next(form for form in forms_of(url, page.text) if any(field.name == "version" for field in form.fields))


@pytest.mark.parametrize("kind", RECORDS)
async def test_outdated_form_does_not_overwrite_a_newer_change(
    administrator: httpx2.AsyncClient, company: Company, client: httpx2.AsyncClient, db: Db, kind: str
) -> None:
    page, method, path, change = RECORDS[kind]
    id, typed = company.ids.get(kind, ""), TYPED.get(kind, {"name": "Typed"})
    opened = await the_form(administrator, page.format(id))
    answer = await client.request(method, path.format(id), json=change)
    assert answer.status_code == 200, answer.text
    before = await fetch_value(db, "SELECT max(number) FROM audit_events")

    refused = await send(administrator, opened, None, **typed)

    assert refused.status_code == 409
    assert "API Token - tests changed this on <time" in unescape(refused.text)
    assert 'value="Typed"' in refused.text
    assert await fetch_value(db, "SELECT max(number) FROM audit_events") == before
    again = next(form for form in forms_of(page.format(id), refused.text) if filled(form, None, {}).get("version"))
    saved = await send(administrator, again, None)
    assert saved.status_code == 303, saved.text
    assert 'value="Typed"' in (await administrator.get(page.format(id))).text


async def test_rejected_settings_form_keeps_its_input(administrator: httpx2.AsyncClient) -> None:
    form = await the_form(administrator, "/settings")

    refused = await send(administrator, form, None, **{"approvalLeadDays": "-1", "label.1": "Desk"})

    assert refused.status_code == 400
    assert 'value="-1"' in refused.text
    assert 'value="Desk"' in refused.text
    assert 'id="approvalLeadDays-problem"' in refused.text


async def test_rejected_rule_form_keeps_its_input(administrator: httpx2.AsyncClient) -> None:
    rule = {
        "type": "Verify",
        "reason": "Because",
        "responder": "Identity",
        "identityId": "Nobody Here",
        "risks": "High",
    }

    refused = await administrator.post("/settings/policy", data=rule)

    assert refused.status_code == 400
    assert "<option selected>Verify</option>" in refused.text
    assert 'value="Because"' in refused.text
    assert 'name="risks" value="High" checked' in refused.text


async def test_rule_that_changed_meanwhile_is_not_removed(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient
) -> None:
    page = (await administrator.get("/settings")).text
    removal = next(form for form in forms_of("/settings", page) if form.action == "/settings/policy/remove#policy")
    policy = (await client.get("/api/settings")).json()["approvalPolicy"]
    policy[0]["risks"] = ["Critical"]
    await client.patch("/api/settings", json={"approvalPolicy": policy})

    await send(administrator, removal, None)

    assert (await client.get("/api/settings")).json()["approvalPolicy"] == policy
    assert "The approval policy was changed in the meantime" in (await administrator.get("/settings")).text


def test_problem_of_a_form_field_does_not_mention_an_id() -> None:
    error = Invalid(
        Problem("controlOwnerId", "Control owner ID is required"), Problem("employeeId", "Employee ID is required")
    )

    assert problems_by_field(error) == {
        "controlOwnerId": "Control owner is required",
        "employeeId": "Employee ID is required",
    }
