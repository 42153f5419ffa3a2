"""Run one API process on a port, for tests that need real HTTP."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import msgspec

from rolecall.core.config import Config
from tests.cli.commands import environment, free_port


class Api(msgspec.Struct, frozen=True):
    port: int
    pid: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def crashes(self) -> list[str]:
        """Return the log lines of internal errors."""
        return [line for line in self.log.read_text().splitlines() if " status=500" in line or "] crash " in line]


@asynccontextmanager
async def an_api(config: Config, **variables: str) -> AsyncIterator[Api]:
    port, log_file = free_port(), config.data_dir / "api.log"
    settings = {"ROLECALL_DATABASE_URL": str(config.database_url), "ROLECALL_DATA_DIR": str(config.data_dir)}
    command = [sys.executable, "-m", "rolecall", "api", "--port", str(port)]
    with log_file.open("wb") as log:
        server = await asyncio.create_subprocess_exec(
            *command, env=environment(**settings, **variables), stdout=log, stderr=log
        )
    api = Api(port, server.pid, log_file)
    try:
        async with httpx2.AsyncClient(base_url=api.url) as client:
            while True:
                try:
                    await client.get("/healthz")
                    break
                except httpx2.TransportError:
                    assert server.returncode is None, log_file.read_text()
                    await asyncio.sleep(0.1)
        yield api
    finally:
        if server.returncode is None:
            server.terminate()
        await server.wait()
