"""What is wrong with a file, said so that whoever made it can mend it."""


class BrokenFile(Exception):
    def __init__(self, message: str, *, line: int | None = None, file: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.file = file

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.file, f"line {self.line}" if self.line else "") if part)
        return f"{place}: {self.message}" if place else self.message
