"""Reject printed tables that cannot be read line by line: several tables in one file, and values on two lines."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from rolecall.application_imports.read import aligned
from rolecall.file_shapes.tables.sample_table import Unreadable

# A title such as `Branch: Leeds`.
_TITLE = re.compile(r"\s*([^\W\d][\w /.-]{0,30}): {0,9}(\S.*)")
_NUMBERS = re.compile(r"[\d\s]+")
_MOST_TITLES, _LONGEST = 6, 60
# Columns one space apart are recognized by at least this many rows, and by this share of the rows.
_LEAST_ALIGNED, _NEARLY_ALL = 3, 0.9
_DASHES = re.compile(r"[-=]+")


def check_one_table(lines: Sequence[str], at: int) -> None:
    """Reject a second table with other widths of columns: its rows would be read as rows of the first table.

    `at` is the number of the header line; dashes are below it.
    """
    widths = _widths(lines[at])
    titles = _titles(lines[: at - 1])
    for n, (header, below) in enumerate(pairwise(lines[at + 1 :]), at + 2):
        columns = aligned.columns_of(header, below)
        if header == lines[at - 1] and below == lines[at]:
            _check_titles(titles, _titles(lines[at + 1 : n - 1]), n)
        if columns.is_ruled and header.strip() and _widths(below) != widths:
            named = ", ".join(aligned.cut(header, columns.starts)[:3])
            raise Unreadable(
                f"line {n} looks like the header of a second table ({named}); save each table as a separate file"
            )


def _check_titles(first: Mapping[str, str], others: Mapping[str, str], line: int) -> None:
    """Reject a header repeated below a different title, such as `Branch: Leeds`, because that title would be lost.

    Ignore numbers in titles: page numbers and times differ within one table.
    """
    for name, value in others.items():
        if name in first and _NUMBERS.sub("", first[name]) != _NUMBERS.sub("", value):
            title = f"{name}: {value}"[:_LONGEST]
            raise Unreadable(
                f"line {line} begins another table, titled {title}, and its title would be lost; save each table as a "
                "separate file"
            )


def _titles(above: Sequence[str]) -> dict[str, str]:
    """Map the names of the titles above a header to their values."""
    found = [_TITLE.fullmatch(line.rstrip()) for line in above[-_MOST_TITLES:]]
    return {match[1]: match[2] for match in found if match}


def check_one_line(lines: Sequence[str], at: int) -> None:
    """Reject a row that continues on the next line, because only a part of it would be read.

    Such a row is wider than its columns, or one of its values fills its column.
    """
    starts = aligned.columns_of(lines[at - 1], lines[at]).starts
    widths = _widths(lines[at])
    for n, (line, next_line) in enumerate(pairwise(lines[at + 1 :]), at + 3):
        if _is_too_wide(line, next_line, starts):
            raise Unreadable(
                f"line {n - 1} is wider than its columns and continues on line {n}; make the columns wider, or export "
                "the list as CSV"
            )
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


def check_columns_apart(lines: Sequence[str], at: int, starts: Sequence[int]) -> None:
    """Reject columns whose headers are only one space apart, because they would be read as one column.

    `at` is the number of the header line. In such columns, nearly every row has a value that begins below the second
    word.
    """
    header, rows = lines[at - 1].expandtabs(), [line.expandtabs() for line in lines[at:] if line.strip()]
    if len(rows) < _LEAST_ALIGNED:
        return
    for word in re.finditer(r"(?<=\S )\S+", header):
        begun = sum(_begins_at(row, word.start()) for row in rows)
        if word.start() not in starts and begun >= _NEARLY_ALL * len(rows):
            before = header[: word.start()].split()[-1]
            raise Unreadable(
                f"the columns {before} and {word[0]} are only one space apart, so that they cannot be told apart; put "
                "two spaces between columns, or export the list as CSV"
            )


def _begins_at(row: str, at: int) -> bool:
    return len(row) > at and row[at] != " " and row[at - 1] == " "


def _is_too_wide(line: str, next_line: str, starts: Sequence[int]) -> bool:
    """Return whether text crosses the beginning of a column, so that the other columns are on the next line."""
    rest = aligned.cut(next_line, starts)
    is_continued = len(rest) == len(starts) and not rest[0] and sum(map(bool, rest)) > 1
    return is_continued and bool(line.strip()) and not aligned.is_rule(line) and len(aligned.cut(line, starts)) == 1


def _widths(rule: str) -> list[int]:
    return [len(each) for each in _DASHES.findall(rule)]
