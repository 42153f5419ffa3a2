"""Apply the operations of a PATCH request (RFC 7644, section 3.5.2) to a resource.

Operations change the stored attributes; then `checked_resource` checks the result. Members of a group are stored in a
table of their own, so operations on them become `MemberChange`s (`member_changes.py`).
"""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from rolecall.core.ids import guid
from rolecall.core.text import byte_size
from rolecall.scim_server.filters import (
    AllOf,
    CompareOperator,
    Comparison,
    Filter,
    FilterParser,
    as_flag,
    comparisons,
    matches,
    tokens_of,
)
from rolecall.scim_server.member_changes import MemberChange, PatchVerb, merged
from rolecall.scim_server.model import Resource, ScimError, ScimErrorType
from rolecall.scim_server.resources import (
    LARGEST_SENT,
    MOST_VALUES,
    checked_resource,
    invalid_value,
    member_ids,
    too_many_values,
    without_core,
)
from rolecall.scim_server.schema import LONGEST_PATH, MEMBERS, AttributePath, ResourceType, find_path

MOST_OPERATIONS = 1000
# The maximum work of a request. One unit of work takes about a microsecond, in the worst case a few.
_MOST_WORK = 500_000
_BYTES_PER_UNIT, _FILTERED_BYTES_PER_UNIT = 100, 30
# Encode equal values as equal bytes, because comparing lists as sets of bytes is fast.
_MARK = msgspec.json.Encoder(order="deterministic").encode


