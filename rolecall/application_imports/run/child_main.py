"""Run the child process of an import: limit CPU time and memory, build, report the result to the worker.

The limits protect the worker from malicious files. The worker has the other end of the pipe: when the worker ends, the
pipe closes, and the child ends too.
"""

import asyncio
import os
from functools import partial
from multiprocessing.connection import Connection

import msgspec

from rolecall.application_imports.read import at_once
from rolecall.application_imports.read.parts import MOST_IN_MEMORY
from rolecall.application_imports.run.build import build
from rolecall.application_imports.run.dry_run import dry_run
from rolecall.application_imports.run.job import TOO_MUCH_MEMORY, BuildOutcome, BuildResult, Job
from rolecall.application_imports.run.limits import GIB, limit_process

_MEMORY = 1 * GIB
# Memory for reading and comparing files, as a multiple of their size.
_MEMORY_PER_BYTE = 6
_CPU_SECONDS = 300
# Large inputs get more time, because snapshots of live sources may be far larger than uploads.
_CPU_SECONDS_PER_BYTE = 1 / 1024**2
# Messages are cut to this length: one may quote a header of a mebibyte, which is more than the pipe can hold.
_LONGEST_MESSAGE = 4000


def main(job: Job, worker: Connection) -> None:
    too_much = msgspec.json.encode(BuildResult(BuildOutcome.FAILED, TOO_MUCH_MEMORY))
    cpu_seconds = _CPU_SECONDS + int(_CPU_SECONDS_PER_BYTE * job.input_bytes)
    limit_process(worker, cpu_seconds=cpu_seconds, memory=partial(_most_memory, job.input_bytes), too_much=too_much)
    _report(worker, asyncio.run(dry_run(job) if job.is_dry_run else build(job)))
    # Exit without freeing memory: the result is stored and sent, and freeing a gigabyte would delay the next import.
    os._exit(0)


def _most_memory(input_bytes: int) -> int:
    """Return the memory that a build may use. It grows with the size of the files.

    Above `MOST_IN_MEMORY`, it grows only with the size of files that are read in one piece.
    """
    return _MEMORY + _MEMORY_PER_BYTE * min(input_bytes, MOST_IN_MEMORY + at_once.noted())


def _report(worker: Connection, result: BuildResult) -> None:
    if len(result.message) > _LONGEST_MESSAGE:
        result = BuildResult(result.outcome, result.message[:_LONGEST_MESSAGE] + "…")
    worker.send_bytes(msgspec.json.encode(result))
