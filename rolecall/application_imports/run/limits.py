"""Limit CPU time and memory of a child process that reads files, and end it when its parent ends."""

import os
import resource
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

GIB = 1024**3
_CHECK_MEMORY_SECONDS = 0.05
_STATM = Path("/proc/self/statm")


def limit_process(parent: Connection, *, cpu_seconds: int, memory: Callable[[], int], too_much: bytes) -> None:
    """Limit CPU time and memory; exit with the parent. At the memory limit, send the parent `too_much` and exit."""
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    threading.Thread(target=_limit_memory, args=(memory, parent, too_much), daemon=True).start()


def _exit_with_parent(parent: Connection) -> None:
    parent.poll(None)
    os._exit(1)


def _memory() -> int:
    try:
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    except OSError:
        # Use the peak only if there is no /proc: on Linux it would include the peak of the parent process.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _limit_memory(limit: Callable[[], int], parent: Connection, too_much: bytes) -> None:
    """Exit at the limit of resident memory. The kernel limits address space, and polars reserves more than it uses."""
    while _memory() < limit():
        time.sleep(_CHECK_MEMORY_SECONDS)
    parent.send_bytes(too_much)
    os._exit(1)
