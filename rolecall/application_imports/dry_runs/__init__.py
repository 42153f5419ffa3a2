"""Dry runs: what an import of files would do. `run/dry_run.py` builds them."""
