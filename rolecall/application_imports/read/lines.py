"""Find the lines that differ between two versions of CSV or JSON lines; identical lines need no parsing."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from rolecall.application_imports.read.csv_text import header_of

# With a larger share of changed lines, reading the whole file is as fast.
_MOST_ADDED = 0.3


class ChangedLines(NamedTuple):
    """Added lines by new file, and removed lines; those of CSV with the header."""

    added: list[bytes]
    removed: bytes
    # The number of rows of each new file, changed or not.
    rows: list[int]


def changed_lines(old: Sequence[bytes], new: Sequence[bytes]) -> ChangedLines | None:
    """Compare lines of CSV regardless of order; return None if a line is not a row. Each old line must be a row."""
    headers = {header_of(text) for text in (*old, *new)}
    if len(headers) > 1:
        return None
    header = headers.pop().decode()
    found = _compared([pl.read_lines(text).slice(1) for text in old], [pl.read_lines(text).slice(1) for text in new])
    if found is None or not all(_are_rows(part, header) for part in found.added):
        return None
    added = [_text(part, header) for part in found.added]
    return ChangedLines(added, _text(found.removed, header), found.rows)


def changed_records(old: bytes, new: bytes) -> ChangedLines | None:
    """Compare two files with one JSON object per line, regardless of order."""
    found = _compared([pl.read_lines(old)], [pl.read_lines(new)])
    if found is None:
        return None
    return ChangedLines([_text(part) for part in found.added], _text(found.removed), found.rows)


class _Differences(NamedTuple):
    added: list[pl.DataFrame]
    removed: pl.DataFrame
    rows: list[int]


def _compared(old: Sequence[pl.DataFrame], new: Sequence[pl.DataFrame]) -> _Differences | None:
    """Return lines that only one side has; None if too many are added."""
    before = pl.concat(old)
    added = [lines.join(before, on="line", how="anti") for lines in new]
    rows = [lines.height for lines in new]
    if sum(part.height for part in added) > _MOST_ADDED * sum(rows):
        return None
    removed = before
    for lines in new:
        removed = removed.join(lines, on="line", how="anti")
    return _Differences(added, removed, rows)


def _are_rows(lines: pl.DataFrame, header: str) -> bool:
    """Check that no line is blank or ends inside quotes."""
    quote = "'" if header.startswith("'") else '"'
    line = pl.col("line")
    odd = line.str.count_matches(quote, literal=True) % 2 == 1
    return not lines.select(((line.str.strip_chars() == "") | odd).any()).item()


def _text(lines: pl.DataFrame, *header: str) -> bytes:
    return "\n".join((*header, *lines.get_column("line"))).encode()
