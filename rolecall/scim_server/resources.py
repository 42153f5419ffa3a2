"""Check pushed resources and normalize them: spell names as declared, make lists where declared, remove secrets.

Identity providers differ, so some other forms are accepted, such as strings for booleans or one value for a list.
Attributes that no schema declares are kept, because a connector may map them to columns.
"""

from typing import Any

import msgspec

from rolecall.core.ids import guid
from rolecall.core.secret_names import looks_secret
from rolecall.core.text import byte_size, is_blank, is_storable, name_key
from rolecall.scim_server.filters import as_flag
from rolecall.scim_server.model import Resource, ScimError, ScimErrorType
from rolecall.scim_server.schema import MEMBERS, Attribute, Attributes, ResourceType

LONGEST_NAME = 500
# The unique index has normalized names, in which one character may become 18. An index row has at most 2,700 bytes.
_MOST_KEY_BYTES = 2500
LARGEST_RESOURCE = 256 * 1024
# A sent resource may be larger than a stored one, but its size is limited too, because checking it takes time.
LARGEST_SENT = 4 * LARGEST_RESOURCE
MOST_MEMBERS = 200_000
MOST_VALUES = 500
# Checking a name takes some ten microseconds.
MOST_NAMES = 20_000
_TYPES: dict[str, tuple[type, ...]] = {"boolean": (bool,), "integer": (int,), "decimal": (int, float)}
_NUMBERS = ("integer", "decimal")
# The database writes numbers without an exponent: 1e300 has 301 digits, and would be read back as a whole number.
_SMALLEST, _LARGEST = 1e-15, 1e15


def invalid_value(detail: str) -> ScimError:
    return ScimError(detail, ScimErrorType.INVALID_VALUE)


def without_core(raw: object, kind: ResourceType) -> Any:
    """Move attributes below the URN of the core schema, as in `{"urn:…:User": {"active": false}}`, to the top level."""
    if not isinstance(raw, dict):
        return raw
    _require_few_names(len(raw), kind)
    inner = {key: value for key, value in raw.items() if kind.is_core(key)}
    if not all(isinstance(value, dict | None) for value in inner.values()):
        raise invalid_value(f"{kind.urn} must be an object")
    rest = {key: value for key, value in raw.items() if key not in inner}
    found = {key: value for part in (rest, *inner.values()) for key, value in (part or {}).items()}
    if len({key.lower() for key in found}) < len(found):
        raise ScimError("An attribute is sent twice: names are case-insensitive", ScimErrorType.INVALID_SYNTAX)
    return found


def checked_resource(raw: object, kind: ResourceType) -> Resource:
    """Validate a resource; return the attributes to store, without secrets, read-only attributes and memberships."""
    if not isinstance(raw, dict):
        raise ScimError("The body must be a JSON object", ScimErrorType.INVALID_SYNTAX)
    _check_schemas(raw, kind)
    # `finished` sets `schemas`. Members are stored in their own table, from which the groups of a user are read.
    sent = {key: value for key, value in raw.items() if key.lower() not in ("groups", "schemas", MEMBERS)}
    encoded = msgspec.json.encode(sent)
    if len(encoded) > LARGEST_SENT:
        raise _too_large(kind)
    _require_few_names(encoded.count(b'":'), kind)
    found: Resource = {}
    for key, value in sent.items():
        extension = next((urn for urn in kind.extensions if urn.lower() == key.lower()), None)
        if extension:
            name = extension
            checked = None if value is None else _complex(extension, value, kind.extensions[extension])
        else:
            name, checked = _member(key, value, kind.attributes)
        # Null and an empty list mean that an attribute has no value (RFC 7643, section 2.5).
        if checked not in (None, [], {}):
            found[name] = checked
    return finished(found, kind)


def finished(resource: Resource, kind: ResourceType) -> Resource:
    """Check the name, the external ID and the size of the resource; return it with `schemas` set."""
    name = resource.get(kind.naming)
    if not isinstance(name, str) or is_blank(name) or not name_key(name):
        raise invalid_value(f"{kind.naming} is required")
    for field in (kind.naming, "externalId"):
        if len(resource.get(field, "")) > LONGEST_NAME:
            raise invalid_value(f"{field} must have at most {LONGEST_NAME} characters")
    if len(name_key(name).encode()) > _MOST_KEY_BYTES:
        raise invalid_value(f"{kind.naming} is too long after Unicode normalization; use a shorter name")
    extensions = [key for key in resource if key.lower().startswith("urn:")]
    whole = {**resource, "schemas": [kind.urn, *extensions]}
    if len(msgspec.json.encode(whole)) > LARGEST_RESOURCE:
        raise _too_large(kind)
    return whole


