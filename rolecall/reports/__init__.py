"""Reports: saved exports of lists. `planning.py` turns one into an export, `running.py` runs the schedules."""
