"""Read words such as NULL, which database tools write for a missing value, as blank cells."""

from typing import Any

import msgspec

from rolecall.file_shapes.tables.sample_table import SampleTable

# These are compared case-sensitively, because Null is also a last name.
_NULLS = ("NULL", "(null)", "<null>", "[NULL]", "(NULL)", "\\N")
# JSON has null for a missing value, so such a word in JSON is a text.
_FORMATS = ("CSV", "XLSX", "Aligned text")


def without_nulls(table: SampleTable) -> SampleTable:
    """Return the table with a blank for each word that means a missing value; `nulls` lists the words that occur."""
    if table.format not in _FORMATS:
        return table
    found = {cell.strip() for row in table.rows for cell in row}.intersection(_NULLS)
    if not found:
        return table
    rows = [["" if cell.strip() in found else cell for cell in row] for row in table.rows]
    return msgspec.structs.replace(table, rows=rows, nulls=sorted(found))


def blank_nulls(table: SampleTable, shape: dict[str, Any]) -> None:
    if table.nulls:
        shape["blank"] = sorted({*table.nulls, *shape.get("blank", [])})
