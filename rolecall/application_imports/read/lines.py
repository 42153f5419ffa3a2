"""Find the lines that differ between two versions of CSV or JSON lines; identical lines need no parsing.

Hashes of the lines (128 bits, with a random seed) are compared part by part, so that long files need little memory. The
lines that differ are then read from the files.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import BinaryIO, NamedTuple

import polars as pl

from rolecall.application_imports.read import csv_text
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.csv_text import LongText, decode, header_of, is_long
from rolecall.application_imports.read.header_lines import with_header_first
from rolecall.application_imports.read.parts import ONE_PART, Parting, RowParts
from rolecall.applications.file_shape import FileShape

# If a larger share of the lines is new, reading the whole file is as fast as reading the changed lines.
_MOST_ADDED = 0.3


class LineFile:
    """A file of lines. In CSV, the lines are those below the header."""

    def __init__(
        self,
        open: Callable[[], AbstractContextManager[BinaryIO]],
        encoding: str | None,
        shape: FileShape | None,
        *,
        is_csv: bool,
        is_kept: bool = False,
    ) -> None:
        self._open = open
        self._encoding = encoding
        self._shape = shape
        self._is_csv = is_csv
        # Whether lines are kept in memory after the first read.
        self._is_kept = is_kept
        self._kept: list[pl.Series] = []
        self.header = b""
        self.delimiter: str | None = None

    def pieces(self) -> Iterator[pl.Series]:
        """Yield the lines of a file, in pieces if it is long."""
        if self._kept:
            yield from self._kept
            return
        with self._open() as file:
            for lines in self._read(file):
                if self._is_kept:
                    self._kept.append(lines)
                yield lines

    def _read(self, file: BinaryIO) -> Iterator[pl.Series]:
        if not is_long(file):
            yield self._below_header(decode(file.read(), self._encoding, is_exact=True).text)
            return
        texts = iter(LongText(file, self._encoding))
        yield self._below_header(next(texts))
        for text in texts:
            yield pl.read_lines(text).get_column("line")

    def _below_header(self, text: bytes) -> pl.Series:
        if not self._is_csv:
            return pl.read_lines(text).get_column("line")
        source = with_header_first(text, self._shape)
        self.header, self.delimiter = header_of(source.text), source.delimiter
        return pl.read_lines(source.text).get_column("line").slice(1)

    def taken(self, rows: pl.Series) -> Iterator[pl.Series]:
        """Yield the lines at these positions, which must be sorted."""
        begin = first = 0
        for lines in self.pieces() if len(rows) else ():
            last = int(rows.search_sorted(begin + len(lines)))
            yield lines.gather(rows.slice(first, last - first) - begin)
            begin, first = begin + len(lines), last


class ChangedLines(NamedTuple):
    """The positions of lines that are only in the new files (`added_rows`) or in the old files (`removed_rows`)."""

    old: Sequence[LineFile]
    new: Sequence[LineFile]
    added_rows: pl.DataFrame
    removed_rows: pl.DataFrame
    # The number of rows of each new file, changed or not.
    rows: list[int]

    @property
    def delimiter(self) -> str | None:
        return self.new[0].delimiter

    def added(self) -> Iterator[tuple[int, bytes]]:
        """Yield the added lines of each new file in pieces of limited size, with the number of the file.

        In CSV, each piece begins with the header. Raise BrokenFile if a line of CSV is not a row.
        """
        return _texts(self.new, self.added_rows, are_checked=True)

    def removed(self) -> Iterator[tuple[int, bytes]]:
        return _texts(self.old, self.removed_rows, are_checked=False)


def changed_lines(old: Sequence[LineFile], new: Sequence[LineFile], parting: Parting = ONE_PART) -> ChangedLines | None:
    """Compare lines regardless of order; return None if headers differ or many lines are new.

    Call this only if each old line is exactly one row.
    """
    seeds = secrets.randbits(64), secrets.randbits(64)
    (before, _), (after, rows) = (_hashed(files, seeds, parting) for files in (old, new))
    if len({file.header for file in (*old, *new)}) > 1:
        return None
    added, removed = [], []
    count = 0
    for part in range(parting.count):
        was, now = before.part(part), after.part(part)
        added.append(_only_in(now, was))
        count += added[-1].height
        if count > _MOST_ADDED * sum(rows):
            return None
        removed.append(_only_in(was, now))
    return ChangedLines(old, new, pl.concat(added), pl.concat(removed), rows)


def _hashed(files: Iterable[LineFile], seeds: tuple[int, int], parting: Parting) -> tuple[RowParts, list[int]]:
    """Return the hashes of all lines with their positions, and the number of lines of each file."""
    found, counts = RowParts(parting, "uncompressed"), []
    for number, file in enumerate(files):
        counts.append(0)
        for lines in file.pieces():
            frame = pl.DataFrame({"hash": lines.hash(seeds[0]), "check": lines.hash(seeds[1])})
            place = pl.lit(number, pl.UInt16).alias("file")
            frame = frame.with_row_index("row", offset=counts[-1]).with_columns(place)
            found.add(frame, (pl.col("hash") % parting.count).cast(pl.UInt16))
            counts[-1] += len(lines)
    return found, counts


def _only_in(some: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Return the positions of the lines of `some` that do not occur in `others`."""
    pairs = some.join(others.select("hash", other="check"), on="hash", how="left")
    return pairs.filter(~pl.col("check").eq_missing(pl.col("other"))).select("file", "row")


def _texts(files: Sequence[LineFile], rows: pl.DataFrame, *, are_checked: bool) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of each file in one or more pieces of limited size, with the number of the file."""
    for number, file in enumerate(files):
        at = rows.filter(pl.col("file") == number).get_column("row").unique().sort()
        header = [file.header.decode()] if file.header else []
        kept: list[pl.Series] = []
        size = 0
        for lines in chain(file.taken(at), [None]):
            if lines is not None and are_checked and header and not _are_rows(lines, file.header.decode()):
                raise BrokenFile("a line is not a row")
            if lines is not None:
                kept.append(lines)
                size += int(lines.str.len_bytes().sum() or 0)
            if lines is None or size > csv_text.PIECE:
                yield number, "\n".join(chain(header, *kept)).encode()
                kept, size = [], 0


def _are_rows(lines: pl.Series, header: str) -> bool:
    """Return whether every line contains text and closes its quotes."""
    quote = "'" if header.startswith("'") else '"'
    odd = lines.str.count_matches(quote, literal=True) % 2 == 1
    return not ((lines.str.strip_chars() == "") | odd).any()
