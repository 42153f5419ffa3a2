"""The process that builds are forked from outlives its worker by a moment: it clears away what a killed one leaves."""

import atexit
import os
import shutil

# Set by the worker: where multiprocessing keeps the socket between the two.
FOLDER = "ROLECALL_NURSERY"


def _clear_at_the_end() -> None:
    if folder := os.environ.get(FOLDER):
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


_clear_at_the_end()
