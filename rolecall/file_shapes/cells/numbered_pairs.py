"""Read numbered columns that belong together: course1 and role1, which have the same number, give one grant."""

import re
from collections.abc import Iterator, Sequence, Set
from itertools import count
from typing import NamedTuple

from rolecall.applications.field_words import GIVES_NOTHING, NO_ACCESS
from rolecall.applications.file_shape import ANY_OTHER, fits_patterns
from rolecall.applications.model import same_header
from rolecall.core.secret_names import looks_secret
from rolecall.core.text import counted, fold, some_of
from rolecall.file_shapes.cells.groups_held import NAMING, numbered_groups
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.header_names import is_about_person, names_access, words_of
from rolecall.file_shapes.columns.header_words import OTHER_PEOPLE, SCOPES
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

# Words in headers of the levels that an account has in the place, group or application with the same number. Earlier
# sets take precedence: beside Level 1, Role 1 is what the level applies to.
_LEVELS = (
    {"level", "accesslevel", "niveau", "nivel", "livello"},
    {"access", "zugriff", "acces", "acceso", "accesso"},
    {"permission", "permissions", "privilege", "privileges", "right", "rights", "recht", "droit", "permiso"},
    {"role", "roles", "rolename", "roleid", "rolle", "rol", "ruolo"},
)
# All words in headers of levels.
LEVELS = {word for words in _LEVELS for word in words}
# Words in headers of numbered columns about a person, and not about access.
_PERSONAL = OTHER_PEOPLE | {
    "phone", "telephone", "mobile", "fax", "mail", "email", "address", "street", "city", "zip", "country", "language",
    "skill", "question", "answer", "contact", "reference", "dependent", "child", "comment", "note", "custom",
    "description", "desc",
}  # fmt: skip
# Words in headers of credentials, such as `access_key_1_active`: they are not access.
_KEYS = {"key", "keys", "cert", "certificate", "token"}
_STATES = {"status", "state", "active", "enabled", "suspended", "disabled", "locked"}
_PLACES = SCOPES | {"course", "courses", "cohort", "module", "site", "location", "department", "company", "school"}
_NUMBER = re.compile(r"\d+")
_AROUND = " _.-[]()#"
_NOTHING = GIVES_NOTHING | NO_ACCESS
_MOST_NAMED = 4
_LONGEST_NUMBER = 2
# The number given to a column without one, if another column has 0. It is greater than all others.
_WITHOUT_NUMBER = 100
# The maximum length of a pattern, and the number of characters that a pair adds to it besides its two headers.
_LONGEST_PATTERN, _AROUND_HEADERS = 2_048, 32
_NO = ("No", "N", "False", "0")


class _Series(NamedTuple):
    """Columns whose headers differ only in their number: the header without the number, and the columns by number."""

    name: str
    columns: dict[int, Profile]

    @property
    def profiles(self) -> list[Profile]:
        return list(self.columns.values())

    @property
    def numbers(self) -> int:
        """Return the set of the numbers as bits, which are fast to compare."""
        return sum(1 << n for n in self.columns)

    def without(self, numbers: Set[int]) -> "_Series":
        return _Series(self.name, {n: column for n, column in self.columns.items() if n not in numbers})


class NumberedPairs(NamedTuple):
    """Numbered columns of places, groups or applications (`held`), and columns with the level or role in each."""

    held: _Series
    levels: _Series
    # Further columns with the same numbers, such as the end dates of the roles.
    further: list[Profile]

    @property
    def read(self) -> list[str]:
        return [each.header for series in (self.held, self.levels) for each in series.profiles]

    @property
    def headers(self) -> list[str]:
        return [*self.read, *(each.header for each in self.further)]

    @property
    def pairs(self) -> list[tuple[Profile, Profile]]:
        return [(each, self.levels.columns[n]) for n, each in self.held.columns.items() if n in self.levels.columns]


