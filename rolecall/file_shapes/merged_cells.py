"""Find cells that are merged over several rows, as in reports with one account and a row for each of its roles."""

from collections.abc import Sequence
from typing import NamedTuple

from rolecall.file_shapes.header_names import is_about_person, names_access


class FilledRows(NamedTuple):
    """The rows with their blank cells filled, and the headers of the merged columns."""

    rows: list[list[str]]
    columns: list[str]


def filled_down(header: Sequence[str], rows: Sequence[list[str]]) -> FilledRows | None:
    """Fill the blank cells below each account; return None if the rows do not have merged cells.

    In each row below an account, the columns of the account must be blank, and a column of access must be filled.
    """
    width = len(header)
    cells = [[*(cell.strip() for cell in row[:width]), *[""] * (width - len(row))] for row in rows]
    below = [row for row in cells if not row[0]]
    if not below or not cells[0][0] or any(not any(row) for row in below):
        return None
    used = [n for n in range(width) if any(row[n] for row in cells)]
    merged = [n for n in used if not any(row[n] for row in below)]
    rest = [n for n in used if n not in merged]
    # A row with a name or address but without an account describes another person.
    if not any(is_about_person(header[n]) for n in merged) or any(is_about_person(header[n]) for n in rest):
        return None
    is_listed = any(names_access(header[n]) and all(row[n] for row in cells) for n in rest)
    if not is_listed or not all(header[n] for n in merged):
        return None
    last = cells[0]
    for row in cells:
        last = last if not row[0] else row
        for n in merged:
            row[n] = last[n]
    return FilledRows(cells, [header[n] for n in merged])
