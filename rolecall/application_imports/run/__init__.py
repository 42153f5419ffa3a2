"""Around the stages: schedules, fetching, the child process and the import's transaction."""
