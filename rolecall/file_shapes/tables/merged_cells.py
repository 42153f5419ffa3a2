"""Find cells that are merged over several rows.

Some reports name an account only in the first row of its roles, or a group only in the first row of its members.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rolecall.applications.field_words import ACCESS, NO_ACCESS
from rolecall.core.text import fold
from rolecall.file_shapes.columns.header_names import is_about_person, names_access
from rolecall.file_shapes.tables.stacked_headers import SEPARATOR

_LEAST_TICKED = 3
Cells = Sequence[Sequence[str]]


class FilledRows(NamedTuple):
    """The rows with their blank cells filled, and the headers of the merged columns."""

    rows: list[list[str]]
    columns: list[str]


def filled_down(header: Sequence[str], rows: Sequence[list[str]]) -> FilledRows | None:
    """Fill merged cells down from the first row of each account, group or section; None if no cells are merged.

    The merged columns must be blank in all other rows. The columns that are not merged show what was merged:

    * accounts: a column of access is filled in every row, and no column is about a person
    * groups: below the first rows, a column is filled in every row and a column of people in most. Some people must be
      in several groups; otherwise a blank cell may mean that an account has no group
    * sections of a matrix: each row has its own name
    """
    width = len(header)
    cells = [[*(cell.strip() for cell in row[:width]), *[""] * (width - len(row))] for row in rows]
    below = [row for row in cells if not row[0]]
    if not below or not cells[0][0] or any(not any(row) for row in below):
        return None
    used = [n for n in range(width) if any(row[n] for row in cells)]
    merged = [n for n in used if not any(row[n] for row in below)]
    rest = [n for n in used if n not in merged]
    rules = (_are_accounts, _are_groups, _are_sections)
    if _repeats(cells, merged) or not any(are_merged(header, cells, merged, rest) for are_merged in rules):
        return None
    if not all(header[n] for n in merged):
        return None
    last = cells[0]
    for row in cells:
        last = last if not row[0] else row
        for n in merged:
            row[n] = last[n]
    return FilledRows(cells, [header[n] for n in merged])


def _repeats(cells: Cells, merged: Sequence[int]) -> bool:
    """Return whether a row repeats the values of the row above in these columns. Blank cells are then not merged."""
    return any(row[0] and all(row[n] == above[n] for n in merged) for above, row in pairwise(cells))


def _are_accounts(header: Sequence[str], cells: Cells, merged: Sequence[int], rest: Sequence[int]) -> bool:
    # If a row without an account has its own name or address, it describes another person.
    if not any(_is_person(header[n]) for n in merged) or any(_is_person(header[n]) for n in rest):
        return False
    return any(names_access(header[n]) and all(row[n] for row in cells) for n in rest)


def _are_groups(header: Sequence[str], cells: Cells, merged: Sequence[int], rest: Sequence[int]) -> bool:
    if not names_access(header[0]) or any(_is_person(header[n]) for n in merged):
        return False
    # Allow some blank cells: the first row of a group may have no member, and a nested group may have no login.
    below = [row for row in cells if not row[0]]
    people = [n for n in rest if _is_person(header[n]) and 2 * sum(bool(row[n]) for row in below) > len(below)]
    members = ([row[n] for row in cells if row[n]] for n in people)
    return any(all(row[n] for row in below) for n in rest) and any(len(set(each)) < len(each) for each in members)


def _are_sections(header: Sequence[str], cells: Cells, merged: Sequence[int], rest: Sequence[int]) -> bool:
    """Return whether the first column has the sections of a matrix, and the next column the names of its rows."""
    named, *ticked = rest
    if merged != [0] or _is_person(header[0]) or names_access(header[0]) or _is_person(header[named]):
        return False
    names, sections = [row[named] for row in cells], [row[0] for row in cells if row[0]]
    words = {fold(row[n]) for row in cells for n in ticked if row[n]}
    is_matrix = len(ticked) >= _LEAST_TICKED and words <= ACCESS.keys() | NO_ACCESS
    return is_matrix and len(set(sections)) == len(sections) > 1 and all(names) and len(set(names)) == len(names)


def _is_person(header: str) -> bool:
    return is_about_person(header.rpartition(SEPARATOR)[2])
