"""Reject printed tables that cannot be read line by line: several tables in one file, and values on two lines."""

import re
from collections.abc import Sequence
from itertools import pairwise

from rolecall.application_imports.read import aligned
from rolecall.file_shapes.sample_table import Unreadable

_DASHES = re.compile(r"[-=]+")


def check_one_table(lines: Sequence[str], at: int) -> None:
    """Reject a second table below the first one: its rows would be read as rows of the first table.

    `at` is the number of the header line; dashes are below it.
    """
    widths = _widths(lines[at])
    for n, (header, below) in enumerate(pairwise(lines[at + 1 :]), at + 2):
        columns = aligned.columns_of(header, below)
        if columns.is_ruled and header.strip() and _widths(below) != widths:
            named = ", ".join(aligned.cut(header, columns.starts)[:3])
            raise Unreadable(
                f"line {n} looks like the header of a second table ({named}); save each table as a separate file"
            )


def check_one_line(lines: Sequence[str], at: int) -> None:
    """Reject a value that fills its column and continues on the next line, because only a part would be read."""
    starts = aligned.columns_of(lines[at - 1], lines[at]).starts
    widths = _widths(lines[at])
    for n, (line, next_line) in enumerate(pairwise(lines[at + 1 :]), at + 3):
        if not next_line.strip() or aligned.is_rule(next_line) or next_line == lines[at - 1]:
            continue
        cells, rest = aligned.cut(line, starts), aligned.cut(next_line, starts)
        filled = [k for k, cell in enumerate(rest) if cell]
        if len(cells) < len(starts) or len(filled) != 1 or len(rest[filled[0]]) > widths[filled[0]]:
            continue
        if len(cell := cells[filled[0]]) == widths[filled[0]]:
            raise Unreadable(
                f"line {n} continues {cell} of the line above; make the column wider, or export the list as CSV"
            )


def _widths(rule: str) -> list[int]:
    return [len(each) for each in _DASHES.findall(rule)]
