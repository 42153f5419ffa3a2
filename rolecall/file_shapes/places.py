"""Find the column that says where a role or permission applies, if rows that differ only in it would be merged."""

from collections.abc import Iterable, Sequence

from rolecall.applications.file_shape import columns_in
from rolecall.applications.model import Content
from rolecall.file_shapes.ending import AS_PROPOSED
from rolecall.file_shapes.header_names import (
    is_about_person,
    is_flag,
    is_name_or_address,
    known_for,
    names_of,
    words_of,
)
from rolecall.file_shapes.header_words import OTHER_PEOPLE, PLACES, WHEN
from rolecall.file_shapes.meanings import Meaning
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.profiles import Profile
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

# Words in headers about how, why or in which record a grant was made.
_OF_RECORDS = OTHER_PEOPLE | WHEN | {
    "requester", "reviewer", "grantor", "comment", "comments", "note", "notes", "remark", "remarks", "justification",
    "ticket", "request", "reference", "ref", "change", "batch", "row", "line", "seq", "sequence", "record", "checksum",
    "type", "kind", "via", "method", "inherited", "direct", "source", "origin", "status", "state", "valid", "from",
    "to", "created", "updated", "modified", "last", "risk", "version",
}  # fmt: skip
# Words in headers of IDs. If all values are different, they identify the rows.
_OF_ROWS = {"id", "no", "nr", "number", "key", "guid", "uuid", "index", "code"}
_MOST_WORDS, _MOST_OFFERED = 5, 4


def tell_places(view: View, part: Part) -> None:
    """Add the place to the name of a role or permission if some rows differ only in it.

    If no known header names the place, ask whether a column does. Mention the other columns in the evidence.
    """
    read = [each for each in view.profiles if each.header in _columns_read(part)]
    keys = list(zip(*(each.cells for each in read), strict=True))
    if not keys or len(set(keys)) == len(keys):
        return
    others = [each for each in view.profiles if each not in read and len(each.distinct) > 1]
    # Rows without an account, such as those of groups without members, are not read.
    holder = view.by_header.get(part.holder or "")
    is_named = [holder is None or bool(cell.strip()) for cell in (holder or read[0]).cells]
    telling = [each for each in others if _tells(each, keys, is_named) and _may_be_place(each)]
    known = [each for each in telling if PLACES.intersection(names_of(each.header))]
    if known:
        _add_place(part, known[0])
        telling = []
    if named := ", ".join(each.header for each in others[:5] if each not in known[:1]):
        part.evidence.append(f"Some rows differ only in columns that are not read: {named}")
    if telling:
        _ask_for_place(part, telling)


def _columns_read(part: Part) -> set[str]:
    origins = [part.origin(field) for field in ("Username", "Group", "Header", "Section", "Permission")]
    read = {column for origin in origins if origin for column in columns_in(origin)}
    return read.union(part.columns)


def _tells(column: Profile, keys: Iterable[tuple[str, ...]], is_named: Iterable[bool]) -> bool:
    """Return whether some rows with the same key and a holder have different values in a column."""
    pairs = {(key, cell) for key, cell, named in zip(keys, column.cells, is_named, strict=True) if named}
    return len(pairs) > len({key for key, _ in pairs})


def _may_be_place(column: Profile) -> bool:
    header = column.header
    words = words_of(header)
    is_other = is_flag(header) or is_about_person(header) or is_name_or_address(header) or column.is_secret
    is_text = any(len(value.split()) > _MOST_WORDS for value in column.distinct)
    is_state = column.ticks or column.statuses == 1 or column.is_dated or column.emails > 0
    is_row = column.is_unique and (column.is_opaque or bool(words & _OF_ROWS))
    is_of_record = bool(words & _OF_RECORDS) or bool(known_for("Description").intersection(names_of(header)))
    return not (is_other or is_text or is_state or is_row or is_of_record or column.is_object or column.is_list)


def _add_place(part: Part, column: Profile) -> None:
    free = [field for field in ("Header", "Section") if part.origin(field) is None]
    if part.content == Content.PERMISSIONS and free:
        part.fields[free[0]] = Meaning(column.header, free[0], 0.6, "some rows differ only in it")
    elif field := _field_held(part):
        part.shape.setdefault("join", {})[field] = _pattern(part, field, column)
        part.fields.pop(field, None)
    part.evidence.append(f"Some rows differ only in {column.header}: it becomes part of the name of what is held")


def _ask_for_place(part: Part, columns: Sequence[Profile]) -> None:
    """Ask whether a column is part of what is held; without an answer, rows that differ only in it are merged."""
    field = _field_held(part)
    if field is None:
        return
    offered = columns[:_MOST_OFFERED]
    named = " and ".join(f"{each.header} ({_shown(each.distinct)})" for each in offered)
    text = (
        f"Some rows have the same account and {_held(part, field)}, and differ in {named}. "
        f"Does {'one of these columns' if len(offered) > 1 else 'this column'} say where the access applies?"
    )
    choices = [
        ProposedChoice(f"Yes, add {each.header} to the name", f"join.{field}", _pattern(part, field, each))
        for each in offered
    ]
    no = ProposedChoice("No, the access is the same in these rows", "Username", AS_PROPOSED)
    part.questions = [*part.questions, OpenQuestion(text, [*choices, no])]


def _field_held(part: Part) -> str | None:
    """Return the field with the name of what is held, unless its pattern is made of several columns."""
    field = "Permission" if part.content == Content.PERMISSIONS else "Group"
    origin = part.origin(field)
    return field if origin and len(columns_in(origin)) == 1 else None


def _held(part: Part, field: str) -> str:
    return columns_in(part.origin(field) or "")[0]


def _pattern(part: Part, field: str, column: Profile) -> str:
    """Return a pattern such as `Teller: Main Street`; a row without a role stays blank."""
    held = _held(part, field)
    return f"{part.origin(field)}{{{column.header}|unless({held}=)|prefix(: )}}"


def _shown(values: Iterable[str]) -> str:
    return ", ".join(value[:40] for value in list(values)[:2])
