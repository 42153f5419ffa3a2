"""Test what an import of files would do, without changing data. `run/dry_run.py` performs dry runs."""
