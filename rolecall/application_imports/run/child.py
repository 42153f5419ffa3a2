"""Build an import in a child process and wait for its result. This module runs in the worker.

Children are forked from the fork server of the standard library, a process that has imported the code of a build and
does nothing else. A fork costs milliseconds; a new interpreter would load modules for half a second of CPU time.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from importlib.machinery import ModuleSpec
from multiprocessing.connection import Connection
from multiprocessing.util import get_temp_dir

import msgspec
import structlog

from rolecall.application_imports.run.fork_server import FOLDER
from rolecall.application_imports.run.job import TOO_MUCH_MEMORY, BuildOutcome, BuildResult, Job
from rolecall.core import clock

log = structlog.get_logger("rolecall.imports")

# By default the allocator of polars keeps freed memory for ten seconds, which raises the peak by half. Without any
# delay, it would return memory to the kernel and request it again for the next frame, so use a short delay.
_ALLOCATOR = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:100,muzzy_decay_ms:0"}
# Limit the time too, because the CPU limit does not end a build that is blocked by a disk or a database.
_LONGEST_SECONDS = 3600.0
# The exit code that multiprocessing reports when the fork server has ended.
_UNKNOWN = 255
_TOO_SLOW = "reading the files took more time than an import may take; split them, or save them as CSV"
# Signals that usually mean that memory could not be allocated: a library then aborts or crashes.
CRASHES = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS)

_one_at_a_time = threading.Lock()
_fork_server = multiprocessing.get_context("forkserver")
_fork_server.set_forkserver_preload(
    ["rolecall.application_imports.run.fork_server", "rolecall.application_imports.run.child_main"]
)


class ChildDied(Exception):
    """Raised if a child ends without a message. `code` is its exit code, or the negative number of a signal."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


async def build_in_child(job: Job) -> BuildResult:
    try:
        sent = await run_in_child(_build, job, clock.traveled(), seconds=_LONGEST_SECONDS)
    except TimeoutError:
        return BuildResult(BuildOutcome.INTERRUPTED, "stuck")
    except ChildDied as died:
        return _result_of_death(died.code)
    return msgspec.json.decode(sent, type=BuildResult)


async def run_in_child(target: Callable[..., None], *args: object, seconds: float) -> bytes:
    """Run `target` in a child, with a pipe as its last argument; return the first message, and end the child."""
    ours, theirs = _fork_server.Pipe()
    child = _fork_server.Process(target=target, args=(*args, theirs), daemon=True)
    with ours:
        with theirs:
            await asyncio.to_thread(_start, child)
        try:
            async with asyncio.timeout(seconds):
                await _until_readable(ours)
            return await asyncio.to_thread(ours.recv_bytes)
        except TimeoutError:
            raise
        except (EOFError, OSError):
            # Close the pipe first: a child that is still sending to it would never end.
            ours.close()
            child.join()
            raise ChildDied(child.exitcode or 0) from None
        finally:
            child.kill()
            child.join()


def _start(child: multiprocessing.process.BaseProcess) -> None:
    os.environ.update(_ALLOCATOR)
    # Without a spec of the main module, children would run it again as a script.
    main = sys.modules["__main__"]
    main.__spec__ = main.__spec__ or ModuleSpec("rolecall.__main__", None)
    with _one_at_a_time:
        # The first start launches the fork server, which reads this variable.
        os.environ[FOLDER] = get_temp_dir()
        try:
            child.start()
        finally:
            del os.environ[FOLDER]


def _build(job: Job, traveled: timedelta, worker: Connection) -> None:
    from rolecall.application_imports.run.child_main import main

    clock.travel(traveled)
    main(job, worker)


async def _until_readable(pipe: Connection) -> None:
    """Wait for the result or the end of the child. Waiting only for the end could deadlock on a full pipe."""
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(pipe.fileno(), readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(pipe.fileno())
        # uvloop sets watched pipes to non-blocking mode, in which reading a long message would fail.
        os.set_blocking(pipe.fileno(), True)


def _result_of_death(code: int) -> BuildResult:
    log.error("build died", code=code)
    # Start the import again, because the child was killed from outside, or the fork server has ended.
    if code in (-signal.SIGKILL, _UNKNOWN):
        return BuildResult(BuildOutcome.INTERRUPTED, "killed")
    if code == -signal.SIGXCPU:
        return BuildResult(BuildOutcome.FAILED, _TOO_SLOW)
    if -code in CRASHES:
        crashed = f"the process that reads the files was ended by {signal.Signals(-code).name}; often"
        return BuildResult(BuildOutcome.FAILED, f"{crashed} {TOO_MUCH_MEMORY}")
    return BuildResult(BuildOutcome.FAILED, "an internal error; see the log of the service")
