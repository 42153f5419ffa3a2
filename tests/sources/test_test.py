"""Test the connection test of a source: the first records, the rows read from them, and problems."""

from collections.abc import AsyncIterator

import httpx2
from aiohttp import web

from rolecall.core.caller import Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from tests.builders import a_token
from tests.sources.rest_server import CONTENTS, RestServer
from tests.sources.sourcing import Sourcing, a_sourced_application


async def test_saved_source_shows_the_first_rows_that_an_import_would_read(
    sourcing: Sourcing, server: RestServer
) -> None:
    await sourcing.put(server.url, CONTENTS["Page"])

    result = await sourcing.test()

    assert result["isWorking"] is True
    assert result["problem"] is None
    (users,) = result["contents"]
    assert (users["fileGroup"], users["found"], users["total"], users["isComplete"]) == ("Users", 25, 25, True)
    assert users["fields"] == ["id", "Username", "Name", "Active", "contact.mail"]
    (understood,) = users["understood"]
    assert understood["content"] == "users"
    assert understood["rows"][0]["username"] == "user0"
    assert understood["rows"][0]["email"] == "user0@example.com"


async def test_only_the_first_records_are_read(sourcing: Sourcing, server: RestServer) -> None:
    server.records = server.records * 1
    server.records += [{**server.records[0], "id": f"n{n}", "Username": f"n{n}"} for n in range(500)]
    await sourcing.put(server.url, CONTENTS["Cursor"])

    (users,) = (await sourcing.test())["contents"]

    assert (users["found"], users["total"], users["isComplete"]) == (100, None, False)
    assert len(server.asked) == 10


async def test_draft_is_tested_without_being_saved(sourcing: Sourcing, server: RestServer, db: Db) -> None:
    source = {"kind": "REST", "url": server.url, "contents": {"Users": CONTENTS["None"]}}

    result = await sourcing.test({"source": {**source, "authentication": "Bearer", "secret": "draft"}})

    assert result["isWorking"] is True
    assert server.headers[0]["Authorization"] == "Bearer draft"
    assert await fetch_value(db, "SELECT count(*) FROM sources") == 0
    assert (await sourcing.client.post(f"{sourcing.path}/test")).status_code == 404


async def test_token_that_is_revoked_while_the_body_arrives_contacts_no_source(
    sourcing: Sourcing, server: RestServer, db: Db
) -> None:
    await sourcing.put(server.url, CONTENTS["None"])
    token = await a_token(db, scopes=[Scope.CONFIG_MANAGE])

    async def body() -> AsyncIterator[bytes]:
        yield b"{"
        await execute(db, "UPDATE tokens SET revoked_at = now() WHERE id = %(id)s", id=token.id)
        yield b"}"

    headers = {"Authorization": f"Bearer {token.secret}", "Content-Type": "application/json"}
    answer = await sourcing.client.post(f"{sourcing.path}/test", content=body(), headers=headers)

    assert answer.status_code == 401
    assert server.asked == []


async def test_invalid_draft_is_refused(sourcing: Sourcing) -> None:
    answer = await sourcing.client.post(f"{sourcing.path}/test", json={"source": {"kind": "REST", "contents": {}}})

    assert answer.status_code == 400
    assert {problem["field"] for problem in answer.json()["errors"]} == {"url", "contents"}


async def test_draft_that_is_not_an_object_is_refused(sourcing: Sourcing) -> None:
    answer = await sourcing.client.post(f"{sourcing.path}/test", json={"source": "REST"})

    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"field": "source", "message": "Source must be an object"}]


async def test_failed_test_is_reported_with_its_reason(sourcing: Sourcing, server: RestServer) -> None:
    await sourcing.put(server.url, CONTENTS["Cursor"])
    server.before = lambda server, _: web.Response(status=401) if len(server.asked) > 1 else None

    result = await sourcing.test()

    assert result["isWorking"] is False
    (users,) = result["contents"]
    assert (users["found"], users["understood"]) == (10, [])
    assert "refuses the credentials (401)" in users["problem"]


async def test_unreachable_server_is_reported(sourcing: Sourcing) -> None:
    await sourcing.put("http://127.0.0.1:9/", CONTENTS["None"])

    result = await sourcing.test()

    assert "127.0.0.1 cannot be reached" in result["contents"][0]["problem"]


async def test_wrong_column_mapping_is_reported(
    client: httpx2.AsyncClient, db: Db, config: Config, server: RestServer
) -> None:
    connector = {"name": "Live", "files": [{"name": "Users", "content": "users", "columns": {"login": "Username"}}]}
    sourcing = await a_sourced_application(client, db, config, connector)
    server.records = [{"id": "1", "mail": "ada@example.com"}]
    await sourcing.put(server.url, CONTENTS["None"])

    (users,) = (await sourcing.test())["contents"]

    assert "Username" in users["understood"][0]["problem"]


async def test_missing_secret_is_reported_without_connecting(sourcing: Sourcing, server: RestServer) -> None:
    await sourcing.put(server.url, CONTENTS["None"], authentication="Bearer", secretRef="sealed")

    result = await sourcing.test()

    assert "no secret is stored" in result["problem"]
    assert server.asked == []
