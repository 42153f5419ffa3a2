"""Run a complete service, kill its processes and measure how quickly they restart."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import psycopg

from rolecall.core.caller import Scope
from rolecall.core.db import Db, fetch_rows, session_options
from rolecall.core.files import Store
from rolecall.core.postgres import _Server
from tests.cli.commands import Running, a_service, rolecall
from tests.cli.test_serve import postmaster
from tests.listening import Api

PATIENCE_SECONDS = 120


class Processes(msgspec.Struct, frozen=True):
    api: tuple[int, ...]
    worker: tuple[int, ...]
    database: int | None


class Whole:
    def __init__(self, running: Running, token: str, db_url: str) -> None:
        self.running, self.token, self.db_url, self.url = running, token, db_url, running.url
        self.store = Store(running.data_dir / "files")

    @asynccontextmanager
    async def db(self) -> AsyncIterator[Db]:
        options = session_options(self.running.url)
        async with await psycopg.AsyncConnection.connect(self.db_url, autocommit=True, options=options) as db:
            yield db

    @asynccontextmanager
    async def client(self, **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
        headers = {"Authorization": f"Bearer {self.token}", **headers}
        async with httpx2.AsyncClient(base_url=self.running.url, headers=headers, timeout=10) as client:
            yield client

    def processes(self) -> Processes:
        api, worker = (tuple(self.running.children(f"rolecall {role}")) for role in ("api", "worker"))
        return Processes(api, worker, postmaster(self.running))

    async def kill(self, role: str) -> float:
        """Send SIGKILL; return the seconds until the process is back."""
        before = await asyncio.to_thread(self.processes)
        found = getattr(before, role)
        pid = found if isinstance(found, int) else found[0]
        known = await self.workers() if role == "worker" else set()
        os.kill(pid, signal.SIGKILL)
        return await self.back(before, known, time.monotonic())

    async def back(self, before: Processes, known: set[str], died: float) -> float:
        """Wait until all processes are ready again (a worker sends a heartbeat); return the seconds since `died`."""
        while time.monotonic() < died + PATIENCE_SECONDS:
            now = await asyncio.to_thread(self.processes)
            started = all((now.api, now.worker, now.database)) and now != before
            if started and (now.worker == before.worker or await self.workers() - known) and await self._is_ready():
                return time.monotonic() - died
            await asyncio.sleep(0.02)
        raise AssertionError(f"not back within {PATIENCE_SECONDS} s: {before} {now}")

    async def _is_ready(self) -> bool:
        try:
            async with httpx2.AsyncClient(base_url=self.running.url, timeout=2) as client:
                return (await client.get("/readyz")).status_code == 200
        except httpx2.TransportError:
            return False

    async def workers(self) -> set[str]:
        try:
            async with self.db() as db:
                return {str(id) for (id,) in await fetch_rows(db, "SELECT worker_id FROM heartbeats")}
        except psycopg.OperationalError:
            return set()

    def crashes(self) -> list[str]:
        return Api(self.running.port, self.running.process.pid, self.running.log).crashes()


@asynccontextmanager
async def off_the_loop(service: AbstractContextManager[Whole]) -> AsyncIterator[Whole]:
    """Start and stop the service in a thread, so that receivers on this event loop can respond to its worker."""
    entered = await asyncio.to_thread(service.__enter__)
    try:
        yield entered
    finally:
        await asyncio.to_thread(service.__exit__, None, None, None)


@contextmanager
def a_whole_service(data_dir: Path, *arguments: str, **variables: Any) -> Iterator[Whole]:
    with a_service(data_dir, *arguments, **variables) as running:
        scopes = [part for scope in Scope for part in ("--scope", scope)]
        made = rolecall("token", "create", f"t{time.time_ns()}", *scopes, "--data-dir", data_dir)
        assert made.returncode == 0, made.stderr
        yield Whole(running, made.stdout.strip(), _Server(data_dir.absolute()).url)
