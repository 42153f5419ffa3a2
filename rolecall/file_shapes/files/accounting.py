"""Say what becomes of each column, sheet and list of a file: read, kept, ignored or not read."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import msgspec

from rolecall.application_imports.read.access_signs import MOST_CELLS, Sign, sign_of_access
from rolecall.application_imports.read.cell_lists import unread_in_cell
from rolecall.application_imports.read.column_uses import Fate, Section, Use, uses_of
from rolecall.applications.field_words import ACTIVE, GIVES_NOTHING, LOCKED, NO_DATE, ROLES_WITH_RIGHTS
from rolecall.applications.file_shape import ANY_OTHER, JSON, FileShape, Placeholder, pattern_parts
from rolecall.applications.model import Content
from rolecall.core.nested_json import decode_nested
from rolecall.core.secret_names import looks_secret, mask_json
from rolecall.core.text import fold
from rolecall.file_shapes.columns.header_names import known_for, names_access, names_of, words_of
from rolecall.file_shapes.columns.header_words import HELD
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import View
from rolecall.file_shapes.shapes import ColumnAccount

_EXAMPLES = 3
_LONGEST = 80
_MOST_RESTS = 8
_MOST_MEMBERS = 200
# With fewer different values, two columns may correspond one to one by chance.
_SEVERAL = 4
# The status fields. `_STATUS_ALONE` matches the `how` of a column that is read as status fields and nothing else.
_STATUSES = ("Active", "Locked", "Status")
_STATUS_ALONE = re.compile(rf"(?:{'|'.join(_STATUSES)})(?: and (?:{'|'.join(_STATUSES)}))* of [a-z ]+")
_KNOWN = ACTIVE.keys() | LOCKED.keys() | NO_DATE
# Header words that say how a thing is named, such as `id`, and not what it is.
_HOW_NAMED = {"id", "name", "code", "key", "full", "display", "dn", "guid", "no", "number"}
# Fields about people and their work. Their values are not access.
_OF_PEOPLE = ("Title", "Department", "Company", "Division", "Office", "Supervisor ID", "Created", "Updated")
_NOT_READ = Use(Fate.NOT_READ, "")
_EMPTY = Use(Fate.IGNORED, "it has no value")
# Endings of paths that lead to the name of an object in a list, best first.
_NAMES = ("].displayname", "].display", "].name", "name", "].role", "].tag", "].value", "key", "id")
# The `place` of everything in a file that is outside its tables.
BESIDE = "beside the records"


def account_for(view: View, sections: Sequence[Section], place: str | None = None) -> list[ColumnAccount]:
    """Return what becomes of each column of a table, and why it may contain access that is not read.

    `sections` are the contents that are read from the table.
    """
    profiles = {profile.header: profile for profile in _all_columns(view)}
    columns = [_column(profile, place) for profile in profiles.values()]
    use_again(columns, {place: sections})
    read = {column.header: column.how for column in columns if column.becomes == Fate.READ}
    named = {header for header, how in read.items() if re.search(r"\b(?:Group|Permission)\b", how)}
    held = [profile for profile in view.profiles if profile.header in named]
    inner = _inner_paths(profiles)
    for column in columns:
        own = view.by_header.get(column.header)
        if column.header in read:
            _hint_at_other_values(column, profiles[column.header], sections)
        elif not any(own and _is_same(own, each) for each in held):
            column.may_be_access = _sign(profiles, column.header, read, inner)
    _mark_shared_levels(columns, profiles)
    return columns


def _hint_at_other_values(column: ColumnAccount, profile: Profile, sections: Sequence[Section]) -> None:
    """Report values of a status column that may be access: words that are not known as states, and roles such as Admin.

    An example is `Superuser` in the column `Attributes` of psql, which also says who cannot log in. Another is `Admin`
    in the column `status` of Slack.
    """
    if not _STATUS_ALONE.fullmatch(column.how) or profile.is_dated or profile.numbers == 1 or profile.is_secret:
        return
    rest = [
        value
        for value in profile.distinct
        if fold(value) in ROLES_WITH_RIGHTS or any(_is_unlisted(value, profile.header, each) for each in sections)
    ]
    if rest:
        column.may_be_access = Sign.LIST if column.separator else Sign.NAMES
        parts = [part.strip(" +") for value in rest for part in _parts(value, column.separator)]
        column.examples = [part[:_LONGEST] for part in list(dict.fromkeys(parts))[:_MOST_RESTS]]


def _parts(value: str, separator: str | None) -> list[str]:
    return [value] if separator in (None, JSON) else value.split(separator)


def _is_unlisted(value: str, header: str, section: Section) -> bool:
    """Return whether a content reads a value as a status only because of `ANY_OTHER`: no listed or known word fits."""
    for field in _STATUSES:
        words, pattern = section.shape.values.get(field, {}), section.shape.join.get(field)
        parts = [part for part in pattern_parts(pattern) if isinstance(part, Placeholder)] if pattern else []
        starts = [text for part in parts for name, text in part.filters if name == "starting"]
        # Skip columns with the filter `past`, because they contain dates.
        texts = [part.column for part in parts if "past" not in dict(part.filters)]
        is_read = section.columns.get(header) == field or header in texts
        is_named = value.lower() in {word.strip().lower() for word in words} or fold(value) in _KNOWN
        if is_read and ANY_OTHER in words and not is_named and not any(map(value.startswith, starts)):
            return True
    return False


def _mark_shared_levels(columns: Sequence[ColumnAccount], profiles: Mapping[str, Profile]) -> None:
    """Mark a column as levels if at least half of its words also occur in other columns that may contain levels.

    `sign_of_access` marks columns that are levels on their own, such as those with a word for no access.
    """
    words = {column.header: {fold(value) for value in profiles[column.header].distinct} for column in columns}
    leveled = [each for each in columns if _may_have_levels(each, words[each.header])]
    counts = Counter(word for each in leveled for word in words[each.header])
    for column in leveled:
        own = words[column.header]
        if 2 * sum(counts[word] > 1 for word in own) >= len(own):
            column.may_be_access = Sign.LEVELS


def _may_have_levels(column: ColumnAccount, words: Set[str]) -> bool:
    """Return whether a column may contain levels, such as Read and Write.

    Names or lists under a header such as Group or Role are not levels. A column of lists may contain levels only if one
    of its words means no access, such as None in a column that also contains `User, Product admin`.
    """
    if column.may_be_access == Sign.LEVELS:
        return True
    is_plain = column.may_be_access == Sign.NAMES or (column.may_be_access == Sign.LIST and bool(words & GIVES_NOTHING))
    return is_plain and not names_access(column.header)


def _is_same(column: Profile, other: Profile) -> bool:
    """Return whether two columns name the same things in two ways, such as a group by name and by ID."""
    words, others = (words_of(each.header) - _HOW_NAMED for each in (column, other))
    if (words - others) & HELD and (others - words) & HELD:
        return False
    count = len(set(column.cells))
    # By chance, the two values of a yes/no column, such as Group Admin, may correspond to two names of groups.
    if not words & others or column.ticks or (words != others and count < _SEVERAL) or count < 2:
        return False
    return len(set(zip(column.cells, other.cells, strict=True))) == count == len(set(other.cells))


def account_beside(beside: Mapping[str, str], paths: Mapping[str, str]) -> list[ColumnAccount]:
    """Return what becomes of the parts of a file outside its tables, such as other sheets.

    `beside` maps the name of each part to an example. `paths` maps the path of a list to the content that is read
    from it.
    """
    return [_beside(name, example, paths) for name, example in beside.items()]


def sections_of(parts: Iterable[tuple[Content, Mapping[str, Any]]], records: str | None) -> list[Section]:
    """Return the contents that are read from a table; `records` is its path in JSON.

    The table of an inner list also has the columns of the outer records, so include the contents of those. Include the
    contents of lists inside the records too, but not of other lists.
    """
    sections = []
    for content, section in parts:
        shape = msgspec.convert(section["shape"] or {}, FileShape)
        outer = (records or "").rpartition("[].")[0]
        if (shape.records or None) in (records, outer or records):
            sections.append(Section(content, section["columns"], shape))
        elif shape.records and shape.records.startswith(f"{records or ''}[]."):
            sections.append(_from_outside(content, section["columns"], shape))
    return sections


def _from_outside(content: Content, columns: Mapping[str, str], shape: FileShape) -> Section:
    """Name the columns of an inner list by their paths from the outer records: `roles[].name`, not `roles.name`."""
    inner = (shape.records or "").rpartition("[].")[2].removesuffix("[]")
    named = {
        f"{inner}[].{header.removeprefix(f'{inner}.')}" if header.startswith(f"{inner}.") else header: field
        for header, field in columns.items()
    }
    join = {field: pattern.replace(f"{{{inner}.", f"{{{inner}[].") for field, pattern in shape.join.items()}
    return Section(content, named, msgspec.structs.replace(shape, join=join))


def use_again(columns: Iterable[ColumnAccount], sections: Mapping[str | None, Sequence[Section]]) -> None:
    """Set what becomes of each column in the tables. Call this again after a person changes how columns are read.

    A column that is now read, and not only as a status, no longer counts as possible access. `sections` maps each place
    to the contents that are read from it.
    """
    found = [column for column in columns if column.place != BESIDE]
    for place in dict.fromkeys(column.place for column in found):
        own = [column for column in found if column.place == place]
        uses = uses_of([column.header for column in own], sections.get(place, []))
        for column in own:
            use = _inside_list(column.header, uses)
            column.becomes, column.how = use if column.values or use.fate == Fate.READ else _EMPTY
            is_read = column.becomes == Fate.READ and not _STATUS_ALONE.fullmatch(column.how)
            column.may_be_access = None if is_read else column.may_be_access


def _inside_list(header: str, uses: Mapping[str, Use]) -> Use:
    """Return what becomes of a column. An unread member of a list is kept or ignored together with the list."""
    outer = header.partition("[")[0]
    if outer == header or outer not in uses or uses[header].fate == Fate.READ:
        return uses[header]
    if uses[outer].fate == Fate.KEPT:
        return Use(Fate.KEPT, f"{uses[outer].how}, inside {outer}")
    return uses[outer] if uses[outer].fate == Fate.IGNORED else _NOT_READ


def _all_columns(view: View) -> Iterator[Profile]:
    """Yield the columns of a table, members of objects in their lists, and lists of which only paths are columns."""
    headers = {profile.header for profile in view.profiles}
    # A path to one entry, such as emails[type=work].value, covers the member emails[].value of all entries.
    paths = {re.sub(r"\[[^\]]*\]", "[]", path) for path in view.table.paths}
    known = headers | paths
    for profile in view.profiles:
        yield profile
        if profile.is_list or profile.separator == JSON:
            yield from (each for each in _members(profile) if each.header not in known)
    for path, column in view.table.paths.items():
        if column not in headers and path in headers:
            # The list itself is not a column, so describe it by the values at its first path.
            headers.add(column)
            yield Profile(column, 0, view.by_header[path].cells)


def _members(profile: Profile) -> Iterator[Profile]:
    members: dict[str, list[str]] = {}
    for entry in (entry for cell in profile.cells[:MOST_CELLS] for entry in _entries(cell, profile)):
        for name, value in entry.items():
            if len(members) < _MOST_MEMBERS or name in members:
                text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
                members.setdefault(name, []).append("" if value is None else text)
    for name, values in members.items():
        yield Profile(f"{profile.header}[].{name}", profile.position, values)


def _entries(cell: str, column: Profile) -> Sequence[Mapping[str, Any]]:
    """Return the objects in a cell with only those members that are not read.

    Objects in a list of records are returned whole, because paths such as `roles[].name` may read any member.
    """
    if not column.is_list or cell.startswith("{"):
        return unread_in_cell(cell.strip())
    if not cell.startswith("[{"):
        return []
    found = decode_nested(cell, list[object])
    return [entry for entry in found if isinstance(entry, dict)]


def _column(profile: Profile, place: str | None) -> ColumnAccount:
    # Do not show objects, which may contain secrets. The members of objects in a list have columns of their own.
    texts = [value for value in _shown(profile) if not value.startswith(("[{", "{"))]
    hidden = profile.is_secret or looks_secret(profile.header.partition("[")[0])
    examples = [] if hidden else examples_of(texts)
    separator = JSON if "[]" in profile.header or profile.is_object else profile.separator
    return ColumnAccount(profile.header, place, *_NOT_READ, None, separator, len(_shown(profile)), examples)


def examples_of(values: Sequence[str]) -> list[str]:
    """Return the first values of a column, truncated and without secrets inside JSON."""
    return [mask_json(value)[:_LONGEST] for value in values[:_EXAMPLES]]


def _shown(profile: Profile) -> list[str]:
    """Return the distinct values of a column; for a list of objects, its distinct cells."""
    return profile.distinct or list(dict.fromkeys(cell for cell in profile.cells if cell not in ("", "[]", "{}")))


def _inner_paths(headers: Iterable[str]) -> dict[str, list[str]]:
    """Map the names of lists to the paths into them."""
    found: dict[str, list[str]] = {}
    for header in headers:
        outer, bracket, _ = header.partition("[")
        if bracket:
            found.setdefault(outer, []).append(header)
    return found


def _sign(
    profiles: Mapping[str, Profile], header: str, read: Collection[str], inner: Mapping[str, list[str]]
) -> Sign | None:
    """Return why an unread column may contain access, or None.

    For an unread list of objects, return the reason only for the column with the names of the objects, so that the list
    is reported once.
    """
    profile = profiles[header]
    outer, _, member = header.partition("[")
    inside = inner.get(outer, [])
    if outer == header or outer not in profiles:
        return None if inside and outer == header else _sign_of(header, profile)
    if outer in read:
        # Other members of the list are read, so judge this member by its own name.
        return _sign_of(member.rpartition(".")[2], profile)
    return Sign.RECORDS if header == _naming(inside) and _sign_of(outer, profiles[outer]) else None


def _naming(paths: Sequence[str]) -> str:
    """Return the path to the names of the objects in a list, or else the first path."""
    return next((each for end in _NAMES for each in paths if each.lower().endswith(end)), paths[0])


def _sign_of(name: str, profile: Profile) -> Sign | None:
    names = set(names_of(name))
    is_of_people = any(names & known_for(field) for field in _OF_PEOPLE) and not names_access(name)
    is_other = profile.distinguished_names and not names_access(name)
    if is_of_people or is_other or profile.is_dated:
        return None
    return None if profile.is_secret else sign_of_access(name, profile.cells[:MOST_CELLS])


def _beside(name: str, example: str, paths: Mapping[str, str]) -> ColumnAccount:
    contents = [content for path, content in paths.items() if path.partition("[]")[0] == name]
    fate, how = (Fate.READ, f"records of {' and '.join(contents)}") if contents else _NOT_READ
    examples = [] if looks_secret(name) or not example else [mask_json(example)[:_LONGEST]]
    return ColumnAccount(name, BESIDE, fate, how, None, None, len(examples), examples)
