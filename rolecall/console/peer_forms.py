"""Forms of sources and carriers: how to connect to the system of an application, and fields of JSON."""

import re

import msgspec

from rolecall.console.forms import first, integer, problems_by_field
from rolecall.console.inputs import Form
from rolecall.core.checking import Json
from rolecall.core.errors import Invalid
from rolecall.sources.shapes import SourceDetail

_BYTE = re.compile(r"byte (\d+)")
# How much of the text before a mistake is named.
_NAMED = 20
_TEXTS = ("kind", "url", "username", "authentication", "header", "secretRef", "secret")


def current_peer(detail: SourceDetail | msgspec.Struct) -> dict[str, str]:
    """Return the fields that say how to connect, as the form shows them."""
    stored = msgspec.to_builtins(detail)
    texts = {name: stored[name] for name in _TEXTS if name in stored}
    return texts | {
        "startTls": "yes" if stored["startTls"] else "",
        "timeoutSeconds": str(stored["timeoutSeconds"]),
        "headers": as_json(stored["headers"]) if stored["headers"] else "",
    }


def peer_body(form: Form) -> Json:
    """Convert the fields that say how to connect to those of the API."""
    body: Json = {name: first(form, name) or None for name in _TEXTS}
    body["timeoutSeconds"] = integer(first(form, "timeoutSeconds")) or None
    body["startTls"] = first(form, "startTls") == "yes"
    body["headers"] = json_object("headers", first(form, "headers"))
    # A new secret replaces the one that the reference names.
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
    """Return where a text stops being JSON, from the byte that the decoder names."""
    found = _BYTE.search(said)
    if not found:
        return ""
    before = text.encode()[: int(found[1])].decode(errors="ignore")
    return f"; it is not JSON from line {before.count(chr(10)) + 1} on, after {before[-_NAMED:].strip() or 'its start'}"


def problems_by_part(error: Invalid) -> dict[str, str]:
    """Show problems inside of a JSON field beside that field, with their place."""
    found: dict[str, str] = {}
    for field, message in problems_by_field(error).items():
        name, _, place = field.partition(".")
        said = f"{place}: {message}" if place else message
        found[name] = f"{found[name]}. {said}" if name in found else said
    return found
