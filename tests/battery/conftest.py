"""`make battery` runs these; the suite does not: they take minutes."""

import os

collect_ignore_glob = [] if "ROLECALL_BATTERY" in os.environ else ["test_*.py"]
