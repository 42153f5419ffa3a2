"""Generate JSON Schemas of responses (msgspec structs) and bodies (pydantic)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

import msgspec
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from rolecall.core.checking import Json

_REF = "#/components/schemas/"
_PLAIN: dict[Any, Json] = {
    Any: {},
    object: {},
    msgspec.Raw: {},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    UUID: {"type": "string", "format": "uuid"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
}


class Components:
    """The named schemas of a document. Schemas of bodies are added at the start, schemas of responses on first use."""

    def __init__(self, bodies: Iterable[type[BaseModel]]) -> None:
        wanted: Any = [(body, "validation") for body in bodies]
        references, defined = models_json_schema(wanted, ref_template=_REF + "{model}")
        # Drop the enums of `one_of` fields, which pydantic defines but nothing references.
        used = {name: schema for name, schema in defined.get("$defs", {}).items() if "enum" not in schema}
        self.schemas: Json = {_short(name): _tidy(schema) for name, schema in used.items()}
        self._bodies = {body: _tidy(reference) for (body, _), reference in references.items()}
        self._kinds: dict[str, Any] = {}

    def body(self, kind: type[BaseModel]) -> Json:
        return dict(self._bodies[kind])

    def has_required_field(self, kind: type[BaseModel]) -> bool:
        return bool(self.schemas[self._bodies[kind]["$ref"].removeprefix(_REF)].get("required"))

    def answer(self, kind: Any) -> Json:
        """Return the schema of a response type as msgspec encodes it."""
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        origin, arguments = get_origin(kind) or kind, get_args(kind)
        if origin is Annotated:
            return self.answer(arguments[0])
        if origin is Literal:
            return {"type": "string", **({"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)})}
        if origin in (Union, UnionType):
            return _any_of([self.answer(option) for option in arguments if option is not msgspec.UnsetType])
        if not isinstance(origin, type):
            raise TypeError(f"No schema for {kind}")
        if issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.answer(arguments[1])}
        if issubclass(origin, Sequence | frozenset) and arguments:
            return {"type": "array", "items": self.answer(arguments[0])}
        if issubclass(origin, Enum):
            return self._named(kind, kind.__name__, {"type": "string", "enum": [member.value for member in kind]})
        if issubclass(origin, msgspec.Struct):
            return self._struct(kind, origin.__name__ if not arguments else f"{arguments[0].__name__}{origin.__name__}")
        raise TypeError(f"No schema for {kind}")

    def _struct(self, kind: Any, name: str) -> Json:
        if self._kinds.get(name) != kind:
            schema: Json = {"type": "object"}
            # Register the name before describing the fields, because a field may have the same type.
            reference = self._named(kind, name, schema)
            fields = msgspec.structs.fields(kind)
            omits = (get_origin(kind) or kind).__struct_config__.omit_defaults
            schema["properties"] = {field.encode_name: self.answer(field.type) for field in fields}
            schema["required"] = [field.encode_name for field in fields if not _may_be_absent(field, omits)]
            schema["additionalProperties"] = False
            return reference
        return {"$ref": _REF + name}

    def _named(self, kind: Any, name: str, schema: Json) -> Json:
        if self.schemas.setdefault(name, schema) != schema:
            raise TypeError(f"Two types are named {name}")
        self._kinds[name] = kind
        return {"$ref": _REF + name}


def _may_be_absent(field: Any, omits_defaults: bool) -> bool:
    return msgspec.UnsetType in get_args(field.type) or (omits_defaults and not field.required)


def _any_of(options: list[Json]) -> Json:
    match options:
        case [option]:
            return option
        case [{"type": str(kind)} as option, {"type": "null"}]:
            # `enum` must list null too: otherwise null would be invalid in spite of `type`.
            values = {"enum": [*option["enum"], None]} if "enum" in option else {}
            return {**option, **values, "type": [kind, "null"]}
    return {"anyOf": options}


def _flat(options: list[Json]) -> list[Json]:
    """Return the options with nested `anyOf` flattened, because client generators do not support nesting."""
    return [inner for option in options for inner in (option["anyOf"] if option.keys() == {"anyOf"} else [option])]


def _short(name: str) -> str:
    """Shorten a qualified name: `rolecall__personnel_events__shapes__CancelBody` → `PersonnelEventsCancelBody`."""
    *path, last = name.split("__")
    return (path[1].title().replace("_", "") if path else "") + last


def _tidy(schema: Any) -> Any:
    """Return a pydantic schema with short names and flat `anyOf`, without titles, null defaults and docstrings."""
    match schema:
        case {"$ref": str(reference)}:
            return {"$ref": _REF + _short(reference.removeprefix(_REF))}
        case {"properties": properties, **rest}:
            kept = {name: _tidy(inner) for name, inner in properties.items()}
            return {**_tidy(rest), "properties": kept}
        case {"anyOf": options, **rest}:
            return {**_any_of(_flat([_tidy(option) for option in options])), **_tidy(rest)}
        case dict():
            noise = {"title", "description"} if schema.get("type") == "object" or "enum" in schema else {"title"}
            kept = {key: _tidy(value) for key, value in schema.items() if key not in noise}
            return kept if kept.get("default", "") is not None else {k: v for k, v in kept.items() if k != "default"}
        case list():
            return [_tidy(inner) for inner in schema]
    return schema
