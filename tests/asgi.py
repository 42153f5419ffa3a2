"""Run the service in this process, with its lifespan in its own task, as a server does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from litestar import Litestar

from rolecall.app import build, furnish
from rolecall.core.config import Config


@asynccontextmanager
async def running(app: Any) -> AsyncIterator[Any]:
    to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}}
    task = asyncio.create_task(app(scope, to_app.get, from_app.put))
    for phase in ("startup", "shutdown"):
        await to_app.put({"type": f"lifespan.{phase}"})
        message = await from_app.get()
        assert message["type"] == f"lifespan.{phase}.complete", message
        if phase == "startup":
            yield app
    await task


_idle: list[Litestar] = []


@asynccontextmanager
async def a_service(config: Config) -> AsyncIterator[Any]:
    """Run the application; built routes are reused by later tests."""
    app = _idle.pop() if _idle else build()
    async with running(furnish(app, config)) as edge:
        yield edge
    _idle.append(app)


@asynccontextmanager
async def serving(config: Config) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield a client without a token for a service with its own settings."""
    async with a_service(config) as app:
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=config.base_url) as client:
            yield client
