"""Inject faults: tests make a process die at a named point, such as before or after a commit, an fsync or a send.

A file with the name of a point in the folder `ROLECALL_FAULTS` arms the point; the process that reaches it removes the
file and dies. Without that variable a point does nothing.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path


def _die(point: str) -> None:
    try:
        Path(os.environ["ROLECALL_FAULTS"], point).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def _go_on(_: str) -> None:
    pass


fault: Callable[[str], None] = _die if "ROLECALL_FAULTS" in os.environ else _go_on