def numbered_pairs(view: View) -> NumberedPairs | None:
    """Find the columns of roles or levels, and the columns with the same numbers that say what they apply to."""
    series = list(_numbered(view))
    candidates = _Candidates(series)
    for words in _LEVELS:
        for levels in [each for each in series if words_of(each.name) & words and not words_of(each.name) & _KEYS]:
            if held := candidates.for_levels(levels):
                best = min(held, key=lambda each: _rank(each, levels))
                others = [each for each in series if each not in (best, levels) and _is_among(each, best, levels)]
                further = [column for each in others if _may_matter(each) for column in each.profiles]
                return _fitting(NumberedPairs(best, levels, further))
    return None


def _fitting(found: NumberedPairs) -> NumberedPairs:
    """Leave out the pairs that would make the pattern too long; add their columns to `further`."""
    length, left = 0, set[int]()
    for n, column in found.held.columns.items():
        if level := found.levels.columns.get(n):
            length += len(column.header) + len(level.header) + _AROUND_HEADERS
        left |= {n} if length > _LONGEST_PATTERN else set()
    held, levels = found.held.without(left), found.levels.without(left)
    columns = [each.columns[n] for each in (found.held, found.levels) for n in sorted(left & each.columns.keys())]
    return NumberedPairs(held, levels, [*found.further, *columns])


def ask_for_others(view: View, part: Part) -> None:
    """Ask about the other numbered columns of groups or permissions if only one of them is read."""
    for meaning in [part.fields[each] for each in ("Group", "Permission") if each in part.fields]:
        series = next((each for each in _numbered(view) if _has(each, meaning.header)), None)
        if others := [each.header for each in series.profiles if each.header != meaning.header] if series else []:
            _ask(part, f"Only {meaning.header} is read. Not read: {some_of(others, _MOST_NAMED)}. Import without them?")


def _has(series: _Series, header: str) -> bool:
    return any(each.header == header for each in series.profiles)


class Numbered(NamedTuple):
    """Numbered columns that say nothing about the account itself: pairs, or else details of numbered groups."""

    pairs: NumberedPairs | None
    details: list[Profile]

    @property
    def headers(self) -> list[str]:
        return [*(self.pairs.headers if self.pairs else []), *(each.header for each in self.details)]


def numbered_columns(view: View) -> Numbered:
    pairs = numbered_pairs(view)
    return Numbered(pairs, [] if pairs else _details(view, numbered_groups(view)))


def _details(view: View, groups: Sequence[str]) -> list[Profile]:
    """Return columns that may say more about the groups with the same numbers, such as when a membership ends."""
    series = list(_numbered(view))
    named = next((each for each in series if {column.header for column in each.profiles} >= {*groups}), None)
    others = [each for each in series if groups and named and each is not named and _share_numbers(each, named)]
    return [column for each in others if _is_detail(each) for column in each.profiles]


def ask_for_details(part: Part, details: Sequence[Profile], what: str) -> None:
    """Ask whether to import without these columns, which a shape cannot read together with the groups."""
    if details:
        named = some_of([each.header for each in details], _MOST_NAMED)
        _ask(part, f"Columns that may say more about each {what} are not read: {named}. Import without them?")


def _numbered(view: View) -> Iterator[_Series]:
    found: dict[tuple[str, int], _Series] = {}
    plain = {same_header(each.header): each for each in view.profiles}
    for column in view.profiles:
        numbers = _NUMBER.findall(column.header)
        if len(numbers) != 1 or len(numbers[0]) > _LONGEST_NUMBER:
            continue
        before, after = (text.strip(_AROUND) for text in column.header.split(numbers[0]))
        name = f"{before} {after}".strip()
        if before and column.values and fits_patterns(column.header) and not looks_secret(name):
            _add(found, name, int(numbers[0]), column)
    for (key, copy), series in found.items():
        # The first column may have no number, as in Role, Role 2.
        first = None if copy else plain.get(key)
        before_all = _WITHOUT_NUMBER if 0 in series.columns else 0
        yield _Series(series.name, {before_all: first, **series.columns} if first else series.columns)


