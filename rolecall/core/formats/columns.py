"""The columns of a list, derived from the type of its items: nested objects become `application.name`, lists JSON."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import inspect

_ENCODE = msgspec.json.Encoder().encode


class ColumnType(StrEnum):
    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"
    DATE = "date"
    JSON = "json"


class Column(msgspec.Struct, frozen=True):
    """A column; `path` leads from an item, as the API encodes it, to the cell."""

    path: tuple[str, ...]
    type: ColumnType

    @property
    def name(self) -> str:
        return ".".join(self.path)


_TYPES: dict[type[inspect.Type], ColumnType] = {
    inspect.StrType: ColumnType.TEXT,
    inspect.EnumType: ColumnType.TEXT,
    inspect.LiteralType: ColumnType.TEXT,
    inspect.UUIDType: ColumnType.TEXT,
    inspect.IntType: ColumnType.INTEGER,
    inspect.FloatType: ColumnType.NUMBER,
    inspect.BoolType: ColumnType.BOOLEAN,
    inspect.DateTimeType: ColumnType.TIME,
    inspect.DateType: ColumnType.DATE,
}


@cache
def columns_of(item: Any) -> tuple[Column, ...]:
    """Return the columns of a list of such items."""
    return tuple(_columns(inspect.type_info(item), ()))


def _columns(type: inspect.Type, path: tuple[str, ...]) -> Iterator[Column]:
    kind = _without_none(type)
    if isinstance(kind, inspect.StructType):
        for field in kind.fields:
            yield from _columns(field.type, (*path, field.encode_name))
    else:
        yield Column(path, _TYPES.get(kind.__class__, ColumnType.JSON))


def _without_none(type: inspect.Type) -> inspect.Type:
    while isinstance(type, inspect.Metadata):
        type = type.type
    if isinstance(type, inspect.UnionType):
        kinds = [kind for kind in type.types if not _is_nothing(kind)]
        return _without_none(kinds[0]) if len(kinds) == 1 else inspect.AnyType()
    return type


def _is_nothing(type: inspect.Type) -> bool:
    return isinstance(type, inspect.NoneType) or (
        isinstance(type, inspect.CustomType) and type.cls is msgspec.UnsetType
    )


def cells(items: Sequence[Any], columns: Sequence[Column]) -> dict[str, list[Any]]:
    """Return the cells by column, as the API encodes them; JSON as text."""
    rows = msgspec.to_builtins(items)
    within: dict[tuple[str, ...], list[Any]] = {(): rows}
    return {column.name: _cells(within, column) for column in columns}


def _cells(within: dict[tuple[str, ...], list[Any]], column: Column) -> list[Any]:
    found = _reached(within, column.path)
    if column.type == ColumnType.JSON:
        return [None if value is None else _ENCODE(value).decode() for value in found]
    return found


def _reached(within: dict[tuple[str, ...], list[Any]], path: tuple[str, ...]) -> list[Any]:
    """Return the value at the path in each row; look up nested objects once for all their columns."""
    if path not in within:
        above, name = _reached(within, path[:-1]), path[-1]
        try:
            within[path] = list(map(itemgetter(name), above))
        except (KeyError, TypeError):
            # A field that is not encoded, or an object that is missing.
            within[path] = [object.get(name) if object else None for object in above]
    return within[path]