class PatchWork:
    """Count the work of all operations of a request, to limit the time for which it occupies the event loop."""

    def __init__(self) -> None:
        self._units = self._operations = self._written = 0

    def count_operations(self, number: int) -> None:
        self._operations += number
        if self._operations > MOST_OPERATIONS:
            raise ScimError(f"Send at most {MOST_OPERATIONS} operations in one request", status=413)

    def count_written(self, value: object, elements: int = 1) -> None:
        """Count a value once for each element that it changes."""
        self._written += _size(value) * elements
        if self._written > LARGEST_SENT:
            raise ScimError(f"The values of all operations may total at most {byte_size(LARGEST_SENT)}", status=413)

    def count_read(self, value: object) -> None:
        self._count(_size(value) // _BYTES_PER_UNIT)

    def count_names(self, names: Collection[str]) -> None:
        self._count(len(names) // 5)

    def count_filtered(self, term: Filter, values: Sequence[object]) -> None:
        self._count(comparisons(term) * (len(values) + _size(values) // _FILTERED_BYTES_PER_UNIT))

    def _count(self, units: int) -> None:
        self._units += units
        if self._units > _MOST_WORK:
            raise ScimError("The operations read and filter too many values; send fewer in one request", status=413)


def _size(value: object) -> int:
    return len(msgspec.json.encode(value))


class PatchTarget(msgspec.Struct, frozen=True):
    """The target of an operation, such as `emails[type eq "work"].value`: attribute, value filter and sub-attribute."""

    path: AttributePath
    fitting: Filter | None
    part: str
    # Whether the operation has a path; otherwise the path is a key of its value.
    is_explicit: bool


class PatchedResource(msgspec.Struct, frozen=True):
    resource: Resource
    members: list[MemberChange]
    # The members that operations add, even if a later one removes them again: they must exist.
    added: list[str]
    # The work so far; the filters of members add to it.
    work: PatchWork


def apply_patch(resource: Resource, raw: object, kind: ResourceType) -> PatchedResource:
    patch = Patch(resource, kind)
    operations = _operations(raw)
    patch.work.count_operations(len(operations))
    for operation in operations:
        patch.apply(operation)
    added = {id: "" for change in patch.members if change.verb is not PatchVerb.REMOVE for id in change.ids}
    return PatchedResource(checked_resource(patch.resource, kind), merged(patch.members), list(added), patch.work)


def _operations(raw: object) -> list[Resource]:
    body = {key.lower(): value for key, value in raw.items()} if isinstance(raw, dict) else {}
    found = body.get("operations")
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
        raise ScimError("Operations must be a list of at least one object", ScimErrorType.INVALID_SYNTAX)
    return [{key.lower(): value for key, value in each.items()} for each in found]


class Patch:
    def __init__(self, resource: Resource, kind: ResourceType) -> None:
        self.resource, self._kind = resource, kind
        self.members: list[MemberChange] = []
        self.work = PatchWork()

    def apply(self, operation: Resource) -> None:
        # Entra capitalizes Add, Replace and Remove.
        word, path, value = str(operation.get("op")).lower(), operation.get("path"), operation.get("value")
        if word not in set(PatchVerb):
            raise ScimError(f"op must be one of {', '.join(PatchVerb)}", ScimErrorType.INVALID_SYNTAX)
        verb = PatchVerb(word)
        if verb is not PatchVerb.REMOVE and "value" not in operation:
            # A value of null removes the attribute, but a missing one is probably a mistake.
            raise invalid_value(f"{verb} needs a value")
        # Like a missing path, the URN of the core schema means the whole resource.
        if path is not None and not self._kind.is_core(path):
            self._change(verb, self._target(path, value, is_explicit=True), value)
            return
        if verb is PatchVerb.REMOVE:
            raise ScimError("remove needs a path", ScimErrorType.NO_TARGET)
        if not isinstance(value, dict):
            raise ScimError("An operation without a path needs an object as its value", ScimErrorType.INVALID_SYNTAX)
        attributes = without_core(value, self._kind)
        # Count each attribute as an operation. `apply_patch` has already counted one for the whole value.
        self.work.count_operations(len(attributes) - 1)
        for key, each in attributes.items():
            self._change(verb, self._target(key, each, is_explicit=False), each)

    def _target(self, text: object, value: object, *, is_explicit: bool) -> PatchTarget:
        if not isinstance(text, str) or len(text) > LONGEST_PATH:
            raise ScimError(f"path must be a string of at most {LONGEST_PATH} characters", ScimErrorType.INVALID_PATH)
        try:
            name, fitting, part = FilterParser(tokens_of(text)).value_path()
        except ScimError as error:
            raise ScimError(f"The path {text!r} is not valid: {error}", ScimErrorType.INVALID_PATH) from None
        path = self._path(name, value, is_explicit)
        if fitting and (path.part or not path.name):
            raise ScimError(f"{name!r} cannot have a value filter", ScimErrorType.INVALID_PATH)
        return PatchTarget(path, fitting, part, is_explicit)

    def _path(self, name: str, value: object, is_explicit: bool) -> AttributePath:
        """Resolve a path. Names that no schema declares are case-insensitive too: find them as they are stored."""
        if self._is_foreign(name, value, is_explicit):
            return AttributePath(self._stored(self.resource, name), "", "", None)
        path = find_path(name, self._kind)
        extension = self._stored(self.resource, path.extension)
        if path.declared or not path.name:
            return path._replace(extension=extension)
        holder = self.resource.get(extension) if extension else self.resource
        return path._replace(extension=extension, name=self._stored(holder, path.name))

    def _is_foreign(self, name: str, value: object, is_explicit: bool) -> bool:
        """Return whether a name is the URN of a whole extension that no schema declares.

        Otherwise its last part is the name of an attribute in the extension.
        """
        lower = name.lower()
        if not lower.startswith("urn:"):
            return False
        self.work.count_names(self.resource)
        declared = tuple(urn.lower() for urn in (self._kind.urn, *self._kind.extensions))
        if lower in declared or lower.startswith(tuple(f"{urn}:" for urn in declared)):
            return False
        stored = [key.lower() for key in self.resource]
        if lower in stored or not isinstance(value, dict) or any(lower.startswith(f"{key}:") for key in stored):
            return lower in stored
        # The extension is not stored yet. As a path, the URN may also end with a complex attribute of it.
        return not is_explicit or lower.endswith(f":{self._kind.kind.lower()}")

    def _stored(self, holder: object, name: str) -> str:
        if not isinstance(holder, dict) or not name or name in holder:
            return name
        self.work.count_names(holder)
        return _spelling(holder, name)

    def _change(self, verb: PatchVerb, target: PatchTarget, value: Any) -> None:
        path = target.path
        if path.keys[0] == MEMBERS and MEMBERS in self._kind.attributes:
            self.members.append(_member_change(verb, target, value))
            return
        top = self._kind.attributes.get(path.keys[0].lower())
        if top and top.mutability == "readOnly":
            # Okta sends the id in the value of an operation without a path: ignore it there.
            if target.is_explicit:
                raise ScimError(f"{path.name} cannot be changed", ScimErrorType.MUTABILITY)
            return
        # Check the limits first, because the change may read many elements and copy the value to each of them.
        self.work.count_written(value)
        if not path.name:
            self.work.count_read(self.resource.get(path.extension))
            _change_object(verb, self.resource, path.extension, value)
            return
        # `checked_resource` drops an extension that stays empty.
        holder = self.resource.setdefault(path.extension, {}) if path.extension else self.resource
        if not isinstance(holder, dict):
            raise ScimError(f"{path.extension} is not an object", ScimErrorType.INVALID_PATH)
        self.work.count_read(holder.get(path.name))
        if target.fitting:
            self._change_fitting(verb, holder, target, value)
        elif path.part:
            self._change_part(verb, holder, path, value)
        elif isinstance(holder.get(path.name), list) or (path.declared and path.declared.multi_valued):
            _change_list(verb, holder, path.name, value)
        else:
            _change_object(verb, holder, path.name, value)

    def _change_part(self, verb: PatchVerb, holder: Resource, path: AttributePath, value: Any) -> None:
        parent = find_path(":".join(filter(None, [path.extension, path.name])), self._kind).declared
        current = holder.get(path.name)
        if current is None:
            if verb is PatchVerb.REMOVE:
                return
            current = holder[path.name] = [{}] if parent and parent.multi_valued else {}
        elements = current if isinstance(current, list) else [current]
        self.work.count_written(value, len(elements))
        for each in elements:
            if not isinstance(each, dict):
                raise ScimError(f"{path.name} has no sub-attribute {path.part}", ScimErrorType.INVALID_PATH)
            _change_object(verb, each, path.part, value)

    def _change_fitting(self, verb: PatchVerb, holder: Resource, target: PatchTarget, value: Any) -> None:
        name, fitting = target.path.name, target.fitting
        assert fitting
        values = holder.get(name) or []
        values = values if isinstance(values, list) else [values]
        self.work.count_filtered(fitting, values)
        found = [each for each in values if matches(fitting, each)]
        if verb is PatchVerb.REMOVE and not target.part:
            # Compare by identity, because dictionaries are not hashable.
            removed = set(map(id, found))
            holder[name] = [each for each in values if id(each) not in removed]
            return
        if not found and verb is not PatchVerb.REMOVE:
            # Entra expects a missing element to be created from the filter, as in emails[type eq "work"].value.
            found = [_made_from(fitting, target)]
            _require_room(name, values, found)
            holder[name] = values = [*values, *found]
        self.work.count_written(value, len(found))
        for each in found:
            if not isinstance(each, dict):
                raise ScimError(f"{name} is a list of plain values without sub-attributes", ScimErrorType.INVALID_PATH)
            if target.part:
                _change_object(verb, each, target.part, value)
            elif isinstance(value, dict):
                _merge(each, value)
            else:
                raise invalid_value(f"The value for {name} must be an object")
        _keep_one_primary(values, found)


def _spelling(holder: Resource, name: str) -> str:
    # Names are case-insensitive: change the existing key instead of adding another spelling of it.
    return name if name in holder else next((key for key in holder if key.lower() == name.lower()), name)


def _merge(holder: Resource, more: Resource) -> None:
    names = {key.lower(): key for key in holder}
    holder.update({names.get(key.lower(), key): each for key, each in more.items()})


def _made_from(fitting: Filter, target: PatchTarget) -> Resource:
    terms = fitting.terms if isinstance(fitting, AllOf) else (fitting,)
    parts = target.path.declared.parts if target.path.declared else {}
    made: Resource = {}
    for term in terms:
        # Only an `eq` comparison determines a value of the new element.
        if not isinstance(term, Comparison) or term.operator is not CompareOperator.EQ:
            raise ScimError("No value matches the filter of the path", ScimErrorType.NO_TARGET)
        declared = parts.get(term.path.lower())
        is_flag = declared is not None and declared.type == "boolean"
        made[declared.name if declared else term.path] = as_flag(term.value) if is_flag else term.value
    return made


def _change_list(verb: PatchVerb, holder: Resource, name: str, value: Any) -> None:
    given = value if isinstance(value, list) else [] if value is None else [value]
    current = holder.get(name) or []
    if verb is PatchVerb.REPLACE:
        holder[name] = given
        _require_room(name, given, [])
        return
    if verb is PatchVerb.REMOVE:
        named = {_MARK(_value_of(each)) for each in given}
        holder[name] = [each for each in current if given and _MARK(_value_of(each)) not in named]
        return
    _require_room(name, current, given)
    known = set(map(_MARK, current))
    added = [each for each in given if _MARK(each) not in known]
    holder[name] = [*current, *added]
    _keep_one_primary(holder[name], added)


def _require_room(name: str, values: list[Any], more: list[Any]) -> None:
    if len(values) + len(more) > MOST_VALUES:
        raise too_many_values(name)


def _value_of(each: object) -> object:
    return each.get(_spelling(each, "value"), each) if isinstance(each, dict) else each


def _change_object(verb: PatchVerb, holder: Resource, name: str, value: Any) -> None:
    """Set or remove a key of an object; merge the old and the new value if both are objects."""
    name = _spelling(holder, name)
    # Null means that an attribute has no value (RFC 7643, section 2.5).
    if verb is PatchVerb.REMOVE or value is None:
        holder.pop(name, None)
        return
    current = holder.get(name)
    if isinstance(current, dict) and isinstance(value, dict):
        _merge(current, value)
    else:
        holder[name] = value


def _keep_one_primary(values: list[Any], changed: list[Any]) -> None:
    """If a changed value is primary, clear `primary` of the other values."""
    # RFC 7644, section 3.5.2, requires this of the server.
    if any(isinstance(each, dict) and as_flag(each.get(_spelling(each, "primary"))) is True for each in changed):
        kept = set(map(id, changed))
        for each in values:
            if isinstance(each, dict) and each.get("primary") and id(each) not in kept:
                each["primary"] = False


def _member_change(verb: PatchVerb, target: PatchTarget, value: Any) -> MemberChange:
    fitting = target.fitting
    if target.path.part or target.part or (fitting and verb is not PatchVerb.REMOVE):
        raise ScimError("A member cannot be changed in part; add or remove whole members", ScimErrorType.INVALID_PATH)
    if verb is not PatchVerb.REMOVE:
        if value is None:
            raise invalid_value("The members to add or replace are missing")
        return MemberChange(verb, member_ids(value))
    if fitting is None:
        # Entra sends the members to remove as the value; without a value, all are removed.
        return MemberChange(verb, member_ids(value), is_all=value is None)
    if isinstance(fitting, Comparison) and fitting.path.lower() == "value" and fitting.operator is CompareOperator.EQ:
        # Removing one member by its id is frequent, and does not need to read the other members of the group.
        id = guid(fitting.value)
        return MemberChange(verb, {str(id): ""} if id else {})
    return MemberChange(verb, fitting=fitting)
