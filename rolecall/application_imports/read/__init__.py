"""Stage 1: turn the files of an import into typed rows. Nothing here reads stored accounts or access."""
