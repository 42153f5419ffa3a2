"""The child process of an import: limit CPU time and memory, build, report the result to the worker.

The limits protect the worker from any file. The worker holds the other end of the pipe; when it ends, so does the
child.
"""

import asyncio
import os
import resource
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from rolecall.application_imports.run.build import build
from rolecall.application_imports.run.dry_run import try_files
from rolecall.application_imports.run.job import TOO_MUCH_MEMORY, BuildOutcome, BuildResult, Job

GIB = 1024**3
_MEMORY = 1 * GIB
# Memory for reading and comparing files, as a multiple of their size.
_MEMORY_PER_BYTE = 6
_CPU_SECONDS = 300
_CHECK_MEMORY_SECONDS = 0.05
# A message may quote a header of a mebibyte, which is more than the pipe holds.
_LONGEST_MESSAGE = 4000
_STATM = Path("/proc/self/statm")


def main(job: Job, worker: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS + 5))
    limit = _MEMORY + _MEMORY_PER_BYTE * job.input_bytes
    threading.Thread(target=_exit_with_worker, args=(worker,), daemon=True).start()
    threading.Thread(target=_limit_memory, args=(limit, worker), daemon=True).start()
    _report(worker, asyncio.run(try_files(job) if job.is_dry_run else build(job)))
    # All is committed; freeing a gigabyte in order would only delay the next import.
    os._exit(0)


def _report(worker: Connection, result: BuildResult) -> None:
    if len(result.message) > _LONGEST_MESSAGE:
        result = BuildResult(result.outcome, result.message[:_LONGEST_MESSAGE] + "…")
    worker.send_bytes(msgspec.json.encode(result))


def _exit_with_worker(worker: Connection) -> None:
    worker.poll(None)
    os._exit(1)


def _memory() -> int:
    try:
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    except OSError:
        # Without /proc use the peak. Not on Linux, where it begins with the peak of the parent process.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _limit_memory(limit: int, worker: Connection) -> None:
    """Watch resident memory: the kernel only limits address space, of which polars reserves far more than it uses."""
    while _memory() < limit:
        time.sleep(_CHECK_MEMORY_SECONDS)
    _report(worker, BuildResult(BuildOutcome.FAILED, TOO_MUCH_MEMORY))
    os._exit(1)
