"""The formats of exports: their names, media types and writers."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from rolecall.core.formats.columns import Column
from rolecall.core.formats.csv_file import CsvFile
from rolecall.core.formats.jsonl_file import JsonLinesFile
from rolecall.core.formats.manifest import ExportManifest
from rolecall.core.formats.parquet_file import ParquetFile
from rolecall.core.formats.xlsx_file import MOST_ROWS, XlsxFile


class Format(StrEnum):
    CSV = "csv"
    XLSX = "xlsx"
    JSONL = "jsonl"
    PARQUET = "parquet"


class File(Protocol):
    """A file that is written batch by batch; `feed` and `end` return the bytes that are ready to be sent."""

    def feed(self, items: Sequence[Any]) -> bytes: ...
    def end(self, manifest: ExportManifest) -> bytes: ...
    def close(self) -> None: ...


class Kind(msgspec.Struct, frozen=True):
    media_type: str
    write: Callable[[Sequence[Column]], File]
    most_rows: int | None = None


KINDS: dict[Format, Kind] = {
    Format.CSV: Kind("text/csv; charset=utf-8", CsvFile),
    Format.XLSX: Kind("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", XlsxFile, MOST_ROWS),
    Format.JSONL: Kind("application/jsonl", JsonLinesFile),
    Format.PARQUET: Kind("application/vnd.apache.parquet", ParquetFile),
}
# The media types that clients may request with `Accept`.
MEDIA_TYPES: dict[str, Format] = {
    **{kind.media_type.partition(";")[0]: format for format, kind in KINDS.items()},
    "application/x-ndjson": Format.JSONL,
    "application/x-jsonlines": Format.JSONL,
}


def new_file(format: Format, columns: Sequence[Column], *, is_chosen: bool = False) -> File:
    """Return a new file; with `is_chosen`, JSON lines contain only the chosen columns instead of whole items."""
    if format == Format.JSONL:
        return JsonLinesFile(columns, is_chosen=is_chosen)
    return KINDS[format].write(columns)
