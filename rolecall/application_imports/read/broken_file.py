"""Define the errors for files that cannot be imported, or that cannot be read in pieces."""


class BrokenFile(Exception):
    """Raised if a file cannot be imported. The message says what is wrong, and where if that is known."""

    def __init__(self, message: str, *, line: int | None = None, file: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.file = file

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.file, f"line {self.line}" if self.line else "") if part)
        return f"{place}: {self.message}" if place else self.message


class ReadAtOnce(Exception):
    """Raised if a long file cannot be read in pieces and must be read in one piece."""
