"""Remove the worker's socket folder when the fork server exits, because a killed worker cannot do it.

The fork server preloads this module.
"""

import atexit
import os
import shutil

# The worker sets this variable to the folder of the socket between the worker and the fork server.
FOLDER = "ROLECALL_FORK_SERVER_FOLDER"


def _remove_at_exit() -> None:
    if folder := os.environ.get(FOLDER):
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


_remove_at_exit()
