"""Convert forms of sources and carriers: connection settings, and fields with JSON."""

import re

import msgspec

from rolecall.console.forms import first, integer, problems_by_field
from rolecall.console.inputs import Form
from rolecall.core.checking import Json
from rolecall.core.errors import Invalid
from rolecall.sources.shapes import SourceDetail

# msgspec gives the position only in the text of its error.
_BYTE = re.compile(r"byte (\d+)")
# The number of characters that a message quotes before the place of a JSON error.
_NAMED = 20
_TEXTS = ("kind", "url", "username", "authentication", "header", "secretRef", "secret")


def current_peer(detail: SourceDetail | msgspec.Struct) -> dict[str, str]:
    stored = msgspec.to_builtins(detail)
    texts = {name: stored[name] for name in _TEXTS if name in stored}
    return texts | {
        "startTls": "yes" if stored["startTls"] else "",
        "timeoutSeconds": str(stored["timeoutSeconds"]),
        "headers": as_json(stored["headers"]) if stored["headers"] else "",
    }


def peer_body(form: Form) -> Json:
    body: Json = {name: first(form, name) or None for name in _TEXTS}
    body["timeoutSeconds"] = integer(first(form, "timeoutSeconds")) or None
    body["startTls"] = first(form, "startTls") == "yes"
    body["headers"] = json_object("headers", first(form, "headers"))
    # A new secret replaces the reference to a secret.
    return body | ({"secretRef": None} if body["secret"] else {})


def as_json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def json_object(name: str, text: str) -> Json | None:
    if not text.strip():
        return None
    try:
        return msgspec.json.decode(text, type=dict)
    except msgspec.DecodeError as error:
        raise Invalid.on(name, f"{name.capitalize()} must be a JSON object{_place(text, str(error))}") from None


def _place(text: str, said: str) -> str:
    """Describe where `text` stops being valid JSON; `said`, the error of msgspec, contains the byte position."""
    found = _BYTE.search(said)
    if not found:
        return ""
    # The position may be inside a character, so drop an incomplete last character.
    before = text.encode()[: int(found[1])].decode(errors="ignore")
    line, quoted = before.count("\n") + 1, before[-_NAMED:].strip() or "its start"
    return f"; the JSON is invalid from line {line} on, after {quoted}"


def problems_by_part(error: Invalid) -> dict[str, str]:
    """Return problems by form field; a problem inside a JSON field is listed under that field, with its path."""
    found: dict[str, str] = {}
    for field, message in problems_by_field(error).items():
        name, _, place = field.partition(".")
        said = f"{place}: {message}" if place else message
        found[name] = f"{found[name]}. {said}" if name in found else said
    return found
