"""Test the screen of a live source: save it, test the connection, show its state, remove it."""

import json
from collections.abc import AsyncIterator
from html import unescape
from uuid import UUID

import httpx2
import pytest
from aiohttp import web

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from tests.builders import an_application, an_identity
from tests.sources.rest_server import CONTENTS, RestServer, serving
from tests.sources.sourcing import CONNECTOR, allowing


@pytest.fixture
def config(config: Config) -> Config:
    return allowing(config)


@pytest.fixture
async def server() -> AsyncIterator[RestServer]:
    async with serving(3) as server:
        yield server


@pytest.fixture
async def application(db: Db) -> UUID:
    return await an_application(db, "Payroll", connector=CONNECTOR, schedule={"cron": "0 6 * * *"})


async def save(browser: httpx2.AsyncClient, id: UUID, url: str, **fields: str) -> httpx2.Response:
    contents = json.dumps({"Users": CONTENTS["None"]})
    form = {"kind": "REST", "url": url, "contents": contents, "timeoutSeconds": "5", **fields}
    return await browser.post(f"/applications/{id}/source", data=form)


async def test_application_links_to_its_source(administrator: httpx2.AsyncClient, application: UUID) -> None:
    page = (await administrator.get(f"/applications/{application}")).text
    empty = (await administrator.get(f"/applications/{application}/source")).text

    assert f'href="/applications/{application}/source"' in page
    assert "This application has no live source" in empty
    assert "Fetch now" not in empty


async def test_saved_source_is_tested_and_its_first_rows_are_shown(
    administrator: httpx2.AsyncClient, application: UUID, server: RestServer
) -> None:
    saved = await save(administrator, application, server.url, authentication="Bearer", secret="s3cret")
    assert saved.status_code == 303, saved.text

    page = (await administrator.post(f"/applications/{application}/source/test")).text

    assert "Works" in page
    assert "3 records were read" in page
    assert "user2@example.com" in page
    assert "set today" in page
    assert "s3cret" not in page
    assert server.headers[0]["Authorization"] == "Bearer s3cret"


async def test_person_who_loses_the_role_while_the_form_arrives_tests_no_source(
    administrator: httpx2.AsyncClient, application: UUID, server: RestServer, db: Db
) -> None:
    await save(administrator, application, server.url)

    async def form() -> AsyncIterator[bytes]:
        yield b"a="
        await execute(db, "UPDATE console_roles SET role = 'Auditor'")
        yield b"b"

    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await administrator.post(f"/applications/{application}/source/test", content=form(), headers=headers)

    assert answer.status_code == 403
    assert server.asked == []


async def test_source_in_the_form_can_be_tested_without_saving(
    administrator: httpx2.AsyncClient, application: UUID, server: RestServer, db: Db
) -> None:
    contents = json.dumps({"Users": CONTENTS["None"]})
    form = {"kind": "REST", "url": server.url, "contents": contents, "authentication": "None", "timeoutSeconds": "5"}
    new = await administrator.post(f"/applications/{application}/source/test", data=form)
    await save(administrator, application, "http://127.0.0.1:9/")
    other = await administrator.post(f"/applications/{application}/source/test", data=form)
    wrong = await administrator.post(f"/applications/{application}/source/test", data={**form, "url": "x"})

    assert "Works" in new.text
    assert "Works" in other.text
    assert "which are not saved yet" in other.text
    assert f'value="{server.url}"' in other.text
    assert 'id="url-problem"' in wrong.text
    assert await fetch_value(db, "SELECT definition ->> 'url' FROM sources") == "http://127.0.0.1:9/"


async def test_notice_says_that_the_secret_no_longer_applies(
    administrator: httpx2.AsyncClient, application: UUID
) -> None:
    await save(administrator, application, "http://127.0.0.1:9/", authentication="Bearer", secret="s3cret")
    await save(administrator, application, "http://127.0.0.1:8/", authentication="Bearer", secretRef="sealed")

    page = (await administrator.get(f"/applications/{application}/source")).text

    assert 'class="notice warn"' in page
    assert "No secret is stored for this URL and login: enter it under New secret" in page


async def test_fields_of_other_kinds_of_sources_are_not_saved(
    administrator: httpx2.AsyncClient, application: UUID, db: Db
) -> None:
    contents = '{"Users": {"path": "ou=people"}}'
    fields = {"kind": "LDAP", "authentication": "Bearer", "header": "X-Key", "headers": '{"a": "b"}'}

    saved = await save(administrator, application, "ldap://127.0.0.1:9", contents=contents, **fields)

    assert saved.status_code == 303, saved.text
    assert await fetch_value(db, "SELECT definition -> 'header' FROM sources") is None


async def test_live_system_is_connected_and_its_columns_are_mapped(administrator: httpx2.AsyncClient, db: Db) -> None:
    named = {"name": "Wiki", "system": "SCIM 2.0 server"}
    nameless = await administrator.post("/applications/connect", data={**named, "name": ""})
    connected = await administrator.post("/applications/connect", data=named)
    source = unescape((await administrator.get(connected.headers["location"])).text)
    id = connected.headers["location"].split("/")[2]
    columns = (await administrator.get(f"/applications/{id}/columns")).text
    form = {"column.0.0.1": "login", "field.0.0.1": "Username", "column.1.0.1": "x", "field.1.0.1": "Nonsense"}
    wrong = await administrator.post(f"/applications/{id}/columns", data=form)
    saved = await administrator.post(f"/applications/{id}/columns", data={**form, "field.1.0.1": "Group"})

    assert nameless.status_code == 400
    assert connected.headers["location"].endswith("/source?kind=SCIM")
    assert '"each": "members"' in source
    assert 'value="members.display"' in columns
    assert wrong.status_code == 400
    assert 'value="login"' in wrong.text
    assert saved.status_code == 303
    stored = await fetch_rows(db, "SELECT columns, shape -> 'ignore' -> 0 FROM file_groups ORDER BY position")
    assert stored == [({"login": "Username"}, "id"), ({"x": "Group"}, "id")]


