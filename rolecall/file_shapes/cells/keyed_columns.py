"""Find columns with JSON lists or with JSON objects that map names to access; ask about their unread parts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rolecall.application_imports.read.cell_lists import unread_in_cell
from rolecall.application_imports.read.keyed_signs import is_keyed, may_be_keyed
from rolecall.application_imports.read.keyed_values import ACCESS_WORDS, object_in
from rolecall.applications.field_words import ACCESS
from rolecall.applications.file_shape import columns_in
from rolecall.core.nested_json import decode_nested
from rolecall.core.secret_names import looks_secret
from rolecall.core.text import fold, some_of
from rolecall.file_shapes.cells.scoped_lists import PLACE_WORDS, entries_in
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.header_names import is_state, words_of
from rolecall.file_shapes.columns.header_words import ENDED
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice
from rolecall.file_shapes.tables.sample_table import SampleTable

# Words in the names of JSON members that say whether the access of an entry is in force.
_STATES = {
    "status", "state", "sts", "expires", "expiry", "expiration", "expired", "end", "ends", "ended", "until", "valid",
    "granted", "deny", "denied",
}  # fmt: skip
_HOLDERS = {"users", "members", "accounts", "principals", "people"}
_MOST_NAMED, _MOST_INNER = 3, 3
# Entries of lists may contain objects with these names, which are access. Members in `_NAMING` name such objects.
_INNER = {"group", "role", "team", "permission", "entitlement", "profile"}
_NAMING = ("displayname", "name", "principalname", "title", "id")
_MOST_CELLS = 1_000
_BLANK = ("", "[]", "{}")


def with_json_lists(table: SampleTable) -> SampleTable:
    """Return the table with more columns in `lists`.

    These are columns whose cells are JSON lists of strings, or JSON objects that map names to access.
    """
    cells = {
        header: [row[i].strip() for row in table.rows if i < len(row) and row[i].strip() not in _BLANK]
        for i, header in enumerate(table.headers)
        if header not in table.lists
    }
    found = [header for header, values in cells.items() if _are_lists(values) or _are_keyed(header, values)]
    return msgspec.structs.replace(table, lists=[*table.lists, *found]) if found else table


def _are_lists(cells: Sequence[str]) -> bool:
    # Test the beginning first, because a file may have many columns of long texts.
    return bool(cells) and all(cell.startswith('["') for cell in cells) and all(map(_is_list, cells))


def _is_list(cell: str) -> bool:
    try:
        return bool(msgspec.json.decode(cell, type=list[str]))
    except msgspec.DecodeError:
        return False


def _are_keyed(header: str, cells: Sequence[str]) -> bool:
    objects = [object_in(cell) for cell in cells] if may_be_keyed(header) else []
    known = [each for each in objects if each]
    others = [cell for cell, each in zip(cells, objects, strict=True) if not each] if objects else []
    return is_keyed(header, known) and not any(cell.startswith(("{", "[")) and not _is_list(cell) for cell in others)


def ask_for_unread_states(view: View, part: Part) -> None:
    """Ask about unread members of entries whose names are read.

    These members may say that the access has ended or is denied, or where it applies.
    """
    inner = part.shape.get("records", "").removesuffix("[]").rpartition("[].")[2]
    listed = dict.fromkeys(view.table.paths.get(each, each) for each in (*part.shape.get("split", {}), inner))
    for column in [view.by_header[each] for each in listed if each in view.by_header]:
        unread = _unread_texts(part, column)
        states = [name for name, texts in unread.items() if _may_end(name, texts)]
        # Ask about places only if several columns have groups: for a single column, `name_with_scope` has decided
        # whether the names of groups contain the place.
        others = [name for name, texts in unread.items() if texts and words_of(name) & PLACE_WORDS]
        places = [name for name in others if len(part.columns_of_groups) > 1]
        if states:
            _ask_for_member(part, column, ", ".join(states[:_MOST_NAMED]), "Is the access in all of them held?")
        for name in [each for each in places if each not in states]:
            shown = f"{name} ({some_of(unread[name], _MOST_NAMED)})"
            _ask_for_member(part, column, shown, "Does the name alone say what access it is?")


def _ask_for_member(part: Part, column: Profile, shown: str, question: str) -> None:
    text = f"Entries of {column.header} have {shown}, which is not read. {question}"
    part.ask(text)


def _may_end(name: str, texts: Sequence[str]) -> bool:
    """Return whether a member may say that the access of its entry has ended or is denied."""
    says_access = bool(texts) and all(fold(text) in ACCESS for text in texts)
    return is_state(name) or bool(words_of(name) & (_STATES | ENDED)) or says_access


def _unread_texts(part: Part, column: Profile) -> dict[str, list[str]]:
    """Map the unread members of the entries in a column to their different texts."""
    begin = f"{column.header}[]."
    read = [path.removeprefix(begin) for path in part.shape.get("split", {}) if path.startswith(begin)]
    found: dict[str, dict[str, None]] = {}
    for cell in map(str.strip, column.cells):
        for entry in entries_in(cell) if read else unread_in_cell(cell):
            for name in [each for each in entry if each not in read]:
                texts = found.setdefault(name, {})
                if isinstance(text := entry[name], str) and text:
                    texts[text] = None
    return {name: [*texts] for name, texts in found.items()}


def ask_for_inner_access(view: View, parts: Sequence[Part]) -> list[OpenQuestion]:
    """Return a question about unread groups or permissions in columns with JSON objects.

    Ask about all columns in one question, because questions with the same choice are answered together.
    """
    read = {column for part in parts for column in _columns_read(part)}
    unread = []
    for column in [each for each in view.profiles if each.header not in read and not each.is_secret]:
        found: dict[str, dict[str, None]] = {}
        objects = [object_in(cell) for cell in column.cells if cell.strip().startswith("{")]
        inner = [each for value in objects for each in _access_in(value or {})]
        for path, name in [*inner, *_access_in_entries(column.cells)]:
            found.setdefault(path, {})[name] = None
        if found:
            named = " and ".join(f"{path} ({some_of([*names], _MOST_NAMED)})" for path, names in found.items())
            unread.append(f"{column.header} has JSON objects with {named}.")
    if not unread:
        return []
    cells = "its cells" if len(unread) == 1 else "their cells"
    is_json = view.table.format.startswith("JSON")
    instead = "a list of their own" if is_json else "a column of their own, or export the file as JSON"
    advice = f"Import without them? If not, export them as {instead}."
    text = f"{' '.join(unread)} They are not read from the objects in {cells}. {advice}"
    return [OpenQuestion(text, [ProposedChoice("Yes, without them", "Username", AS_PROPOSED)])]


def _access_in_entries(cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the key of each object that is access, such as `group`, in the entries of lists, with the name inside."""
    for entry in [each for cell in cells[:_MOST_CELLS] if cell.strip().startswith("[{") for each in _entries(cell)]:
        for name, member in entry.items() if isinstance(entry, dict) else ():
            if isinstance(member, dict) and words_of(name) & _INNER and not looks_secret(name):
                yield from ((name, each) for each in _names_of(member))


