"""Read a column as groups or permissions, or as their place or level, if a person chooses to."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from rolecall.application_imports.read.access_signs import Sign
from rolecall.application_imports.read.column_uses import is_named_like_field
from rolecall.application_imports.read.columns import HAS_METADATA
from rolecall.applications.field_words import NOTHING_HELD, REFUSES, STATES_BUT_ROLES, YES_NO
from rolecall.applications.file_shape import ANY_OTHER, columns_in
from rolecall.applications.model import Content
from rolecall.core.checking import Json
from rolecall.core.errors import Invalid
from rolecall.file_shapes.shapes import ColumnAccount, ColumnProposal, ContentProposal, FileProposal

# For each content, the field that the chosen column is read as.
_FIELDS = {Content.MEMBERSHIPS: "Group", Content.PERMISSIONS: "Permission"}
# Maps what a column can say about the permissions in another column to the field that it is read as. `place` is where a
# permission applies; `level` is how much it allows.
DESCRIBING = {"place": "Section", "level": "Value"}
# The key of a column that says where the groups named by another column apply.
SCOPE = "scope"
# The keys of a shape that say where the rows are and which of them are read.
_ROWS = (
    "headerLine", "headers", "skipLines", "delimiter", "aligned", "columnStarts", "mergeExtraFields", "fillDown",
    "sheet", "records", "skipRowsWhere",
)  # fmt: skip
# Words for no access or no group. Rows with these words are left out, or the words are read as blank.
_NOTHING = [*NOTHING_HELD, *REFUSES]
_NO = sorted(word for word, value in YES_NO.items() if not value)
BY_A_PERSON = "Chosen by a person"
_WHY = "chosen by a person"
_RDN = "|rdn"


class _Part(NamedTuple):
    """A content as the draft shows it, and the section of the connector that reads it."""

    shown: ContentProposal
    section: Json


class Offer(NamedTuple):
    """A way to read a column.

    `key` is a content, a key of `DESCRIBING`, or `SCOPE`. `instead_of` has the columns that this column replaces.
    """

    key: str
    instead_of: list[str]


def _choices_for(sign: Sign) -> list[Content]:
    """Return the contents that a column may be read as. A yes/no column can only be a permission."""
    return [Content.PERMISSIONS] if sign == Sign.TICKS else [Content.MEMBERSHIPS, Content.PERMISSIONS]


def offers(
    file: FileProposal, column: ColumnAccount, section: Callable[[int], Json], taken: Sequence[Content]
) -> list[Offer]:
    """Return the ways to read a column. `read_as`, `describe_by` and `scope_by` accept these and refuse all others."""
    if (sign := column.may_be_access) is None:
        return []
    parts = _parts_of(file, column, section)
    found = []
    for content in _choices_for(sign):
        part = next((each for each in parts if each.shown.content == content), None)
        if part is None and content not in taken and any(_holder(each, content) for each in parts):
            found.append(Offer(content, []))
        elif part is not None and (replaced := _replaced(part, column, sign)) is not None:
            found.append(Offer(content, replaced))
        if part is not None and content == Content.PERMISSIONS and sign == Sign.NAMES:
            found += [Offer(key, []) for key, field in DESCRIBING.items() if _can_describe(part, field)]
    if _scoped(file, parts, column):
        found.append(Offer(SCOPE, []))
    return found


def _scoped(file: FileProposal, parts: Sequence[_Part], column: ColumnAccount) -> tuple[_Part, str] | None:
    """Return the memberships and their group column if `column` may say where the groups apply, else None."""
    part = next((each for each in parts if each.shown.content == Content.MEMBERSHIPS), None)
    is_listed = any(each.content == Content.GROUPS for each in file.contents)
    # A column inside a list cannot say where groups apply: its values do not correspond to those of another list.
    if part is None or is_listed or column.may_be_access != Sign.NAMES or "[" in column.header:
        return None
    group = next((header for header, field in part.section["columns"].items() if field == "Group"), None)
    return (part, group) if group else None


def scope_by(file: FileProposal, column: ColumnAccount, section: Callable[[int], Json]) -> None:
    """Prefix the names of groups with the place where they apply, as in `SAP: Admin`."""
    parts = _parts_of(file, column, section)
    if (found := _scoped(file, parts, column)) is None:
        raise Invalid.on("columns", "This form is out of date; choose again")
    part, group = found
    del part.section["columns"][group]
    part.section["shape"].setdefault("join", {})["Group"] = f"{{{column.header}|suffix(:)}} {{{group}}}"
    _ignore(part, group)
    _show(part, column)
    for each in parts:
        if each.shown.content in HAS_METADATA:
            _ignore(each, column.header)


def _can_describe(part: _Part, field: str) -> bool:
    """Return whether the permissions are in a column (unlike in a matrix), and `field` is not read yet."""
    read = {*part.section["columns"].values(), *part.section["shape"].get("join", {})}
    return "Permission" in read and field not in read and "unpivot" not in part.section["shape"]


def describe_by(file: FileProposal, column: ColumnAccount, key: str, section: Callable[[int], Json]) -> None:
    """Read a column as the place where the permissions apply, or as their level."""
    parts = _parts_of(file, column, section)
    part = next((each for each in parts if each.shown.content == Content.PERMISSIONS), None)
    if part is None or column.may_be_access != Sign.NAMES or not _can_describe(part, DESCRIBING[key]):
        raise Invalid.on("columns", "This form is out of date; choose again")
    part.section["columns"][column.header] = DESCRIBING[key]
    _show(part, column)
    for each in parts:
        if each.shown.content in HAS_METADATA:
            _ignore(each, column.header)


def _parts_of(file: FileProposal, column: ColumnAccount, section: Callable[[int], Json]) -> list[_Part]:
    return [_Part(part, section(n)) for n, part in enumerate(file.contents) if part.place == column.place]


def read_as(
    file: FileProposal,
    column: ColumnAccount,
    content: Content,
    section: Callable[[int], Json],
    taken: Sequence[Content],
) -> None:
    """Read a column as groups or permissions: update `file` and its sections in the draft in place.

    If the content already reads a column and cannot read both, this column replaces it. Columns of an `unpivot` are not
    replaced: raise Invalid if this column cannot be added to them.

    `section` maps the position of a content in the file to its section in the draft. `taken` lists the contents that
    other files, sheets and lists already provide.
    """
    sign = column.may_be_access
    parts = _parts_of(file, column, section)
    if sign is None or content not in _choices_for(sign):
        raise Invalid.on("columns", "This form is out of date; choose again")
    found = next((part for part in parts if part.shown.content == content), None)
    if found is None:
        if content in taken:
            raise Invalid.on("columns", f"Another file or sheet has {content}; import {column.header} separately")
        found = _new_part(parts, column, content)
        file.contents.append(found.shown)
        first = section(0)
        first["shape"].setdefault("contents", []).append(found.section)
    _add(found, column, sign)
    _leave_out_states(found, column, parts)
    for part in parts:
        if part.shown.content in HAS_METADATA:
            _ignore(part, column.header)


def _leave_out_states(part: _Part, column: ColumnAccount, parts: Sequence[_Part]) -> None:
    """Leave out rows with a status, if a column mixes statuses (`Cannot login`) and access (`Superuser`)."""
    known = [each.section["shape"].get("values", {}).get("Active", {}) for each in parts if _is_status(each, column)]
    if known:
        words = [word for values in known for word in values if word != ANY_OTHER]
        _skip(part.section["shape"], column.header, words or sorted(STATES_BUT_ROLES))


def _is_status(part: _Part, column: ColumnAccount) -> bool:
    return bool(part.section["columns"].get(column.header) == "Active")


class _HeldBy(NamedTuple):
    """How a content names the holders of access: the field, and the column or the pattern that it is read from."""

    field: str
    header: str
    pattern: str


def _new_part(parts: Sequence[_Part], column: ColumnAccount, content: Content) -> _Part:
    """Return a new content that names the holders of access as another content of the file does, preferably its users.

    It does not read `column` yet; `_add` adds it.
    """
    parts = sorted(parts, key=lambda part: part.shown.content != Content.USERS)
    named = next(((part, holder) for part in parts if (holder := _holder(part, content))), None)
    if named is None:
        raise Invalid.on("columns", f"No column names the holders of {column.header}; choose the username first")
    source, (field, header, pattern) = named
    shape = {key: value for key, value in source.section["shape"].items() if key in _ROWS}
    if pattern:
        shape["join"] = {field: pattern}
    section: Json = {"content": content, "columns": {header: field} if header else {}, "shape": shape}
    columns = [
        msgspec.structs.replace(each, field=field if each.header == header else None, is_ignored=False)
        for each in source.shown.columns
    ]
    for each in columns:
        each.evidence = each.evidence if each.field else ""
    part = _Part(ContentProposal(content, 1.0, [BY_A_PERSON], columns, shape, [], [], column.place), section)
    for each in columns:
        if each.header != header and is_named_like_field(content, each.header):
            _ignore(part, each.header)
    return part


def _holder(part: _Part, content: Content) -> _HeldBy | None:
    """Return how the rows of a content name the holder of access, or None. Groups can hold only permissions."""
    is_of_groups = part.shown.content == Content.GROUPS
    field = "Group" if is_of_groups else "Username"
    if is_of_groups and content != Content.PERMISSIONS:
        return None
    header = next((header for header, each in part.section["columns"].items() if each == field), "")
    pattern = part.section["shape"].get("join", {}).get(field, "")
    return _HeldBy(field, header, pattern) if header or pattern else None


def _add(part: _Part, column: ColumnAccount, sign: Sign) -> None:
    """Add a column to a content: alone, with the columns that the content already reads, or in place of them."""
    field, shape = _FIELDS[part.shown.content], part.section["shape"]
    replaced = _replaced(part, column, sign)
    if replaced is None:
        raise _separately(part)
    cells = _field_of_cells(part, field, sign)
    for header in [header for each in (field, cells) for header in _remove_columns(part, each)] if replaced else ():
        # Ignore the replaced columns: even without a mapping, a column such as Role is read as a group by its name.
        _ignore(part, header)
    is_list = column.separator is not None and cells == field
    if not _has(part, field) and cells == field:
        part.section["columns"][column.header] = field
        _skip(shape, column.header, [*([] if is_list else [""]), *_NOTHING])
    else:
        others = _remove_for_unpivot(part, field) if cells == field else []
        _add_to_unpivot(part, [*others, column.header], field, cells, sign)
        if is_list:
            _skip(shape, column.header, _NOTHING)
    if is_list:
        shape.setdefault("split", {})[column.header] = column.separator
    _show(part, column)


def _skip(shape: Json, header: str, words: list[str]) -> None:
    shape["skipRowsWhere"] = [*shape.get("skipRowsWhere", []), {"column": header, "is": words}]


def _blank(shape: Json, words: Sequence[str]) -> None:
    shape["blank"] = list(dict.fromkeys([*shape.get("blank", []), *words]))


def _field_of_cells(part: _Part, field: str, sign: Sign) -> str:
    """Return the field that the cells of a column are read as.

    It is `field` if the cells contain names. If the header names the permission, as in a matrix, it is Access for
    ticks and Value for other cells; ticks beside columns of levels are read as Value too.
    """
    across = part.section["shape"].get("unpivot", {})
    is_matrix = across.get("headers") == field == "Permission" and across["cells"] in ("Access", "Value")
    if field != "Permission" or not (is_matrix or sign in (Sign.TICKS, Sign.LEVELS)):
        return field
    return "Access" if sign == Sign.TICKS and across.get("cells", "Access") == "Access" else "Value"


def _has(part: _Part, field: str) -> bool:
    shape = part.section["shape"]
    return field in part.section["columns"].values() or field in shape.get("join", {}) or "unpivot" in shape


def _replaced(part: _Part, column: ColumnAccount, sign: Sign) -> list[str] | None:
    """Return the columns of a content that `column` would replace; an empty list if it would replace none.

    Return None if `column` cannot be added.
    """
    field, across = _FIELDS[part.shown.content], part.section["shape"].get("unpivot")
    if not _has(part, field):
        return []
    cells = _field_of_cells(part, field, sign)
    if across is None:
        return [] if cells == field and _is_alone(part, field) else _sources(part, field)
    if cells != field and sign in (Sign.LIST, Sign.RECORDS):
        return None
    # If `columns` of `unpivot` has ticks, a column of levels can be added. The ticks are then read as values too.
    can_change = cells == "Value" and across["cells"] == "Access" and "columns" in across
    return [] if across["headers"] == field and (across["cells"] == cells or can_change) else None


def _is_alone(part: _Part, field: str) -> bool:
    """Return whether a field is read from one column, and the content reads no other field except the holder."""
    columns, join = part.section["columns"], part.section["shape"].get("join", {})
    pattern = join.get(field)
    is_plain = pattern is None or (pattern.endswith(f"{_RDN}}}") and pattern.count("|") == 1 and pattern[0] == "{")
    return is_plain and not {*columns.values(), *join} - {"Username", "Group", field}


def _sources(part: _Part, field: str) -> list[str]:
    """Return the columns that a field is read from, without the columns of a matrix."""
    mapped = [header for header, each in part.section["columns"].items() if each == field]
    pattern = part.section["shape"].get("join", {}).get(field)
    built = columns_in(pattern) if pattern else []
    return list(dict.fromkeys([*mapped, *built]))


def _remove_columns(part: _Part, field: str) -> list[str]:
    """Unmap the columns of a field and return them. A new column then replaces them, or is read together with them."""
    columns, shape = part.section["columns"], part.section["shape"]
    headers = _sources(part, field)
    shape.get("join", {}).pop(field, None)
    for header in headers:
        if columns.get(header) == field:
            del columns[header]
        shape.get("split", {}).pop(header, None)
        _blank_skipped_words(shape, header)
    return headers


def _blank_skipped_words(shape: Json, header: str) -> None:
    """Remove the conditions that leave out rows by the words in this column, and read these words as blank.

    The content now reads another column, which may have a value in such a row.
    """
    own = [each for each in shape.get("skipRowsWhere", []) if each["column"] == header]
    blank = [word for each in own for word in each.get("is", []) if word]
    if rest := [each for each in shape.get("skipRowsWhere", []) if each not in own]:
        shape["skipRowsWhere"] = rest
    else:
        shape.pop("skipRowsWhere", None)
    if blank:
        _blank(shape, blank)


def _remove_for_unpivot(part: _Part, field: str) -> list[str]:
    """Unmap the only column of a field but keep its separator; return the column, to add it to a new `unpivot`.

    Return an empty list if the content already has an `unpivot`.
    """
    shape = part.section["shape"]
    if "unpivot" in shape:
        return []
    is_named, split = field in shape.get("join", {}), dict(shape.get("split", {}))
    headers = _remove_columns(part, field)
    if kept := {header: separator for header, separator in split.items() if header in headers}:
        shape["split"] = {**shape.get("split", {}), **kept}
    if is_named:
        shape["join"][field] = f"{{{field}{_RDN}}}"
    return headers


def _add_to_unpivot(part: _Part, columns: Sequence[str], headers: str, cells: str, sign: Sign) -> None:
    """Add columns to `unpivot`, the key of a shape that reads a matrix, or several columns as one field."""
    shape = part.section["shape"]
    unpivot = shape.setdefault("unpivot", {"columns": [], "headers": headers, "cells": cells})
    has_ticks = sign == Sign.TICKS or unpivot["cells"] == "Access"
    unpivot["cells"] = cells
    if cells != "Access":
        _blank(shape, [*_NOTHING, *(_NO if has_ticks else [])])
    if "columns" in unpivot:
        unpivot["columns"] = [*unpivot["columns"], *columns]
    else:
        unpivot["keep"] = [header for header in unpivot["keep"] if header not in columns]


def _separately(part: _Part) -> Invalid:
    what = part.shown.content
    return Invalid.on("columns", f"The column cannot be added to the {what} of this file; import it separately")


def _ignore(part: _Part, header: str) -> None:
    """Ignore a column in a content: as metadata, it would differ between the rows of one account."""
    header = header.partition("[")[0] if "[" in header else header
    shape = part.section["shape"]
    shape["ignore"] = list(dict.fromkeys([*shape.get("ignore", []), header]))
    for each in part.shown.columns:
        each.is_ignored = each.is_ignored or each.header == header


def _show(part: _Part, column: ColumnAccount) -> None:
    """Update the field of each column that is shown, and note that a person chose `column`."""
    known = {each.header: each for each in part.shown.columns}
    if column.header not in known:
        known[column.header] = ColumnProposal(
            column.header, None, 1.0, _WHY, is_ignored=False, examples=column.examples
        )
        part.shown.columns.append(known[column.header])
    fields = part.section["columns"]
    for each in part.shown.columns:
        each.field = fields.get(each.header)
    known[column.header].evidence, known[column.header].confidence = _WHY, 1.0
