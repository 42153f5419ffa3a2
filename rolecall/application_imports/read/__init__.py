"""Stage 1: turn the files of an import into typed rows. Nothing here reads the application's data."""
