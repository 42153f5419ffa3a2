"""Generate the OpenAPI document from the operations."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from litestar import Litestar
from litestar.enums import HttpMethod
from litestar.response.base import ASGIResponse
from litestar.routes import HTTPRoute
from pydantic import RootModel
from pydantic.alias_generators import to_camel

from rolecall import __version__
from rolecall.core.checking import Json
from rolecall.core.errors import Invalid
from rolecall.core.formats.formats import KINDS
from rolecall.web import idempotency
from rolecall.web.bodies import a_page
from rolecall.web.examples import example_of
from rolecall.web.exporting import a_format
from rolecall.web.operations import Operation, optional_json
from rolecall.web.schemas import Components
from rolecall.web.uploads import read_upload

_ABOUT = """Access governance: who has access to what, why, and who approved it.

Every response has the header `X-Correlation-Id`, taken from a valid W3C `traceparent` header if one was sent; error
bodies repeat it. Lists have 50 items per page; `format` or
`Accept` asks for the whole list as a file. Responses give times in UTC; requests give a date or a date-time, which
is in the service's time zone if it has no offset. Unknown fields of a body are ignored. An optional field that is null
counts as absent, and so does `""` for an optional id, date, enum value or comment. Enum values ignore case and
spaces."""

_TAGS = {
    "Access governance": "The operations of the specification.",
    "Administration": "Operations for running the service.",
}
_GUID = {"type": "string", "format": "uuid"}
# OpenAPI 3.1 describes a file by its media type; most client generators still expect `format`, as in 3.0.
_FILE: Json = {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}
_HEADERS: Json = {
    "X-Correlation-Id": (
        "Identifies the request in the service's log.",
        {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    ),
    "X-Export-Id": ("Identifies the export of this file; absent if the response is a page.", _GUID),
    "Retry-After": ("Seconds to wait before the next attempt.", {"type": "integer", "minimum": 0}),
    "WWW-Authenticate": ("The authentication scheme to use.", {"type": "string", "const": "Bearer"}),
}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "For 24 hours, the same request with the same key returns the first successful response; another"
    " request with the key is a conflict. If the response contained a secret, repeating the request is a conflict too.",
    "schema": {"type": "string", "pattern": "^[ -~]+$", "minLength": 1, "maxLength": idempotency.LONGEST_KEY},
}


class Fault(msgspec.Struct, frozen=True):
    """The documentation of an error response; `errors.py` defines the error codes."""

    code: str
    when: str
    message: str
    header: str | None = None


FAULTS = {
    400: Fault(
        "validation_error", "A body or parameter is invalid; `errors` has an entry for each problem.", str(Invalid())
    ),
    401: Fault("unauthorized", "The token is missing or invalid.", "A valid API token is required", "WWW-Authenticate"),
    403: Fault(
        "forbidden",
        "The token lacks the scope, or the person who created the token may no longer use the scope.",
        "The token lacks the scope identities:read",
    ),
    404: Fault(
        "not_found", "The record does not exist.", "Identity with id 0192e4a0-7c1e-7000-8000-000000000001 not found"
    ),
    409: Fault(
        "conflict",
        "The record's state does not allow the operation, or the idempotency key was used with another request.",
        "This idempotency key was used with another request; use a new key",
    ),
    413: Fault("payload_too_large", "The body exceeds the size limit.", "The body is larger than 1 MiB"),
    415: Fault("unsupported_media_type", "The content type is not supported.", "Send the body as application/json"),
    429: Fault("rate_limited", "Too many requests.", "Too many requests; try again in 30 s", "Retry-After"),
    500: Fault("server_error", "An internal error; the log has the details.", "Something went wrong"),
    503: Fault(
        "unavailable",
        "The database or the file store is unavailable, or a disk is full.",
        "The database is unreachable",
        "Retry-After",
    ),
}


class WebhookEvent(msgspec.Struct, frozen=True):
    """A webhook event; `description` says when it occurs."""

    name: str
    display: str
    description: str


class Route(msgspec.Struct, frozen=True):
    path: str
    method: str
    name: str
    tags: list[str]
    operation: Operation | None


def routes_of(app: Litestar) -> list[Route]:
    """Return all routes except OPTIONS, in a fixed order, because Litestar's order differs between runs."""
    found = (route for route in app.routes if isinstance(route, HTTPRoute))
    return sorted((one for route in found for one in _methods_of(route)), key=lambda one: (one.path, one.method))


