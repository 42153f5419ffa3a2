"""Read a RACF database unload (IRRDBU00): fixed-width records of several types, without a header."""

import re
from collections import Counter

from rolecall.application_imports.read.aligned import SEPARATOR, cut_at, lines_of
from rolecall.core.text import counted
from rolecall.file_shapes.tables.sample_table import MOST_ROWS, SampleTable

_LINE = re.compile(r"\d{4} \S.*")
_RECORD = "Record"
# For each record type that is read: its fields, and where each begins. The first position is 1.
_TYPES: dict[str, dict[str, int]] = {
    "0200": {
        "Username": 6, "Created": 15, "Owner": 26, "ADSP": 35, "Special": 40, "Operations": 45, "Revoked": 50,
        "GRPACC": 55, "Interval": 60, "Password Changed": 64, "Name": 75, "Default": 96, "Last Job Time": 105,
        "Last Login": 114, "Installation Data": 125, "Other": 381,
    },
    "0205": {"Username": 6, "Group": 15, "Connected": 24, "Owner": 35},
    "0100": {"Group": 6, "Superior": 15, "Created": 24, "Owner": 35},
}  # fmt: skip
_NAMES = {"0200": "users", "0205": "connections", "0100": "groups"}


def is_unload(text: str) -> bool:
    # The last line may be cut off.
    lines = [line for line in lines_of(text[:64_000])[:-1] if line.strip()]
    return bool(lines) and all(map(_LINE.fullmatch, lines)) and any(line[:4] in _TYPES for line in lines)


def read_unload(text: str) -> list[SampleTable]:
    """Return a table for each known record type in the sample, users first."""
    lines = lines_of(text)
    found = {type: [line for line in lines if line[:4] == type][:MOST_ROWS] for type in _TYPES}
    tables = [_table(type, each) for type, each in found.items() if each]
    others = Counter(line[:4] for line in lines if line.strip() and line[:4] not in _TYPES)
    tables[0].beside = {f"records {type}": counted(count, "line") for type, count in others.items()}
    return tables


def _table(type: str, lines: list[str]) -> SampleTable:
    fields = {_RECORD: 1, **_TYPES[type]}
    starts = [start - 1 for start in fields.values()]
    return SampleTable(
        "Aligned text",
        list(fields),
        [line.split(SEPARATOR) for line in cut_at(lines, starts, ())],
        header_line=None,
        name=f"records {type}",
        column_starts=list(fields.values()),
        left_out=[{"column": _RECORD, "isNot": [type]}],
        evidence=[f"Records {type} of a RACF database unload: {_NAMES[type]}"],
    )
