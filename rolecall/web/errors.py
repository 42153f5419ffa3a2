"""Convert every error to a response with the error body that the specification defines."""

from typing import Any, Protocol

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException
from psycopg import InterfaceError, OperationalError
from psycopg.errors import (
    DeadlockDetected,
    LockNotAvailable,
    ProgramLimitExceeded,
    ReadOnlySqlTransaction,
    SerializationFailure,
)
from psycopg_pool import PoolTimeout

from rolecall.core import errors
from rolecall.core.errors import Problem
from rolecall.core.files import StoreUnreachable, is_disk_full
from rolecall.web.correlation import correlation_id

log = structlog.get_logger("rolecall.errors")


class ErrorBody(msgspec.Struct, rename="camel", omit_defaults=True):
    error: str
    message: str
    correlation_id: str
    errors: tuple[Problem, ...] = ()


_KINDS: dict[type[errors.RolecallError], tuple[int, str]] = {
    errors.Invalid: (400, "validation_error"),
    errors.Unauthorized: (401, "unauthorized"),
    errors.Forbidden: (403, "forbidden"),
    errors.NotFound: (404, "not_found"),
    errors.Conflict: (409, "conflict"),
    errors.TooLarge: (413, "payload_too_large"),
    errors.UnsupportedMediaType: (415, "unsupported_media_type"),
    errors.RateLimited: (429, "rate_limited"),
}
_RETRY_AFTER_OUTAGE, _RETRY_AFTER_COLLISION = "5", "1"


class _Handler(Protocol):
    def __call__(self, request: Request[Any, Any, Any], error: Any, /) -> Response[ErrorBody]: ...


def answer(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response[ErrorBody]:
    return Response(ErrorBody(code, message, correlation_id.get()), status_code=status, headers=headers)


def answer_known(_: Request[Any, Any, Any], error: errors.RolecallError) -> Response[ErrorBody]:
    status, code = _KINDS[type(error)]
    response = answer(status, code, str(error))
    match error:
        case errors.Invalid():
            response.content.errors = error.problems
        case errors.Unauthorized():
            response.headers["WWW-Authenticate"] = "Bearer"
        case errors.RateLimited():
            response.headers["Retry-After"] = str(error.retry_after)
    return response


_FRAMEWORK = {404: ("not_found", "No such route"), 405: ("method_not_allowed", "Method not allowed")}
_REJECTED = "Request cannot be read; check its headers, such as Host and Content-Length, and send it again"


def answer_framework(request: Request[Any, Any, Any], error: HTTPException) -> Response[ErrorBody]:
    if error.status_code >= 500:
        return answer_crash(request, error)
    if error.status_code not in _FRAMEWORK:  # usually an invalid header
        return answer_known(request, errors.Invalid.on("request", _REJECTED))
    headers = dict(error.headers or {})
    # Add HEAD, which the routes do not list because `Edge` routes it like GET.
    if "GET" in headers.get("allow", ""):
        headers["allow"] += ", HEAD"
    return answer(error.status_code, *_FRAMEWORK[error.status_code], headers)


def answer_long_value(request: Request[Any, Any, Any], error: ProgramLimitExceeded) -> Response[ErrorBody]:
    """Reject a name that is within its limit of characters, but has too many bytes for an index."""
    log.error("a value is too long for the database", reason=str(error), correlation_id=correlation_id.get())
    return answer_known(request, errors.Invalid.on("body", "A name in the body is too long; use a shorter one"))


def answer_outage(_: Request[Any, Any, Any], error: Exception) -> Response[ErrorBody]:
    what = _outage(error)
    log.error(what, reason=str(error), correlation_id=correlation_id.get())
    return answer(503, "unavailable", f"The {what}", {"Retry-After": _RETRY_AFTER_OUTAGE})


def answer_collision(_: Request[Any, Any, Any], error: Exception) -> Response[ErrorBody]:
    """Ask the client to try again after two transactions waited for each other, and this one was rolled back."""
    log.error("deadlock", reason=str(error), correlation_id=correlation_id.get())
    said = "Someone else is changing the same records, so nothing was changed; send the request again"
    return answer(503, "unavailable", said, {"Retry-After": _RETRY_AFTER_COLLISION})


def _outage(error: Exception) -> str:
    match error:
        case _ if is_disk_full(error):
            return "disk is full"
        case StoreUnreachable():
            return "file store is unreachable"
        case ReadOnlySqlTransaction():
            return "database is read-only"
    return "database is unreachable"


def answer_file_fault(request: Request[Any, Any, Any], error: OSError) -> Response[ErrorBody]:
    return answer_outage(request, error) if is_disk_full(error) else answer_crash(request, error)


def answer_crash(_: Request[Any, Any, Any], error: Exception) -> Response[ErrorBody]:
    log.error("crash", exc_info=error, correlation_id=correlation_id.get())
    return answer(500, "server_error", "Something went wrong")


HANDLERS: dict[int | type[Exception], _Handler] = {
    errors.RolecallError: answer_known,
    HTTPException: answer_framework,
    # These subclasses of OperationalError are no outages. After the first one, a retry would fail too.
    ProgramLimitExceeded: answer_long_value,
    DeadlockDetected: answer_collision,
    SerializationFailure: answer_collision,
    LockNotAvailable: answer_collision,
    OperationalError: answer_outage,
    InterfaceError: answer_outage,
    PoolTimeout: answer_outage,
    # During a failover, the database may be a read-only replica.
    ReadOnlySqlTransaction: answer_outage,
    StoreUnreachable: answer_outage,
    OSError: answer_file_fault,
    Exception: answer_crash,
}
