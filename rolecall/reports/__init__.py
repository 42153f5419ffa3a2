"""Save exports of lists as reports. `planning.py` turns a report into an export, `running.py` runs schedules."""
