"""Stage 2: compare rows of files with the current state of the application. Nothing here changes this state."""
