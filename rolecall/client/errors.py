"""Define the errors of the client. `correlation_id` is the id under which the service logged the request, if it did."""

import msgspec


class Problem(msgspec.Struct, frozen=True):
    field: str
    message: str


class Failed(Exception):
    """Base class of all errors of a call."""

    def __init__(self, message: str, correlation_id: str = "") -> None:
        super().__init__(message)
        self.correlation_id = correlation_id


class NotFound(Failed):
    pass


class NotAllowed(Failed):
    """The token is invalid or does not allow the call."""


class Invalid(Failed):
    """The service rejects the request as invalid; `problems` lists the reasons that the service gave."""

    def __init__(self, message: str, correlation_id: str = "", problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message, correlation_id)
        self.problems = problems


class Conflict(Failed):
    """The state of the record does not allow the call."""


class TooMany(Failed):
    """The rate limit was reached and nothing was done; try again in `retry_after` seconds."""

    def __init__(self, message: str, correlation_id: str = "", retry_after: float = 1) -> None:
        super().__init__(message, correlation_id)
        self.retry_after = retry_after


class Unavailable(Failed):
    """The service stayed unavailable through all retries, or a download failed or was interrupted."""


class NotVerified(Exception):
    """The webhook delivery has no valid and recent signature."""
