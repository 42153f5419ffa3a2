"""Split cells that contain several values: separated by a character, as JSON, in braces, or as distinguished names."""

import csv
import re
from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.keyed_values import keyed_values, name_of_entry, object_in, unread_in
from rolecall.applications.file_shape import JSON
from rolecall.core.nested_json import decode_nested

_NAME = re.compile(r"[A-Za-z]{1,20}=")
# Entries of a directory. Names that begin with DC=, such as those of DNS records, may continue with CN=.
_ENTRY = re.compile(r"(?:cn|uid|ou)=", re.IGNORECASE)
# The end of a distinguished name and the beginning of the next one, as PowerShell writes lists into a text: after a
# space, or after the comma behind the domain.
_NEXT_NAME = re.compile(r"(dc=[^,\s\\]+) *, *(?=(?:cn|uid)=)|(?<=[^\s,\\]) +(?=(?:cn|uid)=)", re.IGNORECASE)
# A text with several distinguished names, with any separator. This is a pattern of polars.
SEVERAL_NAMES = r'(?is)^[\s\[{"]*(?:cn|uid|ou)=.*(?:dc=[^,;|#~\s\\"]+[\s,;|#~"]+|[^\s,\\] +)(?:cn|uid)='


def values_of(cells: pl.Series, separator: str) -> pl.Series:
    """Return the list of values of each cell."""
    return _values_of_json(cells) if separator == JSON else _values_of_text(cells, separator)


def _values_of_text(cells: pl.Series, separator: str) -> pl.Series:
    return cells.str.split(separator).list.eval(
        pl.element().str.strip_chars().filter(pl.element().str.strip_chars() != "")
    )


def _values_of_json(cells: pl.Series) -> pl.Series:
    """Return the values of JSON arrays, JSON objects, lists in braces and adjacent distinguished names.

    Any other cell is a single value.
    """
    distinct = cells.unique()
    lists = [_elements(cell) for cell in distinct.to_list()]
    values = pl.DataFrame({"cell": distinct, "values": pl.Series(lists, dtype=pl.List(pl.String))})
    found = pl.DataFrame({"cell": cells}).join(values, on="cell", how="left", maintain_order="left")
    return found.get_column("values")


def _elements(cell: str) -> list[str]:
    text = cell.strip()
    if (found := object_in(text)) is not None:
        return keyed_values(found)
    if text.startswith("{") and text.endswith("}"):
        return _in_braces(text)
    if not text.startswith("["):
        return adjacent_names(text) if text else []
    try:
        entries = decode_nested(text, list[object])
    except msgspec.DecodeError:
        raise BrokenFile(f"{text[:50]} is not a JSON array; set shape.split to the separator of its values") from None
    texts = (text.strip() for each in entries for text in _texts_of(each))
    return [each for each in texts if each]


def adjacent_names(text: str) -> list[str]:
    """Return the distinguished names that follow each other in a text, or the text if it has at most one of them."""
    return _NEXT_NAME.sub("\\1\n", text).split("\n") if _ENTRY.match(text) else [text]


def _texts_of(entry: object) -> list[str]:
    """Return the texts of an entry: a string itself, the entries of a list, the access in an object, or other JSON."""
    match entry:
        case None:
            return []
        case str():
            return [entry]
        case list():
            return [text for each in entry for text in _texts_of(each)]
        case dict() if (found := keyed_values([entry])) or name_of_entry(entry) is not None or not any(entry.values()):
            return found
    return [msgspec.json.encode(entry).decode()]


def unread_members(cells: pl.Series) -> list[str]:
    """Return the names of the unread members of JSON objects in cells."""
    texts = cells.str.strip_chars()
    objects = texts.filter(texts.str.contains(r"^(?:\{|\[\s*\{)")).unique(maintain_order=True)
    return list(dict.fromkeys(name for cell in objects for each in unread_in_cell(cell) for name in each))


def unread_in_cell(cell: str) -> list[Mapping[str, Any]]:
    """Return the unread members of each JSON object in a cell; leave out objects that have none."""
    if (found := object_in(cell)) is not None:
        return unread_in(found)
    try:
        return unread_in(decode_nested(cell, list[object])) if cell.startswith("[") else []
    except msgspec.DecodeError:
        return []


# A comma between distinguished names. A comma inside a name is escaped, or has no space after it.
_BETWEEN_NAMES = re.compile(r"(?<!\\), (?=[A-Za-z]{1,20}=)")
_CUT_OFF = ("...", "\u2026")


def _in_braces(text: str) -> list[str]:
    """Return the values of a list in braces, as PostgreSQL and PowerShell write it."""
    inside = text[1:-1].strip()
    if _NAME.match(inside):
        parts = _BETWEEN_NAMES.split(inside)
    else:
        try:
            parts = next(csv.reader([inside], skipinitialspace=True), [])
        except csv.Error as error:
            raise BrokenFile(f"{text[:50]} is not a list in braces: {error}") from None
    found = [part.strip() for part in parts if part.strip()]
    if found and found[-1].endswith(_CUT_OFF):
        advice = "set $FormatEnumerationLimit = -1 and export it again"
        raise BrokenFile(f"{text[:50]} is cut off, because PowerShell shows only the first values of a list; {advice}")
    return found
