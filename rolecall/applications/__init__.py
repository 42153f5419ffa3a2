"""Applications with their connectors, file groups and schedules; `file_shape.py` describes how files are read."""
