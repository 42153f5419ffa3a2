import asyncio
import random
import re

import httpx2
import msgspec
import psycopg
import pytest

from rolecall.core import db as db_module
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from tests.asgi import serving
from tests.builders import an_access_request

TOO_MUCH = b'{"name": "' + b"x" * 2 * 1024 * 1024 + b'"}'
DEEP = '{"name": ' + "[" * 500 + "]" * 500 + "}"


def is_error(answer: httpx2.Response, status: int, code: str, message: str) -> bool:
    body = answer.json()
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert re.fullmatch("[0-9a-f]{32}", body["correlationId"])
    return bool(body == {"error": code, "message": message, "correlationId": answer.headers["x-correlation-id"]})


@pytest.mark.parametrize("path", ["/api", "/api/nothing", "/api/identities/a/b", "/api/identitiesx", "/%2e%2e/etc"])
async def test_unknown_route_gets_the_standard_error_body(client: httpx2.AsyncClient, path: str) -> None:
    assert is_error(await client.get(path), 404, "not_found", "No such route")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/api/identities", {"GET", "HEAD", "OPTIONS"}),
        ("POST", "/api/identities", {"GET", "HEAD", "OPTIONS"}),
        ("PUT", "/api/tokens", {"GET", "HEAD", "OPTIONS", "POST"}),
        ("GET", "/api/tokens/1", {"DELETE", "OPTIONS"}),
        ("TRACE", "/api/settings", {"GET", "HEAD", "OPTIONS", "PATCH"}),
    ],
)
async def test_unsupported_method_is_405_with_the_allowed_methods(
    client: httpx2.AsyncClient, method: str, path: str, allowed: set[str]
) -> None:
    answer = await client.request(method, path)

    assert is_error(answer, 405, "method_not_allowed", "Method not allowed")
    assert set(answer.headers["allow"].split(", ")) == allowed


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", "multipart/form-data; boundary=x", "json", ""])
async def test_media_type_other_than_json_is_415(client: httpx2.AsyncClient, media_type: str) -> None:
    answer = await client.post("/api/tokens", content=b'{"name": "x"}', headers={"Content-Type": media_type})

    assert is_error(answer, 415, "unsupported_media_type", "Send the body as application/json")


async def test_the_json_media_type_may_have_parameters_and_any_case(client: httpx2.AsyncClient) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}

    assert (await client.post("/api/tokens", content=b'{"name": "x"}', headers=headers)).status_code == 201