async def test_database_error_is_shown_as_one_readable_line(
    administrator: httpx2.AsyncClient, application: UUID
) -> None:
    contents = json.dumps({"Users": {"query": "SELECT 1"}})
    form = {"kind": "SQL", "url": "postgresql://127.0.0.1:9/hr?sslmode=disable", "contents": contents}

    page = await administrator.post(f"/applications/{application}/source/test", data={**form, "timeoutSeconds": "5"})

    assert "the database says" in page.text
    assert r"\n" not in page.text
    assert "For example, postgresql://db.example.com/hr for SQL" in page.text


async def test_failure_is_explained_and_escaped(
    administrator: httpx2.AsyncClient, application: UUID, server: RestServer
) -> None:
    await save(administrator, application, server.url)
    server.before = lambda _, __: web.json_response({"<b>people</b>": []})

    page = (await administrator.post(f"/applications/{application}/source/test")).text

    assert "Fails" in page
    assert "the response has <b>people</b>" in unescape(page)
    assert "<b>people</b>" not in page


async def test_source_form_shows_problems_next_to_their_fields(
    administrator: httpx2.AsyncClient, application: UUID
) -> None:
    unlisted = await save(administrator, application, "https://elsewhere.example.com/")
    broken = await save(administrator, application, "http://127.0.0.1:9/", contents="{not json")
    unknown = await save(administrator, application, "http://127.0.0.1:9/", contents='{"Users": {"query": "x"}}')

    assert "elsewhere.example.com is not in ROLECALL_SOURCE_HOSTS" in unlisted.text
    assert 'id="url-problem"' in unlisted.text
    assert "Contents must be a JSON object" in broken.text
    assert "Users.query: REST does not use query" in unknown.text
    assert (unlisted.status_code, broken.status_code, unknown.status_code) == (400, 400, 400)


async def test_source_can_be_removed(administrator: httpx2.AsyncClient, application: UUID, db: Db) -> None:
    await save(administrator, application, "http://127.0.0.1:9/")
    page = (await administrator.get(f"/applications/{application}")).text
    assert "Fetch now" in page

    form = (await administrator.get(f"/applications/{application}/source")).text
    removed = await administrator.post(f"/applications/{application}/source/remove")

    assert "Its address and its stored secret are deleted" in form
    assert removed.status_code == 303
    assert await fetch_value(db, "SELECT count(*) FROM sources") == 0


async def test_push_page_shows_its_url_tokens_and_counts(
    administrator: httpx2.AsyncClient, anonymous: httpx2.AsyncClient, application: UUID
) -> None:
    form = {"kind": "SCIM Push", "url": "", "contents": '{"Users": {"path": "Users"}}', "timeoutSeconds": "60"}
    saved = await administrator.post(f"/applications/{application}/source", data=form)
    assert saved.status_code == 303, saved.text
    here = f"/applications/{application}/source"
    empty = (await administrator.get(here)).text
    assert "/scim/v2</code>" in empty
    assert "Nothing has been pushed yet" in empty

    refused = await administrator.post(f"{here}/tokens", data={"name": "", "expiresInDays": "soon"})
    made = await administrator.post(f"{here}/tokens", data={"name": "Okta <b>", "expiresInDays": "30"})

    assert refused.status_code == 400
    assert all(f'id="{field}-problem"' in refused.text for field in ("name", "expiresInDays"))
    secret = made.text.partition('<code id="secret">')[2].partition("<")[0]
    users = [{"userName": "ada"}, {"userName": "bob", "active": False}]
    for user in users:
        headers = {"Authorization": f"Bearer {secret}"}
        assert (await anonymous.post("/scim/v2/Users", json=user, headers=headers)).status_code == 201
    page = (await administrator.get(here)).text
    assert "2 users, 1 of them active, and 0 groups" in page
    assert "Okta &lt;b&gt;" in page
    assert secret not in page
    revoke = page.partition('action="/scim-tokens/')[2].partition('"')[0]
    assert (await administrator.post(f"/scim-tokens/{revoke}")).status_code == 303
    assert (await anonymous.get("/scim/v2/Users", headers=headers)).status_code == 401


async def test_push_page_and_home_name_tokens_of_people_who_left(
    administrator: httpx2.AsyncClient, db: Db, application: UUID
) -> None:
    form = {"kind": "SCIM Push", "url": "", "contents": '{"Users": {"path": "Users"}}', "timeoutSeconds": "60"}
    here = f"/applications/{application}/source"
    await administrator.post(here, data=form)
    for name, days in (("Okta", "30"), ("Old", "30"), ("Entra", "30")):
        assert (await administrator.post(f"{here}/tokens", data={"name": name, "expiresInDays": days})).is_success
    fine, home = (await administrator.get(here)).text, (await administrator.get("/")).text
    grace = await an_identity(db, "Grace", "Hopper")
    await execute(db, "UPDATE scim_tokens SET owner_id = %(id)s WHERE name <> 'Entra'", id=grace)
    await execute(db, "UPDATE scim_tokens SET expires_at = now() WHERE name = 'Old'")
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=grace)

    page = (await administrator.get(here)).text

    assert ">Ada Admin</a>" in page
    assert page.count("Grace Hopper left, and may still know the secret. Create another token") == 1
    assert "may still know the secret" not in fine
    label = "</strong>SCIM tokens of people who left: Payroll</a>"
    assert label not in home
    assert f'<a href="{here}" class="alarming"><strong>1{label}' in (await administrator.get("/")).text
