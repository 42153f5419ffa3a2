"""Determine whether each column of a file is read, kept as a detail, ignored on purpose, or just not read."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from rolecall.application_imports.read.columns import ALIASES, HAS_METADATA
from rolecall.application_imports.read.secret_headers import secret_headers
from rolecall.applications.file_shape import FileShape, Placeholder, pattern_parts
from rolecall.applications.model import FIELDS, Content, same_header

_DETAILS = {Content.USERS: "accounts", Content.GROUPS: "groups"}
# The use of a column that fills no field, but is tested by a condition on rows or on values.
_DECIDES = "decides which rows or values are read"


class Fate(StrEnum):
    READ = "read"
    # Kept as metadata, but not read into a field.
    KEPT = "kept"
    IGNORED = "ignored"
    NOT_READ = "not read"


class Use(NamedTuple):
    """What becomes of a column. `how` says which fields it fills or why it fills none; empty if it is just not read."""

    fate: Fate
    how: str


class Section(NamedTuple):
    """One content that is read from a file: the mapping of its columns, and its shape."""

    content: Content
    columns: Mapping[str, str]
    shape: FileShape


# The maximum number of brackets of a path that are examined: no real path has more lists inside lists.
_DEEPEST = 20


def uses_of(headers: Sequence[str], sections: Sequence[Section]) -> dict[str, Use]:
    """Return what becomes of each column of a file. The contents of all `sections` are read from this file."""
    given = [_fields_in(headers, section) for section in sections]
    ignored = [{*map(same_header, section.shape.ignore)} for section in sections]
    unpivoted = [{header for header in headers if _is_in_matrix(header, each)} for each in map(_in_matrix, sections)]
    uses = {}
    for header in headers:
        fields: dict[str, list[str]] = {}
        for section, found in zip(sections, given, strict=True):
            for field in found.get(same_header(header), []):
                fields.setdefault(field, []).append(section.content)
        uses[header] = _read(fields) if fields else _unread(header, sections, ignored, unpivoted)
    return _with_paths(uses)


def _read(fields: Mapping[str, Sequence[str]]) -> Use:
    by_contents: dict[str, list[str]] = {}
    for field, contents in fields.items():
        of = "" if field == _DECIDES else f" of {' and '.join(dict.fromkeys(contents))}"
        by_contents.setdefault(of, []).append(field)
    return Use(Fate.READ, ", ".join(f"{' and '.join(each)}{of}" for of, each in by_contents.items()))


def _unread(
    header: str, sections: Sequence[Section], ignored: Sequence[Set[str]], unpivoted: Sequence[Set[str]]
) -> Use:
    """Return what becomes of a column that fills no field. `ignored` and `unpivoted` list columns for each section."""
    if secret_headers([header], [name for section in sections for name in section.shape.keep]):
        return Use(Fate.IGNORED, "it looks like a secret")
    name = same_header(header)
    kept = [
        section
        for section, left_out, across in zip(sections, ignored, unpivoted, strict=True)
        if section.content in HAS_METADATA and name not in left_out and header not in across
    ]
    if kept:
        return Use(Fate.KEPT, f"detail of {' and '.join(_DETAILS[each.content] for each in kept)}")
    is_ignored = any(name in left_out for left_out in ignored)
    return Use(Fate.IGNORED, "it is left out") if is_ignored else Use(Fate.NOT_READ, "")


def _with_paths(uses: Mapping[str, Use]) -> dict[str, Use]:
    """Count a list of objects as read if a path into the list, such as groups[].name, is read."""
    inside: dict[str, list[str]] = {}
    for path in [header for header, use in uses.items() if use.fate == Fate.READ]:
        for bracket in islice(re.finditer(r"\[", path), _DEEPEST):
            inside.setdefault(path[: bracket.start()], []).append(path)
    return {
        header: Use(Fate.READ, f"through {' and '.join(inside[header])}")
        if header in inside and use.fate != Fate.READ
        else use
        for header, use in uses.items()
    }


def _fields_in(headers: Sequence[str], section: Section) -> dict[str, list[str]]:
    """Map normalized headers (`same_header`) to the fields that this content reads from them."""
    found: dict[str, list[str]] = {}
    for name, field in _given(headers, section):
        fields = found.setdefault(same_header(name), [])
        if field not in fields:
            fields.append(field)
    for fields in found.values():
        if len(fields) > 1 and _DECIDES in fields:
            fields.remove(_DECIDES)
    return found


def _given(headers: Sequence[str], section: Section) -> Iterator[tuple[str, str]]:
    content, columns, shape = section
    present = {same_header(header) for header in headers}
    matrix = _in_matrix(section)
    across = {header: None for header in headers if _is_in_matrix(header, matrix)}
    mapped = {same_header(header): field for header, field in columns.items()}
    made = set()
    for header in headers:
        if field := mapped.get(same_header(header)):
            yield header, field
    for field, pattern in shape.join.items():
        names = _names_in(pattern)
        is_there = any(same_header(name) in present for name, _ in names)
        made.update([same_header(field)] if is_there else [])
        yield from ((name, _DECIDES if decides else field) for name, decides in names)
    if shape.unpivot:
        fields = dict.fromkeys([shape.unpivot.cells] if beside(shape) else [shape.unpivot.headers, shape.unpivot.cells])
        made.update(map(same_header, fields))
        yield from ((header, " and ".join(fields)) for header in across)
    yield from ((condition.column, _DECIDES) for condition in shape.skip_rows_where)
    yield from _named_like_fields(content, [each for each in headers if each not in across], mapped, shape, made)


def _named_like_fields(
    content: Content, headers: Iterable[str], mapped: Mapping[str, str], shape: FileShape, made: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Yield the columns that `lay_out` reads because they are named like a field, with their fields."""
    known = _names_of_fields(content)
    taken = {*map(same_header, mapped.values()), *made}
    used = {*mapped, *map(same_header, shape.ignore)}
    for header in headers:
        field = known.get(same_header(header))
        if field and same_header(field) not in taken and same_header(header) not in used:
            yield header, field


