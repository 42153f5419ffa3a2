from collections.abc import Sequence
from typing import Any

import msgspec

from rolecall.core.formats.columns import Column, cells
from rolecall.core.formats.manifest import ExportManifest

_ENCODER = msgspec.json.Encoder()


class JsonLinesFile:
    """JSON lines: each item as in the API's list, or an object with the chosen columns."""

    def __init__(self, columns: Sequence[Column], *, is_chosen: bool = False) -> None:
        self._columns = columns if is_chosen else None

    def feed(self, items: Sequence[Any]) -> bytes:
        if self._columns is None:
            return _ENCODER.encode_lines(items)
        by_column = cells(items, self._columns)
        names = list(by_column)
        return _ENCODER.encode_lines(
            [dict(zip(names, row, strict=True)) for row in zip(*by_column.values(), strict=True)]
        )

    def end(self, manifest: ExportManifest) -> bytes:
        return b""

    def close(self) -> None:
        pass
