import base64
from typing import Any

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows
from rolecall.webhooks.model import HookEvent
from tests.builders import a_token, an_application
from tests.webhooks.sending import EVENTS, a_hook

URL = "http://127.0.0.1:9/hook"


async def problems(client: httpx2.AsyncClient, **fields: Any) -> list[tuple[str, str]]:
    body = {"name": "Ticketing", "url": URL, "events": EVENTS, **fields}
    answer = await client.post("/api/webhooks", json=body)
    assert answer.status_code == 400, answer.text
    return [(problem["field"], problem["message"]) for problem in answer.json()["errors"]]


async def test_secret_is_shown_only_at_creation(client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db)
    hook = await a_hook(client, URL, applicationId=str(application), events=["accessrequestcanceled", EVENTS[0]])

    assert list(hook) == [
        "id", "kind", "name", "url", "events", "applicationId", "enabled", "disabledReason", "failingSince",
        "createdDate", "previousSecretExpiresOn", "secret",
    ]  # fmt: skip
    assert hook["secret"].startswith("whsec_")
    assert hook["events"] == ["AccessRequestCreated", "AccessRequestCanceled"]
    assert hook["applicationId"] == str(application)
    assert hook["enabled"] is True
    shown = (await client.get(f"/api/webhooks/{hook['id']}")).json()
    assert shown == {name: value for name, value in hook.items() if name != "secret"}


async def test_secret_is_not_stored_in_plain_text(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    answer = await client.post(
        "/api/webhooks",
        json={"name": "Ticketing", "url": URL, "events": EVENTS},
        headers={"Idempotency-Key": "once"},
    )
    secret = answer.json()["secret"].removeprefix("whsec_")

    tables = [name for (name,) in await fetch_rows(db, "SELECT relname FROM pg_stat_user_tables")]
    rows = [str(row) for table in tables for row in await fetch_rows(db, f"SELECT t::text FROM {table} t")]
    assert rows
    assert not [row for row in rows if secret in row or base64.b64decode(secret).hex() in row]


async def test_all_validation_errors_are_reported_at_once(client: httpx2.AsyncClient) -> None:
    missing = "00000000-0000-0000-0000-000000000001"
    answer = await client.post(
        "/api/webhooks",
        json={"name": " ", "url": "http://10.0.0.1/", "events": ["Other"], "applicationId": missing, "enabled": "soon"},
    )

    assert sorted((p["field"], p["message"]) for p in answer.json()["errors"]) == [
        ("applicationId", f"Application with id {missing} not found"),
        ("enabled", "Enabled must be true or false"),
        ("events.0", f"Events must be one of {', '.join(HookEvent)}"),
        ("name", "Name is required"),
        ("url", "URL must not point to a private, local or other special address"),
    ]


async def test_missing_required_fields_are_reported(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/webhooks", json={})

    assert [(p["field"], p["message"]) for p in answer.json()["errors"]] == [
        ("name", "Name is required"),
        ("url", "URL is required"),
        ("events", "Events is required"),
    ]


async def test_unusable_url_is_rejected(client: httpx2.AsyncClient) -> None:
    for url, message in [
        ("hooks.example.com", "URL must be an absolute https URL"),
        ("ftp://hooks.example.com", "URL must be an absolute https URL"),
        ("javascript:alert(1)", "URL must be an absolute https URL"),
        ("https://", "URL must be an absolute https URL"),
        ("https://hooks.example.com:0/", "URL must be an absolute https URL"),
        ("https://hooks.example.com:99999/", "URL must be an absolute https URL"),
        ("https://hooks.example.com\\@127.0.0.1/", "URL must be an absolute https URL"),
        ("https://hooks.exam ple.com/", "URL must be an absolute https URL"),
        ("https://ada:secret@hooks.example.com/", "URL must not contain a user name or password"),
        ("https://ada@hooks.example.com/", "URL must not contain a user name or password"),
        ("http://93.184.216.34/", "URL must start with https://"),
        ("https://a/" + "a" * 2048, "URL must be at most 2048 characters"),
    ]:
        assert await problems(client, url=url) == [("url", message)], url


async def test_webhook_names_are_unique(client: httpx2.AsyncClient) -> None:
    hook = await a_hook(client, URL)

    assert await problems(client) == [("name", "A webhook named Ticketing already exists; choose another name")]
    await client.delete(f"/api/webhooks/{hook['id']}")
    await a_hook(client, URL)


async def test_hooks_are_listed_by_name(client: httpx2.AsyncClient) -> None:
    for name in ("b", "a", "C"):
        await a_hook(client, URL, name=name)

    page = (await client.get("/api/webhooks")).json()

    assert [hook["name"] for hook in page["items"]] == ["a", "b", "C"]
    assert (page["totalCount"], page["totalPages"]) == (3, 1)
    assert "secret" not in page["items"][0]


async def test_managing_webhooks_needs_the_scope(client: httpx2.AsyncClient, db: Db) -> None:
    hook = await a_hook(client, URL)
    client.headers["Authorization"] = f"Bearer {(await a_token(db, scopes=['identities:read'])).secret}"

    answers = [
        await client.get("/api/webhooks"),
        await client.post("/api/webhooks", json={}),
        await client.get(f"/api/webhooks/{hook['id']}"),
        await client.get("/api/webhook-deliveries"),
    ]

    assert {answer.status_code for answer in answers} == {403}


@pytest.mark.parametrize("id", ["00000000-0000-0000-0000-000000000000", "seven"])
async def test_an_unknown_hook_is_not_found(client: httpx2.AsyncClient, id: str) -> None:
    answers = [
        await client.get(f"/api/webhooks/{id}"),
        await client.patch(f"/api/webhooks/{id}", json={}),
        await client.delete(f"/api/webhooks/{id}"),
        await client.post(f"/api/webhooks/{id}/test"),
        await client.post(f"/api/webhooks/{id}/rotate-secret"),
        await client.post(f"/api/webhooks/{id}/recover", json={"since": "2026-01-01"}),
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert {answer.json()["message"] for answer in answers} == {f"Webhook with id {id} not found"}
