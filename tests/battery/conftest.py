"""Run these tests only under `make battery`: they take minutes."""

import os

collect_ignore_glob = [] if "ROLECALL_BATTERY" in os.environ else ["test_*.py"]
