"""Run one process in one role: the HTTP server or the worker."""

import asyncio
import gc
import resource
import signal
import sys
from collections.abc import Awaitable, Callable

import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server

from rolecall.core import config as configuration
from rolecall.core import logs
from rolecall.core.config import Config
from rolecall.core.errors import CannotRun

Role = Callable[[Config, asyncio.Event], Awaitable[None]]
# Limit the time for headers, because slow headers can occupy all connections (Slowloris).
_HEADERS_TAKE_MILLISECONDS = 20_000
# Idle connections count too; with a low limit, one client with many idle connections could lock out the others.
_MOST_CONNECTIONS = 8192
# Send Granian's own log lines through structlog.
_GRANIAN_LOGS = {"handlers": {}, "loggers": {"_granian": {"propagate": True}, "granian.access": {}}}


def run_role(role: Role, with_parent: bool) -> None:
    """Run until a signal arrives. With `with_parent`, also stop when the supervisor exits, which closes stdin."""
    config = configuration.load()
    if config.database_url is None:
        raise CannotRun("Set ROLECALL_DATABASE_URL, or run `rolecall serve`, which starts its own database")
    logs.configure(config.log)

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        if with_parent:
            loop.add_reader(sys.stdin, _at_end_of_input, loop, stop)
        await role(config, stop)

    uvloop.run(run())


def _at_end_of_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    # At the end of file, stdin stays readable, and the loop would call this function again and again.
    loop.remove_reader(sys.stdin)
    stop.set()


async def serve_http(config: Config, stop: asyncio.Event, host: str, port: int) -> None:
    from rolecall.app import create_app

    app = create_app(config)
    # Exclude start-up objects from garbage collection: a collection that scans them stalls all requests for 50 ms.
    gc.freeze()
    server = Server(
        app,
        address=host,
        port=port,
        interface=Interfaces.ASGI,
        websockets=False,
        backlog=1024,
        backpressure=_MOST_CONNECTIONS,
        # Do not serve HTTP/2: without TLS it has no header timeout, and no client needs it.
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=_HEADERS_TAKE_MILLISECONDS),
        # Below this level, Granian would log only a warning that its single-process mode is new.
        log_level=LogLevels.error,
        log_dictconfig=_GRANIAN_LOGS,
    )
    # Each connection needs a file descriptor, so allow as many as the system permits.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    serving = asyncio.create_task(server.serve())
    await asyncio.wait({serving, asyncio.create_task(stop.wait())}, return_when=asyncio.FIRST_COMPLETED)
    stopped_by_itself = serving.done()
    server.stop()  # type: ignore[no-untyped-call]
    await serving
    if stopped_by_itself:
        raise CannotRun("The HTTP server stopped; see the log for the reason")