def _add(found: dict[tuple[str, int], _Series], name: str, number: int, column: Profile) -> None:
    """Add a column to its series. If the number is taken, as by Role 1 before Role 01, start another series."""
    for copy in count():
        series = found.setdefault((same_header(name), copy), _Series(name, {}))
        if number not in series.columns:
            series.columns[number] = column
            return


class _Candidates:
    """The columns that may name what roles or levels apply to, grouped by their numbers and words.

    Each group is compared once with each kind of levels, because a file may have thousands of columns.
    """

    def __init__(self, series: Sequence[_Series]) -> None:
        self._groups: dict[tuple[int, frozenset[str]], list[_Series]] = {}
        self._found: dict[tuple[int, frozenset[str]], list[_Series]] = {}
        for each in filter(_may_be_held, series):
            self._groups.setdefault(_kind_of(each), []).append(each)

    def for_levels(self, levels: _Series) -> list[_Series]:
        """Return the columns that share numbers with the levels and have other words in their names."""
        kind = numbers, words = _kind_of(levels)
        if kind not in self._found:
            fits = [key for key in self._groups if key[1] != words and _share(key[0], numbers)]
            found = [each for key in fits for each in self._groups[key]]
            self._found[kind] = sorted(found, key=lambda each: min(column.position for column in each.profiles))
        return self._found[kind]


def _kind_of(series: _Series) -> tuple[int, frozenset[str]]:
    return series.numbers, frozenset(words_of(series.name) - NAMING)


def _may_be_held(series: _Series) -> bool:
    """Return whether columns may name what the roles or levels with the same numbers apply to, such as courses."""
    is_other = is_about_person(series.name) or words_of(series.name) & (_PERSONAL | _STATES)
    is_alone = len(series.columns) == 1 and 1 not in series.columns
    return not is_alone and not is_other and not any(_is_flag(each) or each.is_dated for each in series.profiles)


def _is_flag(column: Profile) -> bool:
    """Return whether a column has yes or no. Words such as none alone do not count: columns of names have them too."""
    return column.ticks and not all(fold(word) in _NOTHING for word in column.distinct)


def _share_numbers(series: _Series, levels: _Series) -> bool:
    return _share(series.numbers, levels.numbers)


def _share(numbers: int, others: int) -> bool:
    """Return whether two sets have several numbers in common, or exactly the number 1."""
    common = numbers & others
    # A file in which each account has one grant has only the number 1.
    return common == 1 << 1 or common.bit_count() > 1


def _rank(series: _Series, levels: _Series) -> tuple[int, bool, bool, int]:
    """Return the sort key of candidates for `held`: most numbers in common with `levels`, known words, distance."""
    common = len(series.columns.keys() & levels.columns.keys())
    return -common, not _names_place(series), not names_access(series.name), _distance(series, levels)


def _is_among(series: _Series, held: _Series, levels: _Series) -> bool:
    """Return whether columns may belong to pairs.

    They do if they have the same numbers as the levels, or share some and come after the first column of the pairs.
    """
    if not _share_numbers(series, levels):
        return False
    first = min(each.position for pair in (held, levels) for each in pair.profiles)
    return series.columns.keys() == levels.columns.keys() or min(each.position for each in series.profiles) > first


def _names_place(series: _Series) -> bool:
    return bool(words_of(series.name) & _PLACES)


def _distance(series: _Series, levels: _Series) -> int:
    """Return how far a column is from the level with the same number."""
    first = min(series.columns.keys() & levels.columns.keys())
    return abs(series.columns[first].position - levels.columns[first].position)


def _may_matter(series: _Series) -> bool:
    """Return whether columns may say more about a grant, such as its place, its state or when it ends."""
    return names_access(series.name) or _names_place(series) or _is_detail(series)


