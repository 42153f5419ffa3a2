"""Declare the attributes of users and groups (RFC 7643), which `/Schemas` publishes. Names are case-insensitive.

Passwords are not declared, because they are never stored. The groups of a user are not declared either, because groups
list their members.
"""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rolecall.scim_server.model import ResourceKind, ScimError, ScimErrorType

CORE = "urn:ietf:params:scim:schemas:core:2.0:"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
MEMBERS = "members"
LONGEST_PATH = 500
SCHEMAS: list[dict[str, Any]] = msgspec.json.decode(Path(__file__).with_name("schemas.json").read_bytes())


class Attribute(msgspec.Struct, rename="camel"):
    """The declaration of an attribute; `parts` has its sub-attributes by lower-case name."""

    name: str
    type: str = "string"
    multi_valued: bool = False
    required: bool = False
    case_exact: bool = False
    mutability: str = "readWrite"
    sub_attributes: list["Attribute"] = []

    @property
    def parts(self) -> "Attributes":
        return _by_name(self.sub_attributes)


Attributes = dict[str, Attribute]


def _by_name(attributes: list[Attribute]) -> Attributes:
    return {attribute.name.lower(): attribute for attribute in attributes}


class ResourceType(msgspec.Struct, frozen=True):
    """A resource type: users or groups. `naming` is the attribute with the unique name."""

    kind: ResourceKind
    endpoint: str
    urn: str
    naming: str
    attributes: Attributes
    extensions: dict[str, Attributes]

    def is_core(self, name: object) -> bool:
        """Return whether a name is the URN of the core schema of this type."""
        return isinstance(name, str) and name.lower() == self.urn.lower()


_COMMON = [
    Attribute("id", case_exact=True, mutability="readOnly"),
    Attribute("externalId", case_exact=True),
    Attribute("schemas", "reference", multi_valued=True, case_exact=True, mutability="readOnly"),
    Attribute("meta", "complex", mutability="readOnly"),
]


def _declared(urn: str) -> Attributes:
    found = next(schema for schema in SCHEMAS if schema["id"] == urn)
    return _by_name(msgspec.convert(found["attributes"], list[Attribute]))


USERS = ResourceType(
    ResourceKind.USER,
    "Users",
    f"{CORE}User",
    "userName",
    _by_name(_COMMON) | _declared(f"{CORE}User"),
    {ENTERPRISE: _declared(ENTERPRISE)},
)
GROUPS = ResourceType(
    ResourceKind.GROUP, "Groups", f"{CORE}Group", "displayName", _by_name(_COMMON) | _declared(f"{CORE}Group"), {}
)
ENDPOINTS = {each.endpoint: each for each in (USERS, GROUPS)}


class AttributePath(NamedTuple):
    """The path of a value in a resource: extension, attribute and sub-attribute, each in its declared spelling."""

    extension: str
    name: str
    part: str
    declared: Attribute | None

    @property
    def keys(self) -> list[str]:
        return [key for key in (self.extension, self.name, self.part) if key]


def find_path(text: str, kind: ResourceType) -> AttributePath:
    """Resolve a path such as `userName`, `name.familyName`, `urn:…:User:manager.value` or the URN of an extension."""
    if not text or not text.isprintable() or len(text) > LONGEST_PATH:
        raise ScimError(f"{text[:50]!r} is not an attribute", ScimErrorType.INVALID_PATH)
    if not text.lower().startswith("urn:"):
        return _inside("", kind.attributes, text)
    if extension := _named(kind.extensions, text):
        return AttributePath(extension, "", "", None)
    # Split at the last colon first, and only then at dots, because the URNs contain dots, as in `core:2.0:User`.
    urn, _, name = text.rpartition(":")
    if urn.lower() == kind.urn.lower():
        return _inside("", kind.attributes, name)
    extension = _named(kind.extensions, urn) or urn
    return _inside(extension, kind.extensions.get(extension, {}), name)


def _named(names: dict[str, Attributes], urn: str) -> str:
    return next((name for name in names if name.lower() == urn.lower()), "")


def _inside(extension: str, attributes: Attributes, text: str) -> AttributePath:
    name, dot, part = text.partition(".")
    if "." in part:
        raise ScimError(f"{text!r} has too many parts", ScimErrorType.INVALID_PATH)
    if not name or (dot and not part):
        raise ScimError(f"{text!r} has an empty name", ScimErrorType.INVALID_PATH)
    attribute = attributes.get(name.lower())
    if attribute is None or not part:
        return AttributePath(extension, attribute.name if attribute else name, part, attribute)
    declared = attribute.parts.get(part.lower())
    return AttributePath(extension, attribute.name, declared.name if declared else part, declared)
