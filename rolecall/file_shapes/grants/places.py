"""Find the column that says where a role or permission applies, if rows that differ only in it would be merged."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice, product

from rolecall.applications.file_shape import columns_in
from rolecall.applications.model import Content
from rolecall.file_shapes.cells.groups_held import NAMING, values_of
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.header_names import (
    is_about_person,
    is_flag,
    is_name_or_address,
    known_for,
    names_of,
    words_of,
)
from rolecall.file_shapes.columns.header_words import OTHER_PEOPLE, PLACES, WHEN
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

# Words in headers about how, why or in which record a grant was made.
_OF_RECORDS = OTHER_PEOPLE | WHEN | {
    "requester", "reviewer", "grantor", "comment", "comments", "note", "notes", "remark", "remarks", "justification",
    "ticket", "request", "reference", "ref", "change", "batch", "row", "line", "seq", "sequence", "record", "checksum",
    "type", "kind", "via", "method", "inherited", "direct", "source", "origin", "status", "state", "valid", "from",
    "to", "created", "updated", "modified", "last", "risk", "version",
}  # fmt: skip
# Words in headers of IDs, which identify the rows if all values are different.
_OF_ROWS = {"id", "no", "nr", "number", "key", "guid", "uuid", "index", "code"}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_MOST_WORDS, _MOST_OFFERED, _MOST_GRANTS = 5, 4, 200


def tell_places(view: View, part: Part) -> None:
    """Add the place to the name of a role or permission if some rows differ only in it.

    If rows still agree in all columns that are read, name unread columns in the evidence, and ask about those that may
    name a place.
    """
    grants, held = _grants(view, part), _field_held(part)
    if not _merged(grants):
        return
    others = [each for each in view.profiles if each.header not in _columns_read(part) and len(each.distinct) > 1]
    for column in filter(_names_place, [*others]):
        if _tells(column, grants) and _add_place(part, held, column):
            grants = [((*key, column.cells[row]), row) for key, row in grants]
            others.remove(column)
    if others and _merged(grants):
        named = ", ".join(each.header for each in others[:5])
        part.evidence.append(f"Some rows differ only in columns that are not read: {named}")
    if offered := [each for each in others if _tells(each, grants) and (_may_be_place(each) or _names_place(each))]:
        _ask_for_place(part, held, offered)


def _columns_read(part: Part) -> set[str]:
    origins = [part.origin(field) for field in ("Username", "Group", "Header", "Section", "Permission")]
    read = {column for origin in origins if origin for column in columns_in(origin)}
    return read.union(part.columns)


def _grants(view: View, part: Part) -> list[tuple[tuple[str, ...], int]]:
    """Return the values of each grant in the columns that are read, with the number of its row.

    A row with a list of roles has several grants, of which only the first 200 count. Leave out rows without an account,
    such as those of groups without members, because they are not read.
    """
    read = [each for each in view.profiles if each.header in _columns_read(part)]
    split = part.shape.get("split", {})
    found = []
    for row in range(len(view.table.rows)):
        if part.holder not in view.by_header or view.by_header[part.holder].cells[row].strip():
            cells = [_values(each, row, split.get(each.header)) for each in read]
            found += [(key, row) for key in islice(product(*cells), _MOST_GRANTS)]
    return found


def _values(column: Profile, row: int, separator: str | None) -> list[str]:
    cell = column.cells[row].strip()
    if separator is None:
        return [cell]
    return values_of(Profile(column.header, column.position, [cell], is_list=column.is_list), separator) or [""]


def _merged(grants: Sequence[tuple[tuple[str, ...], int]]) -> bool:
    return len({key for key, _ in grants}) < len(grants)


def _tells(column: Profile, grants: Sequence[tuple[tuple[str, ...], int]]) -> bool:
    """Return whether some grants with the same values have different values in a column."""
    return len({(key, column.cells[row]) for key, row in grants}) > len({key for key, _ in grants})


def _names_place(column: Profile) -> bool:
    """Return whether a header names a place, such as Site or location.name, and the values may be places."""
    words = [word.lower() for word in _WORD.findall(column.header)]
    plain = "".join(word for word in words if word not in NAMING)
    is_named = plain in PLACES or bool(PLACES.intersection(names_of(column.header)))
    return is_named and not (_is_state(column) or column.is_secret or column.is_object or column.is_list)


def _may_be_place(column: Profile) -> bool:
    header = column.header
    is_other = is_flag(header) or is_about_person(header) or is_name_or_address(header) or column.is_secret
    is_text = any(len(value.split()) > _MOST_WORDS for value in column.distinct)
    is_row = column.is_unique and (column.is_opaque or bool(words_of(header) & _OF_ROWS))
    is_whole = not (_is_state(column) or column.is_object or column.is_list)
    return is_whole and not (is_other or is_text or is_row or _is_about_record(header))


def _is_state(column: Profile) -> bool:
    return column.ticks or column.statuses == 1 or column.is_dated or column.emails > 0


def _is_about_record(header: str) -> bool:
    """Return whether a header is about the record of a grant, a description or another person, as in granted_by."""
    words = [word.lower() for word in _WORD.findall(header)]
    is_record = not words or words[-1] in _OF_RECORDS or {*words} <= _OF_RECORDS | _OF_ROWS
    is_description = bool(known_for("Description").intersection(names_of(header)))
    return is_record or is_description or bool({*words} & OTHER_PEOPLE)


def _add_place(part: Part, held: str | None, column: Profile) -> bool:
    """Add a place to the name of what is held; return False if that is not possible."""
    free = [field for field in ("Header", "Section") if part.origin(field) is None]
    if part.content == Content.PERMISSIONS and free:
        part.fields[free[0]] = Meaning(column.header, free[0], 0.6, "some rows differ only in it")
    elif held:
        part.shape.setdefault("join", {})[held] = _pattern(part, held, column)
        part.fields.pop(held, None)
    else:
        return False
    part.evidence.append(f"Some rows differ only in {column.header}: it becomes part of the name of what is held")
    return True


def _ask_for_place(part: Part, held: str | None, columns: Sequence[Profile]) -> None:
    """Ask whether a column is part of what is held. As proposed, rows that differ only in it are merged."""
    offered = columns[:_MOST_OFFERED]
    named = " and ".join(f"{each.header} ({_shown(each.distinct)})" for each in offered)
    text = (
        f"Some rows have the same account and {_column_held(part, held) if held else 'access'}, and differ in {named}. "
        f"Does {'one of these columns' if len(offered) > 1 else 'this column'} say where the access applies?"
    )
    choices = [
        ProposedChoice(f"Yes, add {each.header} to the name", f"join.{held}", _pattern(part, held, each))
        for each in offered
        if held
    ]
    no = ProposedChoice("No, the access is the same in these rows", "Username", AS_PROPOSED)
    part.ask(text, *choices, no)


def _field_held(part: Part) -> str | None:
    """Return the field with the name of what is held, unless its pattern has several columns or a condition."""
    field = "Permission" if part.content == Content.PERMISSIONS else "Group"
    origin = part.origin(field)
    return field if origin and len(columns_in(origin)) == 1 and "=" not in origin else None


def _column_held(part: Part, field: str) -> str:
    return columns_in(part.origin(field) or "")[0]


def _pattern(part: Part, field: str, column: Profile) -> str:
    """Return a pattern for names such as `Teller: Main Street`; a row without a role stays blank."""
    return f"{part.origin(field)}{{{column.header}|unless({_column_held(part, field)}=)|prefix(: )}}"


def _shown(values: Iterable[str]) -> str:
    return ", ".join(value[:40] for value in list(values)[:2])
