"""Save exports as reports and run them. `planning.py` turns a report into an export; `running.py` runs schedules."""