def _too_large(kind: ResourceType) -> ScimError:
    return ScimError(f"A {kind.kind} may be at most {byte_size(LARGEST_RESOURCE)}", status=413)


def _require_few_names(count: int, kind: ResourceType) -> None:
    if count > MOST_NAMES:
        raise ScimError(f"A {kind.kind} may have at most {MOST_NAMES:,} names of attributes", status=413)


def _check_schemas(raw: Resource, kind: ResourceType) -> None:
    given = next((value for key, value in raw.items() if key.lower() == "schemas"), None)
    if given is None:
        return
    named = [str(each).lower() for each in given] if isinstance(given, list) else []
    if kind.urn.lower() not in named:
        raise invalid_value(f"schemas must contain {kind.urn}")


def _member(key: str, value: object, attributes: Attributes) -> tuple[str, Any]:
    """Return the name of an attribute as declared, and its checked value, which is None if it must not be stored."""
    if not is_storable(key):
        raise invalid_value("Names must not contain NUL characters")
    attribute = attributes.get(key.lower())
    if attribute is None:
        return key, None if looks_secret(key) else undeclared(value)
    if attribute.mutability == "readOnly":
        return attribute.name, None
    return attribute.name, checked_value(value, attribute)


def checked_value(value: object, attribute: Attribute) -> Any:
    if value is None:
        return None
    if not attribute.multi_valued:
        return _single(value, attribute)
    values = value if isinstance(value, list) else [value]
    if len(values) > MOST_VALUES:
        raise too_many_values(attribute.name)
    return [_single(each, attribute) for each in values if each not in (None, "", {})]


def too_many_values(name: str) -> ScimError:
    return ScimError(f"{name} may have at most {MOST_VALUES} values", ScimErrorType.TOO_MANY)


def _single(value: object, attribute: Attribute) -> Any:
    if attribute.type == "complex":
        # Entra sends the manager as a string instead of an object.
        is_short = isinstance(value, str | int | float) and "value" in attribute.parts
        return _complex(attribute.name, {"value": value} if is_short else value, attribute.parts)
    if attribute.type == "boolean":
        value = as_flag(value)
    expected = _TYPES.get(attribute.type, (str,))
    # Python counts booleans as integers.
    is_number = isinstance(value, bool) and attribute.type in _NUMBERS
    if not isinstance(value, expected) or is_number:
        raise invalid_value(f"{attribute.name} must be of type {attribute.type}")
    return _text(value, attribute.name) if isinstance(value, str) else value


def _complex(name: str, value: object, parts: Attributes) -> Any:
    if not isinstance(value, dict):
        raise invalid_value(f"{name} must be an object")
    members = [_member(key, each, parts) for key, each in value.items()]
    return {key: each for key, each in members if each not in (None, [], {})}


def undeclared(value: object) -> Any:
    """Return a value that no schema declares, without secrets in it."""
    match value:
        case dict():
            kept = {key: undeclared(each) for key, each in value.items() if not looks_secret(key)}
            return {_text(key, "A name"): each for key, each in kept.items() if each is not None}
        case list():
            return [undeclared(each) for each in value]
        case str():
            return _text(value, "A value")
        case float() if value and not _SMALLEST <= abs(value) < _LARGEST:
            raise invalid_value("A number is too large or too small; send it as a string")
    return value


def _text(text: str, name: str) -> str:
    if not is_storable(text):
        raise invalid_value(f"{name} must not contain NUL characters")
    return text


def pushed_members(raw: Resource) -> object:
    """Return the members in the body of a group, or None if they are left out."""
    return next((value for key, value in raw.items() if key.lower() == MEMBERS), None)


def member_ids(values: object) -> dict[str, str]:
    """Map the ids of members to the display names that were sent with them."""
    given = values if isinstance(values, list) else [] if values is None else [values]
    if len(given) > MOST_MEMBERS:
        raise ScimError(f"Send at most {MOST_MEMBERS:,} members in one list", status=413)
    found: dict[str, str] = {}
    for each in given:
        value = each.get("value") if isinstance(each, dict) else each
        if not isinstance(value, str) or guid(value) is None:
            raise invalid_value(f"The member {str(value)[:50]!r} does not exist; send the id of a user or group")
        display = each.get("display") if isinstance(each, dict) else None
        # Keep each member once: INSERT … ON CONFLICT DO UPDATE fails if the same row occurs twice.
        found[value.lower()] = _text(display, "display")[:LONGEST_NAME] if isinstance(display, str) else ""
    return found
