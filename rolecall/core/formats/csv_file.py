from collections.abc import Sequence
from io import BytesIO
from typing import Any

from rolecall.core.formats.columns import Column
from rolecall.core.formats.frames import frame_of, without_formulas
from rolecall.core.formats.manifest import ExportManifest


class CsvFile:
    """CSV as in RFC 4180, in UTF-8, with formulas escaped; null is an empty cell, and an empty string is `""`."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._is_first = True

    def feed(self, items: Sequence[Any]) -> bytes:
        return self._lines(items) if items else b""

    def end(self, manifest: ExportManifest) -> bytes:
        return self._lines([]) if self._is_first else b""

    def close(self) -> None:
        pass

    def _lines(self, items: Sequence[Any]) -> bytes:
        lines = BytesIO()
        frame = without_formulas(frame_of(items, self._columns), self._columns)
        frame.write_csv(lines, include_header=self._is_first, line_terminator="\r\n")
        self._is_first = False
        return lines.getvalue()