def _methods_of(route: HTTPRoute) -> Iterator[Route]:
    path = re.sub(r"\{(\w+):\w+\}", lambda match: f"{{{to_camel(match[1])}}}", route.path)
    for handler in route.route_handlers:
        tags = [tag for layer in handler.ownership_layers for tag in layer.tags or ()]
        for method in handler.http_methods - {HttpMethod.OPTIONS}:
            yield Route(path, method, handler.handler_name, tags, handler.opt.get("operation"))


def document(app: Litestar, base_url: str, events: Sequence[tuple[WebhookEvent, Any]]) -> Json:
    """Return the OpenAPI document: all operations, and the webhook events with their payloads."""
    routes = [(route, route.operation) for route in routes_of(app) if route.operation]
    components = Components(dict.fromkeys(operation.body for _, operation in routes if operation.body))
    paths: Json = {}
    for route, operation in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, operation, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Rolecall", "version": __version__, "description": _ABOUT},
        "servers": [{"url": base_url}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "webhooks": {event.name: {"post": _webhook(event, payload, components)} for event, payload in events},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "An API token, `rct_…`."}},
            "headers": {name: {"description": text, "schema": schema} for name, (text, schema) in _HEADERS.items()},
            "responses": {fault.code: _fault(status, fault) for status, fault in FAULTS.items()},
            "schemas": {**_error_schemas(), **dict(sorted(components.schemas.items()))},
        },
    }


def _operation(route: Route, operation: Operation, components: Components) -> Json:
    summary, _, rest = (operation.function.__doc__ or "").partition("\n")
    needs = f"Needs the scope `{operation.scope}`." if operation.scope else "Needs no token: knowing the URL is enough."
    described: Json = {
        "operationId": to_camel(route.name),
        "summary": summary.removesuffix("."),
        "description": " ".join(filter(None, [" ".join(rest.split()), needs])),
        "tags": route.tags,
        "security": [{"token": [operation.scope]}] if operation.scope else [],
        "parameters": list(_parameters(route, operation)),
        "responses": {
            str(operation.status): _answer(operation, components),
            **{str(status): {"$ref": f"#/components/responses/{FAULTS[status].code}"} for status in faults_of(route)},
        },
    }
    if operation.body:
        content = _content(operation, components)
        described["requestBody"] = {
            "required": operation.read_body is not optional_json or components.has_required_field(operation.body),
            "content": content,
        }
    return described


def faults_of(route: Route) -> list[int]:
    """Return the status codes of the errors that an operation can return."""
    operation = route.operation
    assert operation
    writes = operation.method != "GET"
    possible = {
        400: writes or operation.query is not None,
        401: operation.scope is not None,
        403: operation.scope is not None,
        404: "{" in route.path,
        409: writes and operation.scope is not None,
        413: operation.body is not None,
        415: operation.body is not None,
    }
    return [status for status in FAULTS if possible.get(status, True)]


def _parameters(route: Route, operation: Operation) -> Iterator[Json]:
    for name in re.findall(r"\{(\w+)\}", route.path):
        yield {"name": name, "in": "path", "required": True, "schema": _GUID}
    paged = {"page": a_page} if operation.is_list else {}
    paged |= {"format": a_format} if operation.is_list else {}
    for name, reader in {**paged, **(operation.query or {})}.items():
        yield {"name": name, "in": "query", "schema": reader.schema} | ({"required": True} if reader.required else {})
    if operation.method != "GET" and operation.scope and operation.answer is not ASGIResponse:
        yield _IDEMPOTENCY_KEY


