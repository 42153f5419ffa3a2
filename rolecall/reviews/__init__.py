"""Access reviews: a population pinned to imports, decided by independent reviewers, and closed by imports."""
