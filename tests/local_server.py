"""Serve an aiohttp application on a free port of this machine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


@asynccontextmanager
async def local_server(app: web.Application, host: str = "127.0.0.1", **options: Any) -> AsyncIterator[int]:
    runner = web.AppRunner(app, **options)
    await runner.setup()
    await web.TCPSite(runner, host, 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
