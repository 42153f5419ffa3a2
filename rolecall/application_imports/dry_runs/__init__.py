"""Show what an import of uploaded files would do, without changing data. `run/dry_run.py` performs dry runs."""
