"""Select the attributes of a response with `attributes` or `excludedAttributes`; always include `id` and `schemas`."""

from typing import Any

import msgspec

from rolecall.scim_server.model import Resource, ScimError, ScimErrorType
from rolecall.scim_server.schema import MEMBERS, ResourceType, find_path

_ALWAYS = ("id", "schemas")
_MOST_NAMES = 100
Keys = tuple[str, ...]


class Projection(msgspec.Struct, frozen=True):
    only: frozenset[Keys] = frozenset()
    without: frozenset[Keys] = frozenset()

    @property
    def is_everything(self) -> bool:
        return not self.only and not self.without

    @property
    def has_members(self) -> bool:
        # Read the members only if they are needed, because a group may have hundreds of thousands.
        if self.only:
            return any(keys[0] == MEMBERS for keys in self.only)
        return (MEMBERS,) not in self.without

    def of(self, resource: Resource) -> Resource:
        if self.only:
            return {name: resource[name] for name in _ALWAYS} | dict(_chosen(resource, self.only))
        kept: Resource = _left(resource, self.without)
        return kept | {name: resource[name] for name in _ALWAYS}


EVERYTHING = Projection()


def read_projection(only: object, without: object, kind: ResourceType) -> Projection:
    if only and without:
        raise ScimError("Send attributes or excludedAttributes, not both", ScimErrorType.INVALID_VALUE)
    return Projection(_paths(only, kind), _paths(without, kind))


def _paths(given: object, kind: ResourceType) -> frozenset[Keys]:
    """Parse attribute names: separated by commas in a query, a list in a body."""
    names = [str(each) for each in given] if isinstance(given, list) else str(given or "").split(",")
    if len(names) > _MOST_NAMES:
        raise ScimError(f"Send at most {_MOST_NAMES} attribute names", ScimErrorType.INVALID_VALUE)
    return frozenset(tuple(find_path(name.strip(), kind).keys) for name in names if name.strip())


def _inner(paths: frozenset[Keys], name: str) -> frozenset[Keys]:
    return frozenset(keys[1:] for keys in paths if keys[0].lower() == name.lower())


def _chosen(value: Any, paths: frozenset[Keys]) -> Any:
    if isinstance(value, list):
        return [_chosen(each, paths) for each in value]
    if not isinstance(value, dict):
        return value
    found = ((name, each, _inner(paths, name)) for name, each in value.items())
    return {name: each if () in rest else _chosen(each, rest) for name, each, rest in found if rest}


def _left(value: Any, paths: frozenset[Keys]) -> Any:
    if isinstance(value, list):
        return [_left(each, paths) for each in value]
    if not isinstance(value, dict) or not paths:
        return value
    found = ((name, each, _inner(paths, name)) for name, each in value.items())
    return {name: _left(each, rest) for name, each, rest in found if () not in rest}
