"""Find the lines that differ between two versions of a CSV file; identical lines need no parsing."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from rolecall.application_imports.read.csv_text import header_of

# With a larger share of changed lines, reading the whole file is as fast.
_MOST_ADDED = 0.3


class ChangedLines(NamedTuple):
    """CSV texts with header: added lines by new file, and removed lines."""

    added: list[bytes]
    removed: bytes
    # The number of rows of each new file, changed or not.
    rows: list[int]


def changed_lines(old: Sequence[bytes], new: Sequence[bytes]) -> ChangedLines | None:
    """Compare lines regardless of order; return None if a line is not a row. Each old line must be a row."""
    headers = {header_of(text) for text in (*old, *new)}
    if len(headers) > 1:
        return None
    header = headers.pop().decode()
    before = pl.concat([_lines(text) for text in old])
    after = [_lines(text) for text in new]
    added = [lines.join(before, on="line", how="anti") for lines in after]
    rows = [lines.height for lines in after]
    if sum(part.height for part in added) > _MOST_ADDED * sum(rows) or not all(
        _are_rows(part, header) for part in added
    ):
        return None
    removed = before
    for lines in after:
        removed = removed.join(lines, on="line", how="anti")
    return ChangedLines([_as_csv(header, part) for part in added], _as_csv(header, removed), rows)


def _lines(text: bytes) -> pl.DataFrame:
    return pl.read_lines(text).slice(1)


def _are_rows(lines: pl.DataFrame, header: str) -> bool:
    """Check that no line is blank or ends inside quotes."""
    quote = "'" if header.startswith("'") else '"'
    line = pl.col("line")
    odd = line.str.count_matches(quote, literal=True) % 2 == 1
    return not lines.select(((line.str.strip_chars() == "") | odd).any()).item()


def _as_csv(header: str, lines: pl.DataFrame) -> bytes:
    return "\n".join((header, *lines.get_column("line"))).encode()
