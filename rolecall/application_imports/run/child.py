"""A process for each build, forked from one that has read the code: what an import costs is its files."""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from datetime import timedelta
from importlib.machinery import ModuleSpec
from multiprocessing.connection import Connection
from multiprocessing.util import get_temp_dir

import msgspec
import structlog

from rolecall.application_imports.run.fork_server import FOLDER
from rolecall.application_imports.run.job import TOO_MUCH_MEMORY, Ended, Job, Outcome
from rolecall.core import clock

log = structlog.get_logger("rolecall.imports")

# The allocator of polars keeps what it no longer needs for ten seconds unless told not to: half as much memory again.
# Not at all is too little: a frame would be made of pages that were given back for the frame before it.
_FRUGAL = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:100,muzzy_decay_ms:0"}
# A limit of CPU time does not see a build that waits, for a disk or a database that never answers.
_LONGEST_SECONDS = 3600.0
# What multiprocessing says of a child when the process that forked it is gone.
_UNKNOWN = 255
_FATAL: dict[int, str] = {
    signal.SIGXCPU: "reading the files took more time than an import may take",
    **dict.fromkeys([signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS], TOO_MUCH_MEMORY),
}

_one_at_a_time = threading.Lock()
_nursery = multiprocessing.get_context("forkserver")
_nursery.set_forkserver_preload(
    ["rolecall.application_imports.run.fork_server", "rolecall.application_imports.run.build"]
)


async def build_in_child(job: Job) -> Ended:
    """Ends with the caller: a child whose pipe closes stops, and one that is still there is killed."""
    ours, theirs = _nursery.Pipe()
    child = _nursery.Process(target=_build, args=(job, theirs, clock.traveled()), daemon=True)
    with ours:
        with theirs:
            await asyncio.to_thread(_start, child)
        try:
            async with asyncio.timeout(_LONGEST_SECONDS):
                await _until_readable(ours)
            return msgspec.json.decode(ours.recv_bytes(), type=Ended)
        except TimeoutError:
            return Ended(Outcome.LOST, "stuck")
        except (EOFError, OSError):
            child.join()
            return _cause_of_death(child.exitcode or 0)
        finally:
            child.kill()
            child.join()


def _start(child: multiprocessing.process.BaseProcess) -> None:
    os.environ.update(_FRUGAL)
    # A module is not run again by every child, as a script would be, with all that it imports.
    main = sys.modules["__main__"]
    main.__spec__ = main.__spec__ or ModuleSpec("rolecall.__main__", None)
    with _one_at_a_time:
        # For the nursery, which the first of them starts, and for nobody else.
        os.environ[FOLDER] = get_temp_dir()
        try:
            child.start()
        finally:
            del os.environ[FOLDER]


def _build(job: Job, worker: Connection, traveled: timedelta) -> None:
    from rolecall.application_imports.run.build import main

    clock.travel(traveled)
    main(job, worker)


async def _until_readable(pipe: Connection) -> None:
    """The child has said how it ended, or is gone. Not until it is gone: it may wait for us to listen."""
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(pipe.fileno(), readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(pipe.fileno())


def _cause_of_death(code: int) -> Ended:
    log.error("build died", code=code)
    # Whoever killed it, it was no file: the import is taken up again.
    if code in (-signal.SIGKILL, _UNKNOWN):
        return Ended(Outcome.LOST, "killed")
    return Ended(Outcome.FAILED, _FATAL.get(-code, "a fault inside the service; its log says more"))
