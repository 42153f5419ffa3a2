"""Read numbered columns that belong together, such as course1 and role1: the columns of a number give one grant."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rolecall.applications.field_words import NO_ACCESS, NOTHING_HELD, REFUSES
from rolecall.applications.file_shape import ANY_OTHER, fits_patterns
from rolecall.applications.model import same_header
from rolecall.core.secret_names import looks_secret
from rolecall.core.text import counted, fold
from rolecall.file_shapes.ending import AS_PROPOSED
from rolecall.file_shapes.groups_held import NAMING
from rolecall.file_shapes.header_names import is_about_person, names_access, words_of
from rolecall.file_shapes.header_words import OTHER_PEOPLE, SCOPES
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.profiles import Profile
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

# Words in headers of what an account has in the place, group or application of the same number. If several of these
# columns have a number, the words of the first line say how much, and those of the last line say in what.
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
}  # fmt: skip
_STATES = {"status", "state", "active", "enabled", "suspended", "disabled", "locked"}
_PLACES = SCOPES | {"course", "courses", "cohort", "module", "site", "location", "department", "company", "school"}
_NUMBER = re.compile(r"\d+")
_AROUND = " _.-[]()#"
_NOTHING = {fold(word) for word in (*NOTHING_HELD, *REFUSES)} | NO_ACCESS - {""}
_MOST_NAMED = 4
_LONGEST_NUMBER = 2
_NO = ("No", "N", "False", "0")


class _Series(NamedTuple):
    """Columns whose headers differ only in their number: the header without the number, and the columns by number."""

    name: str
    columns: dict[int, Profile]

    @property
    def profiles(self) -> list[Profile]:
        return list(self.columns.values())


class NumberedPairs(NamedTuple):
    """Numbered columns that name what is held, and the columns that say which role or level is held in it."""

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
    """Find the columns of roles or levels, and the columns with the same numbers that say in what they are held."""
    series = list(_numbered(view))
    for words in _LEVELS:
        for levels in [each for each in series if words_of(each.name) & words]:
            held = [each for each in series if _may_be_held(each, levels)]
            if held:
                best = min(held, key=lambda each: _rank(each, levels))
                others = [each for each in series if each not in (best, levels) and _is_among(each, best, levels)]
                further = [each for each in others if _may_matter(each)]
                return NumberedPairs(best, levels, [column for each in further for column in each.profiles])
    return None


def _numbered(view: View) -> Iterator[_Series]:
    found: dict[str, _Series] = {}
    plain = {same_header(each.header): each for each in view.profiles}
    for column in view.profiles:
        numbers = _NUMBER.findall(column.header)
        if len(numbers) != 1 or len(numbers[0]) > _LONGEST_NUMBER:
            continue
        before, after = (text.strip(_AROUND) for text in column.header.split(numbers[0]))
        name = f"{before} {after}".strip()
        if before and column.values and fits_patterns(column.header) and not looks_secret(name):
            found.setdefault(same_header(name), _Series(name, {})).columns[int(numbers[0])] = column
    for key, series in found.items():
        # The first column may have no number, as in Role, Role 2.
        first = plain.get(key)
        yield _Series(series.name, {0: first, **series.columns} if first else series.columns)


def _may_be_held(series: _Series, levels: _Series) -> bool:
    """Return whether columns may name what the roles or levels of the same numbers are held in."""
    if series is levels or not _share_numbers(series, levels) or is_about_person(series.name):
        return False
    words, others = words_of(series.name), words_of(levels.name)
    is_other = words - NAMING != others - NAMING and not words & (_PERSONAL | _STATES)
    return is_other and not any(each.ticks or each.is_dated for each in series.profiles)


def _share_numbers(series: _Series, levels: _Series) -> bool:
    common = series.columns.keys() & levels.columns.keys()
    # A file in which each account has one grant has only the number 1.
    return len(common) > 1 or common == {1}


def _rank(series: _Series, levels: _Series) -> tuple[int, bool, bool, int]:
    """Return the sort key of columns that may be held: most numbers of the levels, known words, then the distance."""
    common = len(series.columns.keys() & levels.columns.keys())
    return -common, not _names_place(series), not names_access(series.name), _distance(series, levels)


def _is_among(series: _Series, held: _Series, levels: _Series) -> bool:
    """Return whether columns may belong to pairs: they have the same numbers, or are not before the first pair."""
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
    """Return whether columns may say more about a grant: its place, its state or when it ends."""
    words = words_of(series.name)
    is_about = names_access(series.name) or _names_place(series) or bool(words & _STATES)
    return is_about or any(each.is_dated or each.ticks for each in series.profiles)


def add_pairs(view: View, part: Part, found: NumberedPairs) -> None:
    """Read each pair as a permission: the role in its place, or the granted name if the level is only yes or no."""
    is_ticked = all(level.ticks for level in found.levels.profiles)
    cells, field = ("Permission", "Access") if is_ticked else ("Section", "Permission")
    # After unpivot, patterns test the field of the headers, which must not have the name of a column.
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
        _ask(part, f"{across} cannot be read beside columns with numbers; name it {across} 1. Import without it?")
    _ask_for_unread(part, found)


def _beside(found: NumberedPairs, across: str, filters: str = "") -> str:
    return "".join(f"{{{level.header}{filters}|when({across}={held.header})}}" for held, level in found.pairs)


def _refuse(part: Part, found: NumberedPairs, across: str) -> None:
    """Read words for nothing as blank. If a level has one, neither such a level nor a blank one grants anything."""
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
    """Yield what is held in each row, with its level."""
    for held, level in found.pairs:
        yield from ((a.strip(), b.strip()) for a, b in zip(held.cells, level.cells, strict=True))


def _ask_for_unread(part: Part, found: NumberedPairs) -> None:
    """Ask about numbered columns that are not read, and about levels without a name of what they are held in."""
    held, levels = found.held.name, found.levels.name
    if found.further:
        named = _listed([each.header for each in found.further])
        _ask(part, f"Not read: {named}. They may say more about each {held} and {levels}. Import without them?")
    known = {level.header for _, level in found.pairs}
    alone = [cell for each in found.levels.profiles if each.header not in known for cell in each.values]
    alone += [level for name, level in _cells(found) if _is_nothing(name) and not _is_nothing(level)]
    if alone:
        count = counted(len(alone), "cell")
        _ask(part, f"Not read: {count} with a {levels} without a {held}, such as {alone[0]}. Import without them?")


def _ask(part: Part, text: str) -> None:
    choice = ProposedChoice("Yes, without them", "Username", AS_PROPOSED)
    part.questions = [*part.questions, OpenQuestion(text, [choice])]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"
