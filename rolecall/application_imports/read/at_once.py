"""Count the bytes of files that are read in one piece. The memory limit of the process grows with this number."""

_noted = 0


def note(size: int) -> None:
    global _noted  # noqa: PLW0603 (one count for the process)
    _noted += size


def noted() -> int:
    return _noted