def _content(operation: Operation, components: Components) -> Json:
    assert operation.body
    schema = components.body(operation.body)
    if operation.read_body is read_upload:
        _describe_form(components.schemas[operation.body.__name__])
        return {"multipart/form-data": {"schema": schema}}
    if issubclass(operation.body, RootModel) and operation.body.model_fields["root"].annotation is str:
        return {"text/plain": {"schema": schema, "example": "Ticket 4711 opened"}}
    return {"application/json": {"schema": schema, "example": example_of(schema, components.schemas, asked=True)}}


def _describe_form(form: Json) -> None:
    """Add what the class of the body cannot express: files with dynamic field names, and fields in the query."""
    # Do not describe a list of files: openapi-python-client would generate invalid code.
    about = "A file; the field name is the GUID of its file group. Repeat the field for several files."
    form["additionalProperties"] = {"description": about, **_FILE}
    for name in form.pop("required", ()):
        form["properties"][name]["description"] = "Required, here or as a query parameter."


def _answer(operation: Operation, components: Components) -> Json:
    answer: Json = {"description": "Done", "headers": _headers("X-Correlation-Id")}
    if operation.answer is ASGIResponse and operation.method == "POST":
        answer |= _export()
    elif operation.answer is ASGIResponse:
        answer["content"] = {"application/octet-stream": {"schema": _FILE}}
    elif operation.answer is not type(None):
        schema = components.answer(operation.answer)
        answer["content"] = {"application/json": {"schema": schema, "example": example_of(schema, components.schemas)}}
    if operation.is_list:
        exported = _export()
        answer |= {**exported, "content": answer["content"] | exported["content"]}
    return answer


def _export() -> Json:
    content = {kind.media_type: {"schema": _FILE} for kind in KINDS.values()}
    return {"content": content, "headers": _headers("X-Correlation-Id", "X-Export-Id")}


def _fault(status: int, fault: Fault) -> Json:
    name = "ValidationError" if status == 400 else "Error"
    example: Json = {"error": fault.code, "message": fault.message, "correlationId": "4bf92f3577b34da6a3ce929d0e0e4736"}
    if status == 400:
        example["errors"] = [{"field": "identity.firstName", "message": "First name is required"}]
    return {
        "description": fault.when,
        "headers": _headers("X-Correlation-Id", *filter(None, [fault.header])),
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}, "example": example}},
    }


def _headers(*names: str) -> Json:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _error_schemas() -> Json:
    """Return the schemas of error bodies; only validation errors have `errors`."""
    common = {"message": {"type": "string"}, "correlationId": {"type": "string", "pattern": "^[0-9a-f]{32}$"}}
    text = {"type": "string"}
    entry = {"type": "object", "properties": {"field": text, "message": text}, "required": ["field", "message"]}
    others = [fault.code for status, fault in FAULTS.items() if status != 400]
    error = {"error": {"type": "string", "enum": [*others, "method_not_allowed"]}, **common}
    invalid = {
        "error": {"type": "string", "const": FAULTS[400].code},
        **common,
        "errors": {"type": "array", "minItems": 1, "items": {**entry, "additionalProperties": False}},
    }
    return {
        name: {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
        for name, fields in {"Error": error, "ValidationError": invalid}.items()
    }


def _webhook(event: WebhookEvent, payload: Any, components: Components) -> Json:
    schema = components.answer(payload)
    example = example_of(schema, components.schemas)
    example["event"] |= {"name": event.name, "display": event.display, "description": event.description}
    return {
        "summary": event.display,
        "description": event.description,
        "tags": ["Access governance"],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema, "example": example}}},
        "responses": {
            "2XX": {"description": "Delivered"},
            "410": {"description": "The receiver is gone; the webhook is disabled"},
            "default": {"description": "Not delivered; the service retries for a limited time"},
        },
    }
