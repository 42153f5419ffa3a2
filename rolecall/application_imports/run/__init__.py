"""Run imports: schedules, fetching, the child process, and the transaction around the stages."""
