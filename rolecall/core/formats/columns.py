"""Derive the columns of a list from the type of its items.

The fields of nested objects become columns such as `application.name`; lists become JSON.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Any, cast

import msgspec
from msgspec import inspect

_ENCODE = msgspec.json.Encoder().encode


class ColumnType(StrEnum):
    TEXT = "text"
    # Text that the service defines, such as an id or a status.
    CODE = "code"
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
    inspect.EnumType: ColumnType.CODE,
    inspect.LiteralType: ColumnType.CODE,
    inspect.UUIDType: ColumnType.CODE,
    inspect.IntType: ColumnType.INTEGER,
    inspect.FloatType: ColumnType.NUMBER,
    inspect.BoolType: ColumnType.BOOLEAN,
    inspect.DateTimeType: ColumnType.TIME,
    inspect.DateType: ColumnType.DATE,
}


@cache
def columns_of(item: Any) -> tuple[Column, ...]:
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
    """Return the cells of each column as the API encodes them; objects and lists become JSON text."""
    within: dict[tuple[str, ...], Sequence[Any]] = {(): items}
    return {column.name: _encoded(_reached(within, column.path), column.type) for column in columns}


def _encoded(values: Sequence[Any], type: ColumnType) -> list[Any]:
    try:
        if type == ColumnType.JSON:
            return [None if value is None else _ENCODE(value).decode() for value in values]
        return cast(list[Any], msgspec.to_builtins(list(values)))
    except TypeError:
        # Replace UNSET, which marks fields that the API omits.
        return _encoded([None if value is msgspec.UNSET else value for value in values], type)


def _reached(within: dict[tuple[str, ...], Sequence[Any]], path: tuple[str, ...]) -> Sequence[Any]:
    """Return the value at the path in each row; read each nested object once for all of its columns."""
    if path not in within:
        above, name = _reached(within, path[:-1]), path[-1]
        kinds = {*map(type, above)} - {NoneType, msgspec.UnsetType}
        if len(kinds) == 1 and issubclass(kind := kinds.pop(), msgspec.Struct):
            # Work column by column: building an object for each row would take three times as long.
            nothing = (None,) * len(kind.__struct_fields__)
            rows = [msgspec.structs.astuple(each) if type(each) is kind else nothing for each in above]
            for field, values in zip(kind.__struct_encode_fields__, zip(*rows, strict=True), strict=True):
                within[*path[:-1], field] = values
        else:
            objects = msgspec.to_builtins(above)
            within[path] = [each.get(name) if each else None for each in objects]
    return within[path]
