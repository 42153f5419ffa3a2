"""Define the result of parsing a file: a table of text, and the rows that do not fit its header."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import polars as pl

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.json_pages import PageSigns
from rolecall.core.secret_names import HIDDEN, mask_json
from rolecall.core.text import counted

MIB = 1024 * 1024
MAX_FIELD = 1 * MIB
MOST_COLUMNS = 20_000


class RaggedRow(NamedTuple):
    """A row that has more or fewer fields than the header."""

    line: int
    reason: str
    row: list[str]


class Table(NamedTuple):
    """A table of text. The columns of `frame` are `0`, `1`, …, and `line`, the line at which a row begins."""

    headers: list[str]
    frame: pl.DataFrame
    ragged: list[RaggedRow]
    # Whether each row takes exactly one line of the file, so that lines can be compared instead of rows.
    is_by_line: bool
    # Sentences about the file for the log.
    notes: tuple[str, ...] = ()
    # Whether the file consists of records (such as JSON or LDIF), which may lack some of the columns.
    is_records: bool = False
    # The fields that a shape computes (`join`, `unpivot`), with the positions of their columns.
    made: Mapping[str, int] = {}
    # Signs that show whether a JSON file contains the whole list.
    page: PageSigns | None = None
    # Whether the text is ASCII without ; # and |. Then no cell has these separators, a spreadsheet error (such as #N/A)
    # or zero-width characters.
    is_plain: bool = False
    # Whether the table is a piece of a long file.
    is_piece: bool = False
    # How many rows of the file were left out, by reason.
    left_out: Mapping[str, int] = {}


def shown_rows(table: Table, lines: Sequence[int], hidden: Set[int]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows at these lines and all ragged rows, with hidden columns and secrets inside JSON masked.

    A cell of a ragged row may be below the wrong header, so if any column is hidden, mask all cells of these rows.
    """
    for ragged in table.ragged:
        yield ragged.line, [HIDDEN] * len(ragged.row) if hidden else [*map(mask_json, ragged.row)]
    rows = table.frame.filter(pl.col("line").is_in(lines)).select("line", pl.exclude("line"))
    for line, *row in rows.iter_rows():
        yield line, [HIDDEN if i in hidden and cell else mask_json(cell) for i, cell in enumerate(row)]


def check_width(headers: Sequence[str]) -> None:
    if len(headers) > MOST_COLUMNS:
        raise BrokenFile(
            f"there are {len(headers):,} columns, but at most {MOST_COLUMNS:,} are read; "
            "check shape.delimiter and shape.headerLine",
            line=1,
        )


def table_of(headers: list[str], rows: Iterable[tuple[int, list[str]]], *, is_by_line: bool = False) -> Table:
    """Build a table from rows with their line numbers. Put rows with more or fewer fields in `ragged`."""
    check_width(headers)
    width = len(headers)
    whole, ragged = [], []
    for line, row in rows:
        if len(row) == width:
            whole.append((line, *row))
        else:
            ragged.append(RaggedRow(line, f"the row has {counted(len(row), 'field')}, the header has {width}", row))
    columns = list(zip(*whole, strict=True)) or [()] * (width + 1)
    frame = pl.DataFrame(
        {"line": pl.Series(columns[0], dtype=pl.UInt32)}
        | {str(i): pl.Series(column, dtype=pl.String) for i, column in enumerate(columns[1:])}
    )
    return Table(headers, frame, ragged, is_by_line and not ragged)


def stripped(headers: Iterable[str]) -> list[str]:
    return [header.strip() for header in headers]


def without_blank_columns(table: Table) -> Table:
    """Drop blank columns without a header: a delimiter at the end of each line creates such a column."""
    if "" not in table.headers:
        return table
    blank = [str(i) for i, header in enumerate(table.headers) if not header]
    is_empty = table.frame.select((pl.col(blank).str.strip_chars() == "").all()).row(0)
    dropped = {name for name, empty in zip(blank, is_empty, strict=True) if empty}
    kept = [i for i in range(len(table.headers)) if str(i) not in dropped]
    frame = table.frame.select("line", *(pl.col(str(old)).alias(str(new)) for new, old in enumerate(kept)))
    return table._replace(headers=[table.headers[i] for i in kept], frame=frame)
