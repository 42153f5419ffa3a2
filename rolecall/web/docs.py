"""The OpenAPI document as a plain HTML page that works offline and without scripts."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import msgspec
from litestar import Litestar, Request, Response, Router, get

from rolecall.core.checking import Json

_STYLE = Path(__file__).with_name("docs.css").read_bytes()
_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'self'; frame-ancestors 'none'"}
Describe = Callable[[Litestar, str], Json]


def documentation(describe: Describe) -> Router:
    """Return routes for the document and its page, each generated on first use."""

    @cache
    def as_json(app: Litestar, base_url: str) -> bytes:
        return msgspec.json.encode(describe(app, base_url))

    @cache
    def as_page(app: Litestar, base_url: str) -> bytes:
        return "\n".join(page(describe(app, base_url))).encode()

    def base_url_of(request: Request[Any, Any, Any]) -> str:
        return str(request.app.state.services.config.base_url)

    @get("/openapi.json")
    async def openapi_document(request: Request[Any, Any, Any]) -> Response[bytes]:
        return Response(as_json(request.app, base_url_of(request)), media_type="application/json")

    @get("/docs")
    async def documentation_page(request: Request[Any, Any, Any]) -> Response[bytes]:
        return Response(as_page(request.app, base_url_of(request)), media_type="text/html", headers=_POLICY)

    @get("/docs/style.css")
    async def documentation_style() -> Response[bytes]:
        return Response(_STYLE, media_type="text/css")

    return Router("/", route_handlers=[openapi_document, documentation_page, documentation_style])


def page(document: Json) -> Iterator[str]:
    operations = [
        (tag["name"], path, method, described)
        for tag in document["tags"]
        for path, methods in document["paths"].items()
        for method, described in methods.items()
        if tag["name"] in described["tags"]
    ]
    title = f"{document['info']['title']} {document['info']['version']}"
    yield f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/docs/style.css">
</head><body><nav aria-label="Operations"><h1>{escape(title)}</h1><p><a href="/openapi.json">openapi.json</a></p>"""
    for tag in document["tags"]:
        yield f"<h2>{escape(tag['name'])}</h2><ul>"
        for name, path, method, described in operations:
            if name == tag["name"]:
                link = f'<a href="#{described["operationId"]}">{escape(described["summary"])}</a>'
                yield f'<li title="{method.upper()} {escape(path)}">{link}</li>'
        yield "</ul>"
    yield '<h2>Webhooks</h2><ul><li><a href="#webhooks">Events</a></li></ul>'
    yield '<h2>Shapes</h2><ul><li><a href="#shapes">All shapes</a></li></ul></nav><main>'
    yield from (f"<p>{_text(part)}</p>" for part in document["info"]["description"].split("\n\n"))
    for _, path, method, described in operations:
        yield from _operation(document, path, method, described)
    yield from _webhooks(document["webhooks"])
    yield '<section id="shapes"><h2>Shapes</h2>'
    for name, schema in document["components"]["schemas"].items():
        yield f'<h3 id="{name}">{name}</h3>'
        yield from _shape(schema)
    yield "</section></main></body></html>"


def _operation(document: Json, path: str, method: str, described: Json) -> Iterator[str]:
    yield f"""<section id="{described["operationId"]}"><h2>{escape(described["summary"])}</h2>
<p class="route"><b class="{method}">{method.upper()}</b> <code>{escape(path)}</code></p>
<p>{_text(described["description"])}</p>"""
    if described["parameters"]:
        yield from _table("Parameters", (_parameter_row(parameter) for parameter in described["parameters"]))
    for media_type, content in described.get("requestBody", {}).get("content", {}).items():
        yield f"<h3>Body</h3><p><code>{media_type}</code> {_kind(content['schema'])}</p>"
    yield f"<h3>Example</h3><pre><code>{escape(curl(document, path, method, described))}</code></pre>"
    yield from _answers(document, described)
    yield "</section>"


def _answers(document: Json, described: Json) -> Iterator[str]:
    rows = []
    for status, answer in described["responses"].items():
        found = document["components"]["responses"][_name(answer)] if "$ref" in answer else answer
        kinds = [_kind(content["schema"]) for content in found.get("content", {}).values()]
        rows.append((f"<code>{status}</code>", " ".join(kinds), _text(found["description"])))
        shown = found.get("content", {}).values() if found is answer else ()
        rows += [("", "", _folded(content["example"])) for content in shown if "example" in content]
    yield from _table("Answers", rows)


def _webhooks(webhooks: Json) -> Iterator[str]:
    yield '<section id="webhooks"><h2>Webhooks</h2><p>Sent by HTTP POST to webhooks that list the event.</p>'
    rows = [(f"<code>{name}</code>", _text(hook["post"]["description"])) for name, hook in webhooks.items()]
    yield from _table("Events", rows)
    for hook in list(webhooks.values())[:1]:
        content = hook["post"]["requestBody"]["content"]["application/json"]
        yield f"<h3>Body</h3><p>{_kind(content['schema'])}</p>{_folded(content['example'])}"
    yield "</section>"


def _shape(schema: Json) -> Iterator[str]:
    if "properties" in schema:
        required = schema.get("required", ())
        rows = [
            (f"<code>{escape(name)}</code>", _kind(inner), _rules(inner, name in required))
            for name, inner in schema["properties"].items()
        ]
        yield from _table(None, rows)
    else:
        yield f"<p>{_kind(schema)} {_rules(schema, True)}</p>"


def _parameter_row(parameter: Json) -> tuple[str, ...]:
    rules = _rules(parameter["schema"], parameter.get("required", False))
    about = _text(parameter.get("description", ""))
    return f"<code>{escape(parameter['name'])}</code>", parameter["in"], _kind(parameter["schema"]), f"{rules} {about}"


def _kind(schema: Json) -> str:
    match schema:
        case {"$ref": str()}:
            return f'<a href="#{_name(schema)}">{_name(schema)}</a>'
        case {"anyOf": options}:
            nullable = ["null"] if "null" in schema.get("type", ()) else []
            return " or ".join([*map(_kind, options), *nullable])
        case {"items": items, "type": kind}:
            return f"list of {_kind(items)}" + (" or null" if "null" in kind else "")
        case {"format": str(format)} if "type" not in schema:
            return format
        case {"type": kind}:
            kinds = kind if isinstance(kind, list) else [kind]
            return " or ".join([str(schema.get("format", kinds[0])), *kinds[1:]])
    return "anything"


_RULES = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
    "default": "default {}",
}


def _rules(schema: Json, required: bool) -> str:
    said = [] if required else ["optional"]
    said += [rule.format(json.dumps(schema[name])) for name, rule in _RULES.items() if name in schema]
    words = schema.get("enum", [schema["const"]] if "const" in schema else [])
    said += [", ".join(f"<code>{escape(str(word))}</code>" for word in words)] if words else []
    return "; ".join(said)


def _table(title: str | None, rows: Any) -> Iterator[str]:
    if title:
        yield f"<h3>{title}</h3>"
    yield "<table>"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
    yield "</table>"


def _folded(example: Any) -> str:
    text = json.dumps(example, indent=2, ensure_ascii=False)
    return f"<details><summary>Example</summary><pre><code>{escape(text)}</code></pre></details>"


def _name(reference: Json) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _text(text: str) -> str:
    """Escape text and render `code`."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if odd % 2 else part for odd, part in enumerate(parts))


def curl(document: Json, path: str, method: str, described: Json) -> str:
    """Return a curl call to copy; replace the token and the ids."""
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
