"""Supervise the service on one machine: start its processes, restart a process that dies, and stop them gracefully."""

import asyncio
import errno
import http.client
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import structlog

from rolecall.cli import folder
from rolecall.core.config import Config
from rolecall.core.errors import CannotRun
from rolecall.core.postgres import revive

log = structlog.get_logger("rolecall.serve")

# How long a process may take to stop after SIGTERM before it is killed.
_DRAIN_SECONDS = 25
# Unless a signal kills it, a process that exits within this time after its start is restarted only after a pause.
_QUICK_DEATH_SECONDS = 2
_PAUSES_SECONDS = (0, 0.5, 1, 2, 5)
_DATABASE_CHECK_SECONDS = 0.25
# For each wildcard address, the loopback address that clients on this machine use.
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104


class ProcessPlan(msgspec.Struct, frozen=True, kw_only=True):
    host: str
    port: int
    workers: int

    @property
    def address(self) -> str:
        """Return the host name or address of the service for clients on this machine."""
        return _ANYWHERE.get(self.host, self.host)

    @property
    def url(self) -> str:
        return f"http://[{self.address}]:{self.port}" if ":" in self.address else f"http://{self.address}:{self.port}"


def run_service(
    config: Config,
    plan: ProcessPlan,
    *,
    prepare: Callable[[Config], None] = lambda _: None,
    announce: Callable[[], None] = lambda: None,
) -> None:
    """Run until a signal arrives. Call `prepare` after the migration and `announce` when the service is ready."""
    config = msgspec.structs.replace(config, data_dir=config.data_dir.absolute())
    # Without a configured base URL, links lead to this machine.
    if not os.environ.get("ROLECALL_BASE_URL") and not os.environ.get("ROLECALL_BASE_URL_FILE"):
        config = msgspec.structs.replace(config, base_url=plan.url)
    with folder.occupied(config.data_dir, config.base_url):
        check_port(plan.host, plan.port)
        own_database = config.database_url is None
        with folder.database(config) as running:
            for name in folder.migrate(running):
                log.info("migrated", name=name)
            prepare(running)
            asyncio.run(_supervise(running, plan, own_database, announce))


def check_port(host: str, port: int) -> None:
    """Fail if the service cannot listen on the port.

    Our processes share the port (SO_REUSEPORT), so they would not notice another program that listens on it.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # Without this option, connections of an earlier server in TIME_WAIT would make the port seem in use.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        if isinstance(error, PermissionError):
            raise CannotRun(f"This user may not listen on port {port}; choose another with --port") from error
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise CannotRun(f"{host} is not an address of this machine; choose another with --host") from error
        raise CannotRun(f"Port {port} on {host} is in use; choose another with --port") from error


async def _supervise(config: Config, plan: ProcessPlan, own_database: bool, announce: Callable[[], None]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    fixed = {
        "ROLECALL_DATABASE_URL": config.database_url or "",
        "ROLECALL_DATA_DIR": str(config.data_dir),
        "ROLECALL_BASE_URL": config.base_url,
    }
    # Leave out variables such as ROLECALL_DATABASE_URL_FILE, which would contradict these values.
    environ = {name: value for name, value in os.environ.items() if name.removesuffix("_FILE") not in fixed} | fixed
    api = ("api", "--host", plan.host, "--port", str(plan.port))
    async with asyncio.TaskGroup() as tasks:
        for role in [api] * plan.workers + [("worker",)]:
            tasks.create_task(_keep(role, environ, stop))
        if own_database:
            tasks.create_task(_keep_database(config.data_dir, stop))
        tasks.create_task(_announce(plan, stop, announce))
    log.info("stopped")


async def _keep(role: tuple[str, ...], environ: dict[str, str], stop: asyncio.Event) -> None:
    """Restart a process whenever it dies, with a longer delay (back-off) if it keeps failing soon after its start."""
    quick_deaths = 0
    while not stop.is_set():
        started = time.monotonic()
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "rolecall", *role, "--with-parent",
            env=environ,
            # The pipe closes when this process dies, and the child then stops (`--with-parent`).
            stdin=asyncio.subprocess.PIPE,
            # Ctrl-C then reaches only the supervisor, which stops the processes gracefully.
            start_new_session=True,
        )  # fmt: skip
        if await _first(stop, child.wait()):
            await _end(child)
            return
        was_killed, was_quick = (child.returncode or 0) < 0, time.monotonic() - started < _QUICK_DEATH_SECONDS
        # A signal usually comes from outside, such as from the OOM killer, so restart the process at once.
        quick_deaths = quick_deaths + 1 if was_quick and not was_killed else 0
        log.error("process died; restarting it", role=role[0], process=child.pid, code=child.returncode)
        await _sleep(stop, _PAUSES_SECONDS[min(quick_deaths, len(_PAUSES_SECONDS) - 1)])


async def _end(child: asyncio.subprocess.Process) -> None:
    child.terminate()
    try:
        await asyncio.wait_for(child.wait(), _DRAIN_SECONDS)
    except TimeoutError:
        child.kill()
        await child.wait()


async def _keep_database(data_dir: Path, stop: asyncio.Event) -> None:
    while not stop.is_set():
        try:
            if await asyncio.to_thread(revive, data_dir):
                log.error("the database died and was restarted")
        except (CannotRun, OSError) as error:
            log.error("the database does not start", reason=str(error))
        await _sleep(stop, _DATABASE_CHECK_SECONDS)


async def _announce(plan: ProcessPlan, stop: asyncio.Event, announce: Callable[[], None]) -> None:
    while not stop.is_set():
        if await asyncio.to_thread(_is_ready, plan):
            announce()
            log.info("ready", url=plan.url)
            return
        await _sleep(stop, 0.1)


def _is_ready(plan: ProcessPlan) -> bool:
    connection = http.client.HTTPConnection(plan.address, plan.port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


async def _first(stop: asyncio.Event, other: Awaitable[object]) -> bool:
    """Wait for `stop` or `other`; return whether `stop` came first."""
    waits = {asyncio.ensure_future(other), asyncio.ensure_future(stop.wait())}
    _, pending = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in pending:
        wait.cancel()
    return stop.is_set()


async def _sleep(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
