"""The result of parsing a file: a table of text, with rows that do not fit set aside."""

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

MIB = 1024 * 1024
MAX_FIELD = 1 * MIB


class RaggedRow(NamedTuple):
    """A row with another number of fields than the header."""

    line: int
    reason: str
    row: list[str]


class Table(NamedTuple):
    """Columns of `frame` are named by position: `0`, `1`, …; `line` is where a row begins."""

    headers: list[str]
    frame: pl.DataFrame
    ragged: list[RaggedRow]
    # Whether each row is one line, so that lines can be compared instead of rows.
    is_by_line: bool


def table_of(headers: list[str], rows: Iterable[tuple[int, list[str]]], *, is_by_line: bool = False) -> Table:
    """Build a table from rows with their lines, setting ragged rows aside."""
    width = len(headers)
    whole, ragged = [], []
    for line, row in rows:
        if len(row) == width:
            whole.append((line, *row))
        else:
            ragged.append(RaggedRow(line, f"there are {len(row)} fields, the header has {width}", row))
    columns = list(zip(*whole, strict=True)) or [()] * (width + 1)
    frame = pl.DataFrame(
        {"line": pl.Series(columns[0], dtype=pl.UInt32)}
        | {str(i): pl.Series(column, dtype=pl.String) for i, column in enumerate(columns[1:])}
    )
    return Table(headers, frame, ragged, is_by_line and not ragged)


def stripped(headers: Iterable[str]) -> list[str]:
    return [header.strip() for header in headers]
