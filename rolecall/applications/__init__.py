"""Manage applications with their connectors, file groups and schedules. `file_shape.py` says how files are read."""