def _is_detail(series: _Series) -> bool:
    is_state = bool(words_of(series.name) & _STATES)
    return is_state or any(each.is_dated or each.ticks for each in series.profiles)


def add_pairs(view: View, part: Part, found: NumberedPairs) -> None:
    """Read each pair as a permission: a role in a section or, if all levels are yes or no, a name with its access."""
    is_ticked = all(level.ticks for level in found.levels.profiles)
    cells, field = ("Permission", "Access") if is_ticked else ("Section", "Permission")
    # After `unpivot`, patterns test the field of the headers, so choose a field whose name is not also a header.
    named = {same_header(each) for each in view.table.headers}
    across = "Access" if field.lower() in named else field
    columns = [each.header for each in found.held.profiles]
    part.shape["unpivot"] = {"columns": columns, "headers": across, "cells": cells}
    join = part.shape.setdefault("join", {})
    if across != field:
        join[across] = f"{{{across}|as(Grant)}}"
    join[field] = _beside(found, across)
    if is_ticked:
        part.shape["values"] = {"Access": dict.fromkeys(_NO, "None")}
    else:
        _refuse(part, found, across)
    if across.lower() in named:
        text = f"{across} cannot be read beside columns with numbers; rename it to {across} 1. Import without it?"
        _ask(part, text, "Yes, without it")
    _ask_for_unread(part, found)


def _beside(found: NumberedPairs, across: str, filters: str = "") -> str:
    return "".join(f"{{{level.header}{filters}|when({across}={held.header})}}" for held, level in found.pairs)


def _refuse(part: Part, found: NumberedPairs, across: str) -> None:
    """Read words such as None as blank.

    If the level beside a name is such a word, a blank level beside any name grants nothing too.
    """
    refused = [level for held, level in _cells(found) if level and _is_nothing(level) and not _is_nothing(held)]
    if refused:
        part.shape["join"]["Access"] = _beside(found, across, "|else(None)")
        part.shape["values"] = {"Access": {"None": "None", ANY_OTHER: "Grant"}}
        part.evidence.append(f"{refused[0]} or a blank in {found.levels.name} grants nothing")
    if words := {*_words_for_nothing(found.held), *_words_for_nothing(found.levels)}:
        part.shape["blank"] = sorted(words)


def _words_for_nothing(series: _Series) -> list[str]:
    return list(dict.fromkeys(word for each in series.profiles for word in each.distinct if fold(word) in _NOTHING))


def _is_nothing(cell: str) -> bool:
    return not cell or fold(cell) in _NOTHING


def _cells(found: NumberedPairs) -> Iterator[tuple[str, str]]:
    """Yield the two cells of each pair in each row: the name and the level."""
    for held, level in found.pairs:
        yield from ((a.strip(), b.strip()) for a, b in zip(held.cells, level.cells, strict=True))


def _ask_for_unread(part: Part, found: NumberedPairs) -> None:
    """Ask about unread numbered columns, levels that may be lists, and levels without the place they apply to."""
    held, levels = found.held.name, found.levels.name
    ask_for_details(part, found.further, f"{held} and {levels}")
    if lists := [each for each in found.levels.profiles if each.separator]:
        example = max(lists[0].values, key=lambda value: value.count(str(lists[0].separator)))
        text = f"{lists[0].header} may list several values, such as {example}. Import each cell as one name?"
        _ask(part, text, "Yes, as one name")
    known = {level.header for _, level in found.pairs}
    alone = [cell for each in found.levels.profiles if each.header not in known for cell in each.values]
    alone += [level for name, level in _cells(found) if _is_nothing(name) and not _is_nothing(level)]
    if alone:
        count = counted(len(alone), "cell")
        _ask(part, f"Not read: {count} with a {levels} without a {held}, such as {alone[0]}. Import without them?")


def _ask(part: Part, text: str, label: str = "Yes, without them") -> None:
    part.ask(text, ProposedChoice(label, "Username", AS_PROPOSED))
