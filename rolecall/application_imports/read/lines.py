"""Two versions of a CSV file compared by their lines: a line that is byte for byte in both needs no parsing."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from rolecall.application_imports.read.formats import header_of

# With more lines than this changed, reading the whole file costs no more.
_MOST_ADDED = 0.3


class Differing(NamedTuple):
    """Small CSV files, each with the header: lines added, by new file, and lines that are gone."""

    added: list[bytes]
    gone: bytes
    # The rows of each new file, changed or not.
    rows: list[int]


def compare(old: Sequence[bytes], new: Sequence[bytes]) -> Differing | None:
    """Order does not matter. None where lines cannot stand for rows; every old line must be known to be a row."""
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
    gone = before
    for lines in after:
        gone = gone.join(lines, on="line", how="anti")
    return Differing([_as_csv(header, part) for part in added], _as_csv(header, gone), rows)


def _lines(text: bytes) -> pl.DataFrame:
    return pl.read_lines(text).slice(1)


def _are_rows(lines: pl.DataFrame, header: str) -> bool:
    """No blank line, and no quote left open at a line's end."""
    quote = "'" if header.startswith("'") else '"'
    line = pl.col("line")
    odd = line.str.count_matches(quote, literal=True) % 2 == 1
    return not lines.select(((line.str.strip_chars() == "") | odd).any()).item()


def _as_csv(header: str, lines: pl.DataFrame) -> bytes:
    return "\n".join((header, *lines.get_column("line"))).encode()
