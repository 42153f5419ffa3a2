import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core import clock
from rolecall.core.db import Db, fetch_rows
from tests.builders import an_access_request
from tests.webhooks.sending import a_hook, deliveries, delivery


@pytest.fixture
async def request_id(client: httpx2.AsyncClient, db: Db) -> UUID:
    await a_hook(client, "http://127.0.0.1:9/hook")
    return await an_access_request(db)


@pytest.fixture
async def path(client: httpx2.AsyncClient, request_id: UUID) -> str:
    (made,) = await deliveries(client, accessRequestId=str(request_id))
    return str(made["body"]["callback"]).removeprefix("http://rolecall.test")


async def say(client: httpx2.AsyncClient, path: str, content: bytes | str, kind: str = "text/plain") -> httpx2.Response:
    return await client.post(path, content=content, headers={"content-type": kind})


async def responses(client: httpx2.AsyncClient, request_id: UUID) -> list[dict[str, Any]]:
    activity = (await client.get(f"/api/access-requests/{request_id}")).json()["activity"]
    return [entry for entry in activity if entry["action"] == "Webhook Response"]


async def test_callback_text_becomes_an_activity_entry(client: httpx2.AsyncClient, path: str, request_id: UUID) -> None:
    before = (await client.get(f"/api/access-requests/{request_id}")).json()
    token = client.headers.pop("Authorization")

    answer = await say(client, path, "Ticket 4711 opened")

    client.headers["Authorization"] = token
    assert (answer.status_code, answer.content) == (204, b"")
    after = (await client.get(f"/api/access-requests/{request_id}")).json()
    entry = after["activity"].pop()
    assert {key: value for key, value in entry.items() if key != "createdDate"} == {
        "author": "Webhook - Ticketing",
        "action": "Webhook Response",
        "content": "Ticket 4711 opened",
    }
    assert after == before
    shown = await delivery(client, path.rpartition("/")[2])
    assert [callback["content"] for callback in shown["callbacks"]] == ["Ticket 4711 opened"]


async def test_audit_does_not_contain_the_id_that_allows_callbacks(
    client: httpx2.AsyncClient, db: Db, path: str, request_id: UUID
) -> None:
    id = path.rpartition("/")[2]
    (hook,) = (await client.get("/api/webhooks")).json()["items"]
    await say(client, path, "Ticket 4711 opened")
    await client.post(f"/api/webhook-deliveries/{id}/resend")
    test = (await client.post(f"/api/webhooks/{hook['id']}/test")).json()["id"]

    entries = [entry for (entry,) in await fetch_rows(db, "SELECT entry::jsonb FROM audit_events ORDER BY number")]

    assert not any(secret in str(entry) for secret in (id, test) for entry in entries)
    _, callback, resent, tested = (entry for entry in entries if entry["entity"]["id"] == hook["id"])
    said = {"content": "Ticket 4711 opened", "accessRequestId": str(request_id)}
    assert callback["after"] == {"callbacks.1": said}
    assert resent["after"]["resent"]["accessRequestId"] == str(request_id)
    assert list(tested["after"]) == ["testedOn"]


REFUSED = [
    ("application/json", b"{}", 415, "Send the body as text/plain in UTF-8"),
    ("", b"text", 415, "Send the body as text/plain in UTF-8"),
    ("text/plain; charset=utf-16", "text".encode("utf-16"), 415, "Send the body as text/plain in UTF-8"),
    ("text/html", b"<b>", 415, "Send the body as text/plain in UTF-8"),
    ("text/plain", b"\xff\xfe", 400, "Body is not valid UTF-8; encode it as UTF-8"),
    ("text/plain", b"\xed\xa0\x80", 400, "Body is not valid UTF-8; encode it as UTF-8"),
    ("text/plain", b"\xc0\x80", 400, "Body is not valid UTF-8; encode it as UTF-8"),
    ("text/plain", b"", 400, "Body is required"),
    ("text/plain", b" \n\t", 400, "Body is required"),
    ("text/plain", b"a\x00b", 400, "Body must not contain NUL characters"),
    ("text/plain", b"x" * (16 * 1024 + 1), 413, "The body is larger than 16 KiB"),
]


