"""Divide the rows of large files into parts, by a hash of the name of their holder, and keep the parts on disk.

All rows of a holder are in the same part, so each part can be compared on its own, and memory does not depend on the
size of the files. Small files are one part, which stays in memory.
"""

import tempfile
import weakref
from collections.abc import Iterator, Sequence
from io import SEEK_END, BytesIO, FileIO
from pathlib import Path
from typing import Literal

import msgspec
import polars as pl

from rolecall.application_imports.read.table import MIB

# Files of up to this total size are one part, which is kept in memory.
MOST_IN_MEMORY = 192 * MIB
# A part gets the rows of 16 to 32 MiB of files on average, because the number of parts is a power of two.
_PART = 32 * MIB


class Parting(msgspec.Struct, frozen=True):
    """The number of parts, and the folder in which several parts are kept."""

    count: int = 1
    folder: Path | None = None

    def number(self, name: pl.Expr) -> pl.Expr:
        """Return the part that a name belongs to."""
        return (name.hash() % self.count).cast(pl.UInt16)


ONE_PART = Parting()


def parting_of(size: int, folder: Path) -> Parting:
    """Choose the number of parts for files of this total size."""
    if size <= MOST_IN_MEMORY:
        return ONE_PART
    return Parting(1 << (size // _PART).bit_length(), folder)


class RowParts:
    """Rows in parts, in the order in which they were added.

    The file that contains the parts has no name, so that it disappears even if the process is killed.
    """

    def __init__(self, parting: Parting, compression: Literal["lz4", "uncompressed"] = "lz4") -> None:
        self.parting = parting
        self.heights = [0] * parting.count
        self._compression = compression
        self._none: pl.DataFrame | None = None
        self._frames: list[pl.DataFrame] = []
        self._file: FileIO | None = None
        # The position and the length of each piece in the file, for each part.
        self._pieces: list[list[tuple[int, int]]] = [[] for _ in self.heights]

    @property
    def height(self) -> int:
        return sum(self.heights)

    def add(self, frame: pl.DataFrame, number: pl.Expr) -> None:
        """Add rows; `number` gives the part of each row."""
        self._none = frame.clear().drop("part", strict=False) if self._none is None else self._none
        if self.parting.count == 1:
            self.heights[0] += frame.height
            self._frames.append(frame)
            return
        parts = frame.with_columns(number.alias("part")).partition_by("part", as_dict=True, include_key=False)
        for (part,), rows in parts.items():
            self._write(part, rows)

    def part(self, *numbers: int) -> pl.DataFrame:
        """Return the rows of the parts with these numbers."""
        if self.parting.count > 1:
            return pl.concat([self._empty, *(rows for number in numbers for rows in self._read(number))])
        if len(self._frames) != 1:
            self._frames = [pl.concat([self._empty, *self._frames])]
        return self._frames[0]

    def replace(self, number: int, rows: pl.DataFrame) -> None:
        self.heights[number], self._pieces[number] = 0, []
        if self.parting.count > 1:
            self._write(number, rows)
        else:
            self.heights, self._frames = [rows.height], [rows]

    @property
    def _empty(self) -> pl.DataFrame:
        assert self._none is not None, "nothing was added"
        return self._none

    def _write(self, part: int, rows: pl.DataFrame) -> None:
        if self._file is None:
            assert self.parting.folder
            self.parting.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self.parting.folder, buffering=0)  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        piece = BytesIO()
        rows.write_ipc_stream(piece, compression=self._compression)
        self._pieces[part].append((self._file.seek(0, SEEK_END), piece.tell()))
        left = piece.getbuffer()
        while left:
            left = left[self._file.write(left) :]
        self.heights[part] += rows.height

    def _read(self, part: int) -> Iterator[pl.DataFrame]:
        for begin, length in self._pieces[part]:
            assert self._file
            self._file.seek(begin)
            yield pl.read_ipc_stream(BytesIO(self._file.read(length)))


def together(heights: Sequence[int], most: int) -> Iterator[range]:
    """Yield ranges of parts to compare together, to save time. `heights` has the number of rows of each part.

    A range has at most `most` rows, unless a single part has more.
    """
    begin = rows = 0
    for part, height in enumerate(heights):
        if rows + height > most and part > begin:
            yield range(begin, part)
            begin = part
            rows = 0
        rows += height
    yield range(begin, len(heights))
