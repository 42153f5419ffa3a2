"""Convert the errors of requests below `/scim/v2` to those of the protocol (RFC 7644, section 3.12)."""

from collections.abc import Callable
from typing import Any

import msgspec
from litestar import Response

from rolecall.scim_server.discovery import ROOT
from rolecall.scim_server.model import MEDIA_TYPE, MESSAGES, Resource, ScimError, ScimErrorType
from rolecall.web.bodies import AnyRequest
from rolecall.web.errors import ErrorBody

Handler = Callable[[AnyRequest, Any], Response[Any]]


def for_scim(answer: Handler) -> Handler:
    """Wrap an error handler so that requests below `/scim/v2` get SCIM errors."""

    def in_form(request: AnyRequest, error: Any) -> Response[Any]:
        path = request.scope["path"]
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            return answer(request, error)
        if isinstance(error, ScimError):
            return _error(error.status, str(error), error.type)
        response = answer(request, error)
        detail = _detail(response.content)
        return _error(response.status_code or 500, detail, None, dict(response.headers))

    return in_form


def _detail(content: object) -> str:
    if not isinstance(content, ErrorBody):
        return "The request failed"
    return " ".join(problem.message for problem in content.errors) or content.message


def _error(
    status: int, detail: str, type: ScimErrorType | None, headers: dict[str, str] | None = None
) -> Response[Any]:
    # RFC 7644 defines the status in the body as a string.
    body: Resource = {"schemas": [f"{MESSAGES}Error"], "status": str(status), "detail": detail}
    if type:
        body["scimType"] = type
    # Keep headers such as Retry-After.
    kept = {name: value for name, value in (headers or {}).items() if name.lower() != "content-type"}
    return Response(msgspec.json.encode(body), status_code=status, media_type=MEDIA_TYPE, headers=kept)
