"""Test the example receiver of the documentation, unchanged."""

import asyncio
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from aiohttp import web

from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from tests.builders import an_access_request
from tests.local_server import local_server
from tests.webhooks.sending import Post, a_hook, deliveries

PAGE = Path(__file__).parents[2] / "docs" / "webhooks.md"


@pytest.fixture
def example() -> str:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(code)


def test_the_example_is_short(example: str) -> None:
    assert len(example.splitlines()) <= 25


@asynccontextmanager
async def served(client: httpx2.AsyncClient) -> AsyncIterator[str]:
    async def forward(request: web.Request) -> web.Response:
        headers = {name: request.headers[name] for name in ("content-type",)}
        answer = await client.post(request.path, content=await request.read(), headers=headers)
        return web.Response(status=answer.status_code, body=answer.content)

    app = web.Application()
    app.router.add_post("/{path:.*}", forward)
    async with local_server(app) as port:
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def running(example: str, secret: str) -> AsyncIterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", example, env={**os.environ, "WEBHOOK_SECRET": secret, "PORT": str(port)},
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(30):
            while not await _answers(port):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        yield port
    finally:
        program.kill()
        await program.wait()


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def test_example_verifies_and_posts_to_the_callback(
    client: httpx2.AsyncClient, db: Db, config: Config, post: Post, example: str
) -> None:
    hook = await a_hook(client, "http://127.0.0.1:9/hook")
    async with served(client) as base_url, running(example, hook["secret"]) as port:
        await client.patch(f"/api/webhooks/{hook['id']}", json={"url": f"http://127.0.0.1:{port}/"})
        await execute(db, "SELECT set_config('rolecall.base_url', %(url)s, false)", url=base_url)
        request = await an_access_request(db)
        await post.deliver()

    (made,) = await deliveries(client)
    assert [(attempt["outcome"], attempt["statusCode"]) for attempt in made["attempts"]] == [("delivered", 204)]
    entry = (await client.get(f"/api/access-requests/{request}")).json()["activity"][-1]
    assert (entry["author"], entry["content"]) == ("Webhook - Ticketing", "Ticket opened for Access Request Created")


async def test_example_rejects_a_signature_of_another_secret(
    client: httpx2.AsyncClient, db: Db, post: Post, example: str
) -> None:
    hook = await a_hook(client, "http://127.0.0.1:9/hook")
    other = await a_hook(client, "http://127.0.0.1:9/hook", name="Other", enabled=False)
    async with running(example, other["secret"]) as port:
        await client.patch(f"/api/webhooks/{hook['id']}", json={"url": f"http://127.0.0.1:{port}/"})
        await an_access_request(db)
        await post.deliver()

    (made,) = await deliveries(client)
    assert [(attempt["outcome"], attempt["statusCode"]) for attempt in made["attempts"]] == [("status", 401)]
