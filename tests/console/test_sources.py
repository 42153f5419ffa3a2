"""The screen of a live source: save it, test the connection, see its state, remove it."""

import json
from collections.abc import AsyncIterator
from html import unescape
from uuid import UUID

import httpx2
import pytest
from aiohttp import web

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from tests.builders import an_application
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
    assert "Test connection" not in empty


async def test_saved_source_is_tested_and_shown_as_understood(
    administrator: httpx2.AsyncClient, application: UUID, server: RestServer
) -> None:
    saved = await save(administrator, application, server.url, authentication="Bearer", secret="s3cret")
    assert saved.status_code == 303, saved.text

    page = (await administrator.post(f"/applications/{application}/source/test")).text

    assert "Works" in page
    assert "3 records were read" in page
    assert "user2@example.com" in page
    assert "0 days old" in page
    assert "s3cret" not in page
    assert server.headers[0]["Authorization"] == "Bearer s3cret"


async def test_failure_is_shown_in_words_and_escaped(
    administrator: httpx2.AsyncClient, application: UUID, server: RestServer
) -> None:
    await save(administrator, application, server.url)
    server.before = lambda _, __: web.json_response({"<b>people</b>": []})

    page = (await administrator.post(f"/applications/{application}/source/test")).text

    assert "Fails" in page
    assert "the answer has <b>people</b>" in unescape(page)
    assert "<b>people</b>" not in page


async def test_problems_stand_beside_their_fields(administrator: httpx2.AsyncClient, application: UUID) -> None:
    unlisted = await save(administrator, application, "https://elsewhere.example.com/")
    broken = await save(administrator, application, "http://127.0.0.1:9/", contents="{not json")
    unknown = await save(administrator, application, "http://127.0.0.1:9/", contents='{"Users": {"query": "x"}}')

    assert "elsewhere.example.com is not in ROLECALL_SOURCE_HOSTS" in unlisted.text
    assert 'id="url-problem"' in unlisted.text
    assert "Contents must be a JSON object" in broken.text
    assert "Users.query: REST does not use query" in unknown.text
    assert (unlisted.status_code, broken.status_code, unknown.status_code) == (400, 400, 400)


async def test_source_is_removed(administrator: httpx2.AsyncClient, application: UUID, db: Db) -> None:
    await save(administrator, application, "http://127.0.0.1:9/")
    page = (await administrator.get(f"/applications/{application}")).text
    assert "Run import now" in page

    removed = await administrator.post(f"/applications/{application}/source/remove")

    assert removed.status_code == 303
    assert await fetch_value(db, "SELECT count(*) FROM sources") == 0


async def test_push_shows_its_address_tokens_and_counts(
    administrator: httpx2.AsyncClient, anonymous: httpx2.AsyncClient, application: UUID
) -> None:
    form = {"kind": "SCIM Push", "url": "", "contents": '{"Users": {"path": "Users"}}', "timeoutSeconds": "60"}
    saved = await administrator.post(f"/applications/{application}/source", data=form)
    assert saved.status_code == 303, saved.text
    here = f"/applications/{application}/source"
    empty = (await administrator.get(here)).text
    assert "/scim/v2</code>" in empty
    assert "Nothing was pushed yet" in empty

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
