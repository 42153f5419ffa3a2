"""Choose the group column and the username column of memberships, and leave out values that mean no group."""

import re
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from rolecall.applications.field_words import GIVES_NOTHING, NOTHING_HELD
from rolecall.applications.file_shape import JSON, fits_patterns
from rolecall.applications.model import Content, same_header
from rolecall.core.text import fold
from rolecall.file_shapes.choices import AS_PROPOSED, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import (
    IDENTIFYING,
    NAMING_OBJECTS,
    known_for,
    names_of,
    path_of,
    words_of,
)
from rolecall.file_shapes.columns.header_words import HELD
from rolecall.file_shapes.columns.meanings import Meaning, meanings
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

# The key of an answer that repeats the groups of a column in the blank cells below them.
FILL_DOWN = "fillDown"
_NO_PERMISSION = {fold(word) for word in NOTHING_HELD}
# A placeholder in brackets, such as `(No Group)` or `<not assigned>`.
_PLACEHOLDER = re.compile(r"[(<\[](?:no|not|without)\b[^()<>\[\]]{0,60}[)>\]]", re.IGNORECASE)
_LIKELY, _CERTAIN = 0.4, 0.9
# Words are alike if this many of their first letters match, as in Gruppe and Gruppenname.
_STEM = 5
# A share above this means most of the values.
_MOSTLY = 0.5
# If at most this many rows have a value, it may be the same in all of them by coincidence.
_FEW = 2
# Words in headers that say how a group is named, such as by its ID.
NAMING = {"id", "name", "code", "dn", "no", "number", "key", "display", "email", "mail", "address", "path", "guid"}
# The members of an object that name or identify it, best first.
_OF_OBJECTS = [*NAMING_OBJECTS, *IDENTIFYING]
_NUMBERED = re.compile(r"(.*?[^\W\d])[ _.-]{0,20}[\[(]?\d{1,2}[\])]?")


def use_filled_group(view: View, fields: dict[str, Meaning]) -> None:
    """Read groups from a column without blank cells, if the column with the best header has blank cells."""
    if "Group" not in fields or view.by_header[fields["Group"].header].is_filled:
        return
    taken = {meaning.header for meaning in fields.values()}
    for other in meanings(Content.MEMBERSHIPS, view.profiles):
        column = view.by_header[other.header]
        is_other = other.field == "Group" and other.score > _LIKELY and other.header not in taken
        if is_other and column.is_filled and not column.ticks and not column.is_opaque:
            fields["Group"] = other
            return


def use_varied(view: View, fields: dict[str, Meaning], content: Content, field: str) -> None:
    """If the column with the best header has only one value, read the field from a column with several values."""
    best = view.by_header[fields[field].header] if field in fields else None
    if best is None or len(best.distinct) != 1 or len(best.values) <= _FEW:
        return
    taken = {meaning.header for meaning in fields.values()}
    for other in meanings(content, view.profiles):
        column = view.by_header[other.header]
        is_other = other.field == field and other.score > _LIKELY and other.header not in taken
        if is_other and len(column.distinct) > 1 and column.is_filled and not column.ticks and not column.is_opaque:
            fields[field] = other
            return


def numbered_groups(view: View) -> list[str]:
    """Return the headers of columns such as Group 1 and Group 2, which name one group each."""
    found: dict[str, list[str]] = {}
    for column in view.profiles:
        match = _NUMBERED.fullmatch(column.header.strip())
        if match and column.values and not column.ticks and not column.numbers and not column.is_dated:
            found.setdefault(match[1], []).append(column.header)
    several = [headers for stem, headers in found.items() if len(headers) > 1 and _names_groups(stem)]
    return max(several, key=len, default=[])


def _names_groups(stem: str) -> bool:
    return bool(known_for("Group").intersection(names_of(stem)))


def use_login(view: View, fields: dict[str, Meaning]) -> None:
    """Use a column of logins as the username, instead of a column of e-mail addresses or numbers.

    Instead of addresses, use a column `name` or `id`; instead of numbers, another column whose header means Username.
    """
    holder = fields.get("Username")
    if holder is None:
        return
    if view.by_header[holder.header].numbers > _MOSTLY:
        _use_login_beside(view, fields, view.by_header[holder.header])
    if view.by_header[holder.header].emails < 1:
        return
    addresses = view.by_header[holder.header]
    for named in [each for each in view.profiles if names_of(each.header)[:1] in (["name"], ["id"])]:
        pairs = set(zip(addresses.cells, named.cells, strict=True))
        is_same = len(pairs) == len(named.distinct) == len(addresses.distinct)
        if is_same and named.is_login and named.is_filled and not named.is_opaque:
            why = f"its values are logins, one for each {holder.header}"
            fields["Username"] = Meaning(named.header, "Username", 0.7, why)
            return