async def test_invalid_callback_is_rejected(client: httpx2.AsyncClient, path: str, request_id: UUID) -> None:
    for kind, content, status, message in REFUSED:
        answer = await say(client, path, content, kind)

        told = answer.json()
        assert answer.status_code == status
        assert [problem["message"] for problem in told.get("errors", [told])] == [message]
    assert await responses(client, request_id) == []


async def test_callback_text_is_stored_unchanged(client: httpx2.AsyncClient, path: str, request_id: UUID) -> None:
    text = "<script>alert('x')</script>\r\n\x1b[31m\x07\x7f\u202eevil\u2066\ufeff \U0001f600 {{ 7*7 }} '; DROP TABLE"

    kinds = ["text/plain", "Text/Plain; charset=UTF-8", 'text/plain;charset="utf-8"']
    for n, kind in enumerate(kinds):
        assert (await say(client, path, f"{n}{text}".encode(), kind)).status_code == 204

    assert [entry["content"] for entry in await responses(client, request_id)] == [f"{n}{text}" for n in range(3)]


async def test_callback_of_the_largest_size_is_accepted(
    client: httpx2.AsyncClient, path: str, request_id: UUID
) -> None:
    text = "é" * (8 * 1024)

    assert (await say(client, path, text.encode())).status_code == 204

    assert [entry["content"] for entry in await responses(client, request_id)] == [text]


async def test_repeated_text_becomes_one_entry(client: httpx2.AsyncClient, path: str, request_id: UUID) -> None:
    answers = [await say(client, path, "done") for _ in range(3)]

    assert {answer.status_code for answer in answers} == {204}
    assert len(await responses(client, request_id)) == 1


async def test_at_most_ten_callbacks_are_accepted(client: httpx2.AsyncClient, path: str, request_id: UUID) -> None:
    answers = await asyncio.gather(*(say(client, path, f"step {n}") for n in range(12)))

    refused = [answer for answer in answers if answer.status_code != 204]
    assert [answer.status_code for answer in refused] == [429, 429]
    assert refused[0].json()["error"] == "rate_limited"
    assert int(refused[0].headers["Retry-After"]) > 0
    kept = [entry["content"] for entry in await responses(client, request_id)]
    assert len(kept) == 10
    assert (await say(client, path, kept[0])).status_code == 204
    assert len(await responses(client, request_id)) == 10


async def test_an_id_that_is_unknown_or_malformed_is_not_found(client: httpx2.AsyncClient) -> None:
    for id in ("00000000-0000-4000-8000-000000000000", "seven", "7" * 36):
        answer = await say(client, f"/webhooks/callback/{id}", "hello")

        assert answer.status_code == 404
        assert (answer.json()["error"], answer.json()["message"]) == ("not_found", f"Delivery with id {id} not found")
    for id in ("%00", "..%2f.."):
        assert (await say(client, f"/webhooks/callback/{id}", "hello")).status_code == 404


async def test_callbacks_are_accepted_for_thirty_days(client: httpx2.AsyncClient, path: str, request_id: UUID) -> None:
    start = clock.now()
    clock.travel_to(start + timedelta(days=30) - timedelta(minutes=1))
    assert (await say(client, path, "in time")).status_code == 204

    clock.travel_to(start + timedelta(days=30, minutes=1))
    answer = await say(client, path, "late")

    assert answer.status_code == 404
    assert answer.json()["message"] == f"Delivery with id {path.rpartition('/')[2]} not found"
    assert len(await responses(client, request_id)) == 1


async def test_callback_accepts_only_post(client: httpx2.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 405
