"""Scan the XML of a sheet for cells that the spreadsheet reader would lose or fail on.

The scan searches large pieces of XML, not single cells, because a sheet may have millions of cells.
"""

import io
import re
import zipfile

from rolecall.application_imports.read.broken_file import BrokenFile

# The last line and the last column (XFD) of a sheet.
_MOST_LINES, _MOST_COLUMNS = 1_048_576, 16_384
# The maximum area from the first to the last cell, because the reader allocates memory for each cell in it.
_MOST_CELLS = 60_000_000
# A larger area is allowed if, on average, at least one of this many positions has a cell.
_SPARSE = 20
# A formula without a cached value: the program that wrote the file never computed it.
_UNCOMPUTED = re.compile(rb'<c r="([A-Z]+)(\d+)"[^<>]*><f[^<>]*(?:/>|>[^<]*</f>)(?:<v\s*/>|<v></v>)?</c>')
_CELL = b'<c r="'
_REFERENCE = re.compile(rb"([A-Z]+)(\d+)")
# Cells in columns after ZZ. Few sheets have them, so each of these cells can be checked.
_WIDE = re.compile(rb'<c r="([A-Z]{3,})(\d+)"')
_ERROR = re.compile(rb"(<(?:\w{1,20}:)?c\s[^<>]*\bt=)([\"'])e\2")
# Each piece is searched together with the end of the previous one, because a cell may be cut in two.
_OVERLAP = 4096


class SheetScan:
    """Scan the XML of a sheet, for example for errors and formulas; call `add` with its pieces in order."""

    def __init__(self) -> None:
        self.has_rows = False
        # Whether a cell has an error, such as #N/A from a lookup.
        self.has_errors = False
        # The first cell with a formula that was not computed, as column and line.
        self.uncomputed: tuple[str, int] | None = None
        self._rest = b""
        self._cells = 0
        self._lines, self._columns = 1, 1
        self._last = ""

    def add(self, piece: bytes) -> None:
        joined = self._rest + piece
        self.has_rows = self.has_rows or b"<c " in joined
        self.has_errors = self.has_errors or b't="e"' in joined or b"t='e'" in joined
        self._cells += piece.count(b"<c ")
        if self.uncomputed is None and (cell := _UNCOMPUTED.search(joined)):
            self.uncomputed = cell[1].decode(), int(cell[2])
        if (at := joined.rfind(_CELL)) >= 0 and (found := _REFERENCE.match(joined, at + len(_CELL))):
            self._extend(*found.groups())
        for found in _WIDE.finditer(joined):
            self._extend(*found.groups())
        self._rest = piece[-_OVERLAP:]

    def _extend(self, column: bytes, line: bytes) -> None:
        number = 0
        for letter in column[:4]:
            number = 26 * number + letter - 64
        lines = int(line[:8])
        if number > self._columns or lines > self._lines:
            self._last = f"{column[:8].decode()}{line[:8].decode()}"
        self._columns, self._lines = max(self._columns, number), max(self._lines, lines)

    def check(self) -> None:
        """Raise BrokenFile if the reader would fail on the sheet or lose cells of it."""
        if self.uncomputed:
            cell, line = self.uncomputed
            raise BrokenFile(f"cell {cell}{line} has a formula without a value; save the file in Excel", line=line)
        if self._columns > _MOST_COLUMNS or self._lines > _MOST_LINES:
            raise BrokenFile(f"cell {self._last} is beyond the last cell of a sheet, XFD1048576; export the file again")
        size = self._columns * self._lines
        if size > _MOST_CELLS and size > _SPARSE * self._cells:
            raise BrokenFile(
                f"cell {self._last} is far from the others; delete the columns and rows after the data, or save the "
                "sheet as CSV"
            )


def with_error_texts(content: bytes, path: str) -> bytes:
    """Return a workbook with error cells such as #N/A changed to text, because the reader reads errors as blank."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        for name in dict.fromkeys(old.namelist()):
            part = old.read(name)
            new.writestr(name, _ERROR.sub(rb'\1"str"', part) if name == path else part)
    return made.getvalue()