async def test_a_body_over_the_limit_is_413(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/tokens", content=TOO_MUCH, headers={"Content-Type": "application/json"})

    assert is_error(answer, 413, "payload_too_large", "The body is larger than 1 MiB")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "Body is not valid JSON"),
        (b"{", "Body is not valid JSON"),
        (b"{'name': 'x'}", "Body is not valid JSON"),
        (b'{"name": "\xff"}', "Body is not valid JSON"),
        (b'{"name": "\\ud800"}', "Body is not valid JSON"),
        (b'{"name": "\\ud800x"}', "Body is not valid JSON"),
        (b'{"name": NaN}', "Body is not valid JSON"),
        (b"[" * 100_000, "Body must be nested at most 64 levels deep"),
        (b"[]", "Body must be a JSON object"),
        (b"null", "Body must be a JSON object"),
        (b'"name"', "Body must be a JSON object"),
        (b"7", "Body must be a JSON object"),
        (DEEP.encode(), "Body must be nested at most 64 levels deep"),
    ],
)
async def test_body_that_is_not_a_json_object_is_reported_once_on_body(
    client: httpx2.AsyncClient, body: bytes, message: str
) -> None:
    answer = await client.post("/api/tokens", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 400
    assert answer.json() == {
        "error": "validation_error",
        "message": "One or more validation errors occurred",
        "correlationId": answer.headers["x-correlation-id"],
        "errors": [{"field": "body", "message": message}],
    }


async def test_every_validation_error_has_its_field_path(client: httpx2.AsyncClient) -> None:
    body = {
        "approvalLeadDays": 100,
        "customFields": [{"number": 10}, {"number": 1, "enabled": "yes", "label": "x" * 101}, {"label": "x\x00"}, 5],
    }

    answer = await client.patch("/api/settings", json=body)

    assert answer.status_code == 400
    assert {entry["field"]: entry["message"] for entry in answer.json()["errors"]} == {
        "approvalLeadDays": "Approval lead days must be at most 99",
        "customFields.0.number": "Number must be at most 9",
        "customFields.1.enabled": "Enabled must be true or false",
        "customFields.1.label": "Label must be at most 100 characters",
        "customFields.2.number": "Number is required",
        "customFields.2.label": "Label must not contain NUL characters",
        "customFields.3": "Custom fields must be an object",
    }
    assert len(answer.json()["errors"]) == 7


@pytest.mark.parametrize("headers", [{"Host": "a<b>"}, {"Host": "a b"}, {"Content-Length": "many"}])
async def test_invalid_header_is_rejected(client: httpx2.AsyncClient, headers: dict[str, str]) -> None:
    json = {"Content-Type": "application/json"}
    answer = await client.post("/api/tokens", content=b"{}", headers={**json, **headers})

    assert answer.status_code == 400
    said = "Request cannot be read; check its headers, such as Host and Content-Length, and send it again"
    assert answer.json()["errors"] == [{"field": "request", "message": said}]


async def test_invalid_host_on_unknown_route_is_not_a_server_error(client: httpx2.AsyncClient) -> None:
    for host in ("x: y", "a<b>", "[", "x" * 5000):
        for accept in ("*/*", "text/html"):
            answer = await client.get("/nowhere", headers={"Host": host, "Accept": accept})

            assert answer.status_code in (400, 404)


async def test_server_error_reveals_no_internals(client: httpx2.AsyncClient, db: Db) -> None:
    await db.execute("ALTER TABLE identities RENAME COLUMN title TO hidden")
    try:
        answer = await client.get("/api/identities")
    finally:
        await db.execute("ALTER TABLE identities RENAME COLUMN hidden TO title")

    assert is_error(answer, 500, "server_error", "Something went wrong")


async def test_unreachable_database_is_503(config: Config, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db_module, "PATIENCE_SECONDS", 0.2)
    nowhere = msgspec.structs.replace(config, database_url="postgresql://127.0.0.1:1/nowhere")
    async with serving(nowhere) as client:
        answer = await client.get("/api/identities", headers={"Authorization": f"Bearer {token}"})

    assert is_error(answer, 503, "unavailable", "The database is unreachable")
    assert answer.headers["retry-after"] == "5"


async def test_request_that_is_rolled_back_after_a_deadlock_can_be_repeated(
    client: httpx2.AsyncClient, db: Db, clean_database: str
) -> None:
    """The request locks its token and then waits for the record; the other transaction does so the other way round."""
    id = await an_access_request(db)
    path = f"/api/access-requests/{id}/cancel"
    async with await psycopg.AsyncConnection.connect(clean_database, autocommit=True) as other:
        # The request notices the deadlock first, and is rolled back.
        await execute(other, "SET deadlock_timeout = '60s'")
        async with other.transaction():
            await execute(other, "SELECT FROM access_requests FOR UPDATE")
            sending = asyncio.create_task(client.post(path))
            while not await fetch_value(db, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await execute(other, "SELECT FROM tokens FOR UPDATE")
        answer = await sending

    said = "Someone else is changing the same records, so nothing was changed; send the request again"
    assert is_error(answer, 503, "unavailable", said)
    assert answer.headers["retry-after"] == "1"
    assert (await client.post(path)).json()["status"] == "Canceled"


async def test_name_too_long_for_an_index_is_refused(client: httpx2.AsyncClient) -> None:
    # Use random characters of four bytes each, so that the database cannot compress the names.
    rare = random.Random(1).choices([chr(code) for code in range(0x20000, 0x2A6D0)], k=512)
    names = {"firstName": "".join(rare[:256]), "lastName": "".join(rare[256:])}

    answer = await client.post("/api/personnel-events/onboard", json={"effectiveDate": "2035-01-01", "identity": names})

    assert (answer.status_code, answer.json()["error"]) == (400, "validation_error")
    assert answer.json()["errors"] == [
        {"field": "body", "message": "A name in the body is too long; use a shorter one"}
    ]


async def test_lost_connections_are_replaced(client: httpx2.AsyncClient, db: Db) -> None:
    await client.get("/api/identities")
    await end_other_connections(db)

    assert (await client.get("/api/identities")).status_code == 200


async def end_other_connections(db: Db) -> None:
    others = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()"
    await db.execute(f"{others} AND pid <> pg_backend_pid()")