def _use_login_beside(view: View, fields: dict[str, Meaning], numbers: Profile) -> None:
    for other in meanings(Content.MEMBERSHIPS, view.profiles):
        column = view.by_header[other.header]
        is_other = other.field == "Username" and other.score > _MOSTLY and column is not numbers
        count = len(set(zip(numbers.cells, column.cells, strict=True)))
        is_same = count == len(numbers.distinct) == len(column.distinct)
        if is_other and is_same and column.is_login and column.is_filled and not column.emails:
            why = f"its values are logins, one for each {numbers.header}"
            fields["Username"] = Meaning(column.header, "Username", other.score, why)
            return


def ask_for_other_groups(view: View, part: Part, groups: Profile) -> None:
    """Ask which column gives the memberships, if the header of another column certainly means groups too."""
    taken = {meaning.header for meaning in part.fields.values()}
    for other in meanings(Content.MEMBERSHIPS, view.profiles):
        column = view.by_header[other.header]
        is_named = other.field == "Group" and other.score >= _CERTAIN and other.header not in taken
        is_other = column.values and not (column.is_opaque or column.ticks or column.statuses == 1)
        is_other = is_other and not _is_same(groups, column)
        if not is_named or not is_other or "Group" not in part.fields or not fits_patterns(column.header):
            continue
        text = f"{groups.header} and {column.header} both name groups. Are the memberships those in {groups.header}?"
        yes = ProposedChoice(f"Yes, those in {groups.header}", "Username", AS_PROPOSED)
        no = ProposedChoice(f"No, those in {column.header}", "join.Group", f"{{{column.header}}}")
        part.ask(text, yes, no)
        return


def _is_same(groups: Profile, other: Profile) -> bool:
    """Return whether two columns name the same groups, such as by a name and by a code."""
    words, others = ((words_of(each.header) - NAMING) or {each.header} for each in (groups, other))
    is_alike = any(a[:_STEM].lower() == b[:_STEM].lower() for a in words for b in others)
    pairs = set(zip(groups.cells, other.cells, strict=True))
    return is_alike and len(pairs) == len({*groups.cells}) == len({*other.cells})


def one_for_each_object(columns: Iterable[Profile]) -> list[Profile]:
    """Return the columns without those that name or identify an object again, such as role.id beside role.name."""
    found: dict[str, list[Profile]] = {}
    for column in columns:
        owner, member = path_of(column.header) or ("", "")
        found.setdefault(owner if same_header(member) in _OF_OBJECTS else column.header, []).append(column)
    return [_best_name(each) for each in found.values()]


def _best_name(columns: Sequence[Profile]) -> Profile:
    """Return the column with the most values; among equals, the one whose member comes first in `_OF_OBJECTS`."""
    members = {each.header: same_header(each.header.rpartition(".")[2]) for each in columns}
    if len(columns) == 1:
        return columns[0]
    return min(columns, key=lambda each: (-len(each.values), _OF_OBJECTS.index(members[each.header])))


def held_together(lists: Sequence[Profile]) -> list[Profile]:
    """Return the columns whose groups are read together: the first, and further columns that can be added to it.

    A column is not added if it may name the same groups in another way, such as by codes, or if its values may mean
    something else: a role with the name of a group, or the role that an account has in the group of its row.
    """
    held, taken = list[Profile](), _Taken()
    kinds = _names_in(lists[0]).kinds if lists else frozenset()
    for column in lists:
        names = _names_in(column)
        if held:
            is_added = held[0].separator is not None or not names.kinds.isdisjoint(kinds)
            if not is_added or column.is_opaque or taken.conflicts_with(names):
                continue
        held.append(column)
        taken.add(names)
    return held


class _Names(NamedTuple):
    """The words of a header, those of them that mean groups, and the values of the column."""

    words: frozenset[str]
    kinds: frozenset[str]
    values: set[str]