def _names_of_fields(content: Content) -> dict[str, str]:
    return {same_header(name): field for field in FIELDS[content] for name in (field, *ALIASES.get(field, ()))}


def is_named_like_field(content: Content, header: str) -> bool:
    """Return whether a header is the name or an alias of a field of a content: such a column needs no mapping."""
    return same_header(header) in _names_of_fields(content)


class _Matrix(NamedTuple):
    """The columns that a matrix unpivots; if `is_rest`, the columns that it does not unpivot."""

    names: set[str]
    is_rest: bool


def _in_matrix(section: Section) -> _Matrix:
    """Return which columns a matrix unpivots: by default, all columns that are neither kept nor mapped."""
    matrix = section.shape.unpivot
    if matrix is None:
        return _Matrix(set(), is_rest=False)
    if matrix.columns:
        return _Matrix({*map(same_header, matrix.columns)}, is_rest=False)
    return _Matrix({*map(same_header, matrix.keep), *map(same_header, section.columns)}, is_rest=True)


def _is_in_matrix(header: str, matrix: _Matrix) -> bool:
    return (same_header(header) in matrix.names) is not matrix.is_rest


def beside(shape: FileShape) -> dict[str, list[tuple[str, str]]]:
    """Return the fields that are read from columns beside those of a matrix, such as `role1` beside `course1`.

    Map each field to pairs of columns: the column of the matrix, and the column beside it.
    """
    headers = shape.unpivot.headers if shape.unpivot else ""
    found = {}
    for field, pattern in shape.join.items() if headers else ():
        parts = pattern_parts(pattern)
        pairs = [pair for part in parts if isinstance(part, Placeholder) for pair in _read_beside(part, headers)]
        if len(pairs) == len(parts):
            found[field] = pairs
    return found


def _read_beside(part: Placeholder, headers: str) -> list[tuple[str, str]]:
    tests = [text.partition("=") for name, text in part.filters if name == "when"]
    return [(text, part.column) for name, _, text in tests if same_header(name) == same_header(headers)]


def _names_in(pattern: str) -> list[tuple[str, bool]]:
    """Return the columns of a pattern, with True for those that are only compared with a word (`when`, `unless`)."""
    names = []
    for part in pattern_parts(pattern):
        if isinstance(part, Placeholder):
            names.append((part.column, False))
            names += [(text.strip(), False) for name, text in part.filters if name == "or"]
            names += [
                (text.partition("=")[0].strip(), True) for name, text in part.filters if name in ("when", "unless")
            ]
    return names
