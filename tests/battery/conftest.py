"""Run these tests only as part of the battery, because they take minutes."""

import os

collect_ignore_glob = [] if "ROLECALL_BATTERY" in os.environ else ["test_*.py"]
