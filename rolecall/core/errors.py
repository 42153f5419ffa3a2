"""Define the errors of the service; `web/errors.py` converts those that callers see to responses."""

import re

import msgspec

# The specification spells these names as one word; other names are shown as several words ("Review item").
_ONE_WORD = frozenset({"AccessRequest", "ApplicationImport", "PersonnelEvent"})


class Problem(msgspec.Struct, frozen=True):
    field: str
    message: str


class CannotRun(Exception):
    """The process cannot run; the message tells the operator why."""


class RolecallError(Exception):
    """Base class of all errors reported to the caller."""


class Invalid(RolecallError):
    def __init__(self, *problems: Problem) -> None:
        super().__init__("One or more validation errors occurred")
        self.problems = problems

    @classmethod
    def on(cls, field: str, message: str) -> "Invalid":
        return cls(Problem(field, message))


class NotFound(RolecallError):
    def __init__(self, resource: str, id: object) -> None:
        words = re.sub("(?<=[a-z])[A-Z]", lambda capital: f" {capital[0].lower()}", resource)
        super().__init__(f"{resource if resource in _ONE_WORD else words} with id {id} not found")
        self.resource = resource


class Unauthorized(RolecallError):
    def __init__(self, message: str = "A valid API token is required") -> None:
        super().__init__(message)


class Forbidden(RolecallError):
    def __init__(self, scope: str, *, is_lost_by_owner: bool = False) -> None:
        super().__init__(
            f"The person who created this token may no longer use the scope {scope};"
            " ask an administrator for another token"
            if is_lost_by_owner
            else f"The token lacks the scope {scope}"
        )


class Conflict(RolecallError):
    """The record's state does not allow the action."""


class TooLarge(RolecallError):
    pass


class UnsupportedMediaType(RolecallError):
    pass


class RateLimited(RolecallError):
    def __init__(self, retry_after: int, message: str | None = None) -> None:
        super().__init__(message or f"Too many requests; try again in {retry_after} s")
        self.retry_after = retry_after
