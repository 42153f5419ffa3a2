"""The rows of a sample as text, and how they were found."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from rolecall.core.json_paths import flattened

MOST_ROWS = 2_000
RAW_LINES = 12
LONGEST_RAW = 400


class Unreadable(Exception):
    """The file cannot be read in any shape; the message says what was found and what to do."""


class SampleTable(msgspec.Struct):
    """The rows of a sample as text, and how they were found."""

    format: str
    headers: list[str]
    rows: list[list[str]]
    encoding: str | None = None
    delimiter: str | None = None
    # None: the file has no header.
    header_line: int | None = 1
    # The lines above the rows that `headers` replaces, because no single line is a whole header.
    skip_lines: int = 0
    # Columns are aligned with spaces, or drawn as a box.
    is_aligned: bool = False
    # Where the columns of a printed list begin; the first position is 1.
    column_starts: list[int] = []
    # The path to the records of JSON.
    records: str | None = None
    # Columns whose cells are JSON arrays.
    lists: list[str] = []
    # The first lines as they are in the file.
    raw: list[str] = []
    evidence: list[str] = []
    # Lines beside `header_line` that could be the header.
    candidates: list[int] = []
    # No word of the header is known: it could be a row.
    is_doubtful: bool = False
    # The first cell of a row of totals.
    totals: list[str] = []
    # Conditions that leave out lines between and below the rows.
    left_out: list[dict[str, Any]] = []
    # Rows are longer than the header: the last column contains the delimiter.
    merges: bool = False
    # The sheet of a workbook with several, and all that have data.
    sheet: str | None = None
    sheets: list[str] = []
    # The paths of all lists of a JSON file, from which `records` may be chosen.
    choices: list[str] = []
    # Paths into nested lists, such as emails[type=work].value, with the column that they come from.
    paths: dict[str, str] = {}


class Decided(msgspec.Struct, frozen=True):
    """What a person decided about how a file is read; the rest is found in the file."""

    # 0: the file has no header.
    header_line: int | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    records: str | None = None


def from_records(format: str, records: Sequence[dict[str, Any]], evidence: list[str]) -> SampleTable:
    flat = [dict(flattened(record)) for record in records]
    paths = _paths(flat)
    for record in flat:
        record |= {path: _follow(record, path, source) for path, source in paths.items()}
    headers = list(dict.fromkeys(name for record in flat for name in record))
    lists = [name for name in headers if any(isinstance(record.get(name), list) for record in flat)]
    rows = [[_plain(record.get(header)) for header in headers] for record in flat]
    raw = [msgspec.json.encode(record).decode()[:LONGEST_RAW] for record in records[:RAW_LINES]]
    return SampleTable(format, headers, rows, lists=lists, evidence=evidence, header_line=None, paths=paths, raw=raw)


# The members to read in a list of objects: e-mail addresses have a type, memberships a name.
_NAMING = ("value", "display", "displayName", "name", "id")


def _paths(flat: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return paths to the values in lists of objects: the work or first address, and all names of other lists."""
    paths: dict[str, str] = {}
    for record in flat:
        for name, value in record.items():
            if not isinstance(value, list) or not value or not isinstance(value[0], dict):
                continue
            inner = next((key for key in _NAMING if key in value[0]), None)
            if inner is None:
                continue
            if "mail" in name.lower() or "phone" in name.lower() or "address" in name.lower():
                is_work = any(str(each.get("type")).lower() == "work" for each in value)
                paths[f"{name}[type=work].{inner}" if is_work else f"{name}[0].{inner}"] = name
            else:
                shown = next((key for key in ("display", "displayName", "name", "value") if key in value[0]), inner)
                paths[f"{name}[].{shown}"] = name
    return paths


def _follow(record: dict[str, Any], path: str, source: str) -> Any:
    inner = path.rpartition(".")[2]
    entries = [each for each in record.get(source) or [] if isinstance(each, dict)]
    if "[]" in path:
        return [each[inner] for each in entries if each.get(inner) is not None]
    if "[type=work]" in path:
        entries = [each for each in entries if str(each.get("type")).lower() == "work"]
    return entries[0].get(inner) if entries else None


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, bool | int | float) else msgspec.json.encode(value).decode()


def joined(rows: Sequence[Sequence[str]]) -> list[str]:
    return [" | ".join(row)[:LONGEST_RAW] for row in rows[:RAW_LINES]]
