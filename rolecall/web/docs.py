"""Serve the OpenAPI document as offline pages: one to read without scripts, one to try operations (Swagger UI).

The build hook copies Swagger UI from a Python package (hatch_build.py); nothing is loaded from other hosts.
"""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment
from litestar import Litestar, Request, Response, Router, get
from litestar.datastructures import CacheControlHeader
from litestar.static_files import create_static_files_router
from markupsafe import Markup, escape

from rolecall.core.checking import Json
from rolecall.core.templates import environment

_STYLE = Path(__file__).with_name("docs.css").read_bytes()
_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'self'; frame-ancestors 'none'"}
# Swagger UI loads icons from data URLs.
_TRY_POLICY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
}
Describe = Callable[[Litestar, str], Json]
Asked = Request[Any, Any, Any]


def documentation(describe: Describe) -> Router:
    """Return routes for the OpenAPI document and its pages; each is generated on first use."""

    @cache
    def as_json(app: Litestar, base_url: str) -> bytes:
        return msgspec.json.encode(describe(app, base_url))

    @cache
    def as_page(app: Litestar, base_url: str) -> bytes:
        return page(describe(app, base_url)).encode()

    def base_url_of(request: Asked) -> str:
        return str(request.app.state.services.config.base_url)

    @get("/openapi.json")
    async def openapi_document(request: Asked) -> Response[bytes]:
        return Response(as_json(request.app, base_url_of(request)), media_type="application/json")

    @get("/docs")
    async def documentation_page(request: Asked) -> Response[bytes]:
        return Response(as_page(request.app, base_url_of(request)), media_type="text/html", headers=_POLICY)

    @get("/docs/style.css")
    async def documentation_style() -> Response[bytes]:
        return Response(_STYLE, media_type="text/css")

    @get("/docs/try")
    async def try_page() -> Response[bytes]:
        return Response(_try_page(), media_type="text/html", headers=_TRY_POLICY)

    handlers = [openapi_document, documentation_page, documentation_style, try_page]
    return Router("/", route_handlers=[*handlers, _static()])


def _static() -> Router:
    return create_static_files_router(
        "/docs/static",
        [Path(__file__).parent / "static"],
        cache_control=CacheControlHeader(max_age=3600),
        include_in_schema=False,
    )


@cache
def _environment() -> Environment:
    return environment(
        "rolecall.web", code=_code, indented=_indented, limits=_limits, name=_name, plain_kind=_plain_kind
    )


@cache
def _try_page() -> bytes:
    return _environment().get_template("try.html").render(title="Rolecall").encode()


def page(document: Json) -> str:
    operations = [
        _operation(document, path, method, described)
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    ]
    tags = [
        (tag["name"], [operation for operation in operations if tag["name"] in operation["described"]["tags"]])
        for tag in document["tags"]
    ]
    title = f"{document['info']['title']} {document['info']['version']}"
    return _environment().get_template("docs.html").render(title=title, document=document, tags=tags)


def _operation(document: Json, path: str, method: str, described: Json) -> Json:
    return {
        "path": path,
        "method": method,
        "described": described,
        "body": described.get("requestBody", {}).get("content", {}),
        "curl": curl(document, path, method, described),
        "responses": list(_responses(document, described)),
    }


def _responses(document: Json, described: Json) -> Iterator[Json]:
    for status, response in described["responses"].items():
        shared = "$ref" in response
        found = document["components"]["responses"][_name(response)] if shared else response
        contents = list(found.get("content", {}).values())
        examples = [content["example"] for content in contents if "example" in content and not shared]
        yield {"status": status, "description": found["description"], "contents": contents, "examples": examples}


def _plain_kind(schema: Json) -> str:
    """Return a name for a schema that is not a reference: its format, its types, or `anything`."""
    match schema:
        case {"type": kind}:
            kinds = kind if isinstance(kind, list) else [kind]
            return " or ".join([str(schema.get("format", kinds[0])), *kinds[1:]])
        case {"format": str(format)}:
            return format
    return "anything"


_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
    "default": "default {}",
}


def _limits(schema: Json, required: bool) -> list[str]:
    said = [] if required else ["optional"]
    return said + [rule.format(json.dumps(schema[name])) for name, rule in _LIMITS.items() if name in schema]


def _indented(example: Any) -> str:
    return json.dumps(example, indent=2, ensure_ascii=False)


def _name(reference: Json) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _code(text: str) -> Markup:
    """Return text as HTML: escaped, with words in backticks as code."""
    parts = str(escape(text)).split("`")
    marked = (f"<code>{part}</code>" if odd % 2 else part for odd, part in enumerate(parts))
    return Markup("".join(marked))  # noqa: S704  # Escaped above.


def curl(document: Json, path: str, method: str, described: Json) -> str:
    """Return a curl command to copy, with placeholders for the token and ids."""
    words = [f"curl {document['servers'][0]['url']}{path.replace('{', '$').replace('}', '')}"]
    if method != "get":
        words[0] += f" -X {method.upper()}"
    if described["security"]:
        words.append('-H "Authorization: Bearer $TOKEN"')
    for media_type, content in described.get("requestBody", {}).get("content", {}).items():
        if media_type == "multipart/form-data":
            words += ["-F applicationId=$applicationId", "-F $fileGroupId=@users.csv"]
        else:
            example = content["example"]
            sent = example if isinstance(example, str) else json.dumps(example, ensure_ascii=False)
            words += [f"-H 'Content-Type: {media_type}'", "-d " + "'" + sent.replace("'", "'\\''") + "'"]
    return " \\\n  ".join(words)
