"""What a call can fail with. Each error has the correlation id that the service's log knows the call by."""

import msgspec


class Problem(msgspec.Struct, frozen=True):
    field: str
    message: str


class Failed(Exception):
    """Whatever went wrong; the errors below say more."""

    def __init__(self, message: str, correlation_id: str = "") -> None:
        super().__init__(message)
        self.correlation_id = correlation_id


class NotFound(Failed):
    pass


class NotAllowed(Failed):
    """No valid token, or one that lacks the scope."""


class Invalid(Failed):
    """What was sent breaks rules; `problems` has them all."""

    def __init__(self, message: str, correlation_id: str = "", problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message, correlation_id)
        self.problems = problems


class Conflict(Failed):
    """The record is in the wrong state for what was asked."""


class TooMany(Failed):
    """The rate limit; nothing was done. Try again in `retry_after` seconds."""

    def __init__(self, message: str, correlation_id: str = "", retry_after: float = 1) -> None:
        super().__init__(message, correlation_id)
        self.retry_after = retry_after


class Unavailable(Failed):
    """The service cannot be reached, or cannot reach its database, and patience has run out."""


class NotVerified(Exception):
    """A webhook that this secret did not sign, or too long ago."""
