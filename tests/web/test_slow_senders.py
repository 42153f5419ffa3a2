import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from rolecall.web import bodies


async def half(first: bytes) -> AsyncIterator[bytes]:
    yield first
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("path", "media_type", "first"),
    [
        ("/api/tokens", "application/json", b'{"name": "'),
        ("/api/application-imports/upload", "multipart/form-data; boundary=x", b"--x\r\n"),
        ("/webhooks/callback/0198f7a0-0000-4000-8000-000000000000", "text/plain", b"do"),
    ],
)
async def test_body_that_arrives_too_slowly_is_rejected(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, path: str, media_type: str, first: bytes
) -> None:
    monkeypatch.setattr(bodies, "PATIENCE_SECONDS", 0.05)

    answer = await client.post(path, content=half(first), headers={"Content-Type": media_type})

    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"field": "body", "message": "Body arrived too slowly; send it again over a faster connection, or send less"}
    ]


async def test_time_limit_grows_with_the_received_bytes(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "PATIENCE_SECONDS", 1)
    monkeypatch.setattr(bodies, "SLOWEST_BYTES_A_SECOND", 1)

    async def steady() -> AsyncIterator[bytes]:
        yield b'{"name": "steady", '
        await asyncio.sleep(1.1)
        yield b'"scopes": ["identities:read"]}'

    answer = await client.post("/api/tokens", content=steady(), headers={"Content-Type": "application/json"})

    assert answer.status_code == 201