def _entries(cell: str) -> list[object]:
    try:
        entries: list[object] = decode_nested(cell.strip(), list[object])
    except msgspec.DecodeError:
        return []
    return entries


def _names_of(member: Mapping[str, Any]) -> list[str]:
    named = {key.lower(): text for key, text in member.items() if isinstance(text, str) and text}
    return [named[key] for key in _NAMING if key in named][:1]


def _columns_read(part: Part) -> set[str]:
    patterns = part.shape.get("join", {}).values()
    inside = [*part.shape.get("split", {}), *part.shape.get("unpivot", {}).get("columns", [])]
    return {*part.columns, *inside, *(column for pattern in patterns for column in columns_in(pattern))}


def _access_in(value: object, path: str = "", depth: int = _MOST_INNER) -> Iterator[tuple[str, str]]:
    """Yield the paths of members that contain access, such as `roles`, each with a name that the member contains."""
    for name, member in value.items() if isinstance(value, dict) and depth else ():
        inner = f"{path}.{name}" if path else name
        if looks_secret(name):
            continue
        if words_of(name) & ACCESS_WORDS or _grants_to(name, member):
            yield from ((inner, each) for each in _names_in(member))
        else:
            yield from _access_in(member, inner, depth - 1)


def _grants_to(name: str, member: object) -> bool:
    """Return whether a member such as `users` maps names of holders to lists, as in `{"users": {"ada": ["read"]}}`."""
    listed = [*member.values()] if isinstance(member, dict) else []
    return bool(words_of(name) & _HOLDERS) and bool(listed) and all(isinstance(each, list) for each in listed)


def _names_in(value: Any) -> list[str]:
    """Return all texts in the value of a member such as `roles`, including those in nested lists and objects."""
    if isinstance(value, str):
        return [value] if value else []
    listed = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for each in listed for text in _names_in(each)]
