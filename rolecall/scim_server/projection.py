"""Select the attributes of a response with `attributes` or `excludedAttributes`; always include `id` and `schemas`."""

from typing import Any

import msgspec

from rolecall.scim_server.model import Resource, ScimError, ScimErrorType
from rolecall.scim_server.schema import MEMBERS, ResourceType, find_path

_ALWAYS = ("id", "schemas")
_MOST_NAMES = 100
# The parts of each name in lower case; a name without parts means the whole value. A resource may have many thousand
# names, so each of them is looked up, not compared with all that were sent.
Names = dict[str, "Names"]


class Projection(msgspec.Struct, frozen=True):
    only: Names = {}
    without: Names = {}

    @property
    def is_everything(self) -> bool:
        return not self.only and not self.without

    @property
    def has_members(self) -> bool:
        # Read the members only if they are needed, because a group may have hundreds of thousands.
        return MEMBERS in self.only if self.only else self.without.get(MEMBERS) != {}

    def of(self, resource: Resource) -> Resource:
        if self.only:
            return {name: resource[name] for name in _ALWAYS} | dict(_chosen(resource, self.only))
        kept: Resource = _left(resource, self.without)
        return kept | {name: resource[name] for name in _ALWAYS}


EVERYTHING = Projection()


def read_projection(only: object, without: object, kind: ResourceType) -> Projection:
    if only and without:
        raise ScimError("Send attributes or excludedAttributes, not both", ScimErrorType.INVALID_VALUE)
    return Projection(_names(only, kind), _names(without, kind))


def _names(given: object, kind: ResourceType) -> Names:
    """Parse attribute names: separated by commas in a query, a list in a body."""
    names = (given or "").split(",") if isinstance(given, str | None) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ScimError("The names of attributes must be strings", ScimErrorType.INVALID_VALUE)
    if len(names) > _MOST_NAMES:
        raise ScimError(f"Send at most {_MOST_NAMES} attribute names", ScimErrorType.INVALID_VALUE)
    found: Names = {}
    paths = [find_path(name.strip(), kind).keys for name in names if name.strip()]
    # A shorter path comes later, and replaces the longer ones that it includes.
    for *outer, last in sorted(paths, key=len, reverse=True):
        inner = found
        for key in outer:
            inner = inner.setdefault(key.lower(), {})
        inner[last.lower()] = {}
    return found


def _chosen(value: Any, names: Names) -> Any:
    if isinstance(value, list):
        return [_chosen(each, names) for each in value]
    if not isinstance(value, dict) or not names:
        return value
    return {key: _chosen(each, names[key.lower()]) for key, each in value.items() if key.lower() in names}


def _left(value: Any, names: Names) -> Any:
    if isinstance(value, list):
        return [_left(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    found = ((key, each, names.get(key.lower())) for key, each in value.items())
    return {key: _left(each, inner) if inner else each for key, each, inner in found if inner != {}}
