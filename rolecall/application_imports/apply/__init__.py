"""Stage 3: write the differences as intervals, inside the import's transaction."""