def _names_in(column: Profile) -> _Names:
    words = frozenset(word.removesuffix("s") for word in words_of(column.header)) - NAMING
    return _Names(words, words & HELD, {*values_of(column, column.separator)})


class _Taken:
    """An index of the names in the columns read so far, by value and by header words.

    It avoids comparing each column with all others, because a file may have thousands of columns.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, set[frozenset[str]]] = {}
        self._alike: dict[frozenset[str], list[_Names]] = {}

    def add(self, names: _Names) -> None:
        self._alike.setdefault(names.words, []).append(names)
        for value in names.values:
            self._kinds.setdefault(value, set()).add(names.kinds)

    def conflicts_with(self, names: _Names) -> bool:
        """Return whether a column may name the same groups in another way, or other groups with the same names."""
        others = [kinds for value in names.values for kinds in self._kinds.get(value, ())]
        if any(names.kinds.isdisjoint(kinds) for kinds in others):
            return True
        alike = self._alike.get(names.words, []) if names.kinds else []
        return any(names.values.isdisjoint(other.values) for other in alike)


def values_of(column: Profile, separator: str | None) -> list[str]:
    """Return the values of a column; split lists into their elements."""
    is_text = separator not in (None, JSON)
    return [part.strip() for value in column.distinct for part in (value.split(separator) if is_text else [value])]


def blank_no_groups(part: Part, columns: Iterable[Profile]) -> None:
    """Read placeholders that mean no group as blank."""
    found = {
        value
        for column in columns
        for value in values_of(column, column.separator)
        if _is_nothing(value, column, GIVES_NOTHING)
    }
    if found:
        part.shape["blank"] = sorted(found)
        part.evidence.append(f"No group is read from {', '.join(sorted(found))}")


def _is_nothing(value: str, column: Profile, words: Set[str]) -> bool:
    """Return whether a value says that nothing is held: a known word, a placeholder, or `No Team` in a column Team."""
    first, _, rest = value.partition(" ")
    is_no = fold(first) == "no" and fold(rest).removesuffix("s") in {fold(column.header), *words_of(column.header)}
    return fold(value) in words or is_no or _PLACEHOLDER.fullmatch(value) is not None


def has_placeholders(groups: Profile, separator: str | None) -> bool:
    """Return whether a word in a column of groups means that an account has none."""
    return any(value and _is_nothing(value, groups, GIVES_NOTHING) for value in values_of(groups, separator))


def ask_for_merged(part: Part, groups: Profile, what: str = "group") -> None:
    """Ask whether a blank cell in the first column repeats the group above it, as in merged cells.

    Ask only if no group occurs twice and the first row has a group: otherwise a blank cell means no group. `what` says
    what the column has: groups or permissions.
    """
    if groups.position or groups.is_filled or not groups.is_unique or not groups.cells[0].strip():
        return
    count = sum(not cell.strip() for cell in groups.cells)
    rows = "1 row" if count == 1 else f"{count:,} rows"
    text = f"{groups.header} is blank in {rows}. Do these rows belong to the {what} above?"
    repeat = ProposedChoice(f"Yes, a blank cell repeats the {what} above", FILL_DOWN, groups.header)
    none = ProposedChoice(f"No, these rows have no {what}", SKIP_ROWS, groups.header)
    part.ask(text, repeat, none)


def skip_no_groups(part: Part, groups: Profile, what: str = "group") -> None:
    """Leave out rows with a placeholder that means no group or, if `what` is "permission", no permission.

    Also leave out rows with a blank group or permission, unless the cells are lists. Keep blank permissions beside a
    section, because they may mean all permissions of the section.
    """
    separator = part.shape.get("split", {}).get(groups.header)
    nothing = GIVES_NOTHING if what == "group" else _NO_PERMISSION
    words = sorted(word for word in set(values_of(groups, separator)) if _is_nothing(word, groups, nothing))
    is_named = what == "group" or part.origin("Section") is None
    if not groups.is_filled and separator is None and is_named:
        words.append("")
    if "" in words:
        ask_for_merged(part, groups, what)
    if words:
        part.skip_rows({"column": groups.header, "is": words})
    if named := ", ".join(filter(None, words)):
        part.evidence.append(f"No {what} is read from {named} in {groups.header}")
