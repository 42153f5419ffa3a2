"""Find the delimiter, the header line and the totals row of a CSV sample."""

import csv
import io
import re
from collections.abc import Sequence

import msgspec

from rolecall.core.text import fold
from rolecall.file_shapes.profiles import most_common_width

DELIMITERS = ",;\t|^~"
_LOOKED_AT = 300
_MOST_TITLES = 20
_MOST_COLUMNS = 20_000
_VALUE = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}\.\w{1,63}|-?\d[\d.,:/ -]*|\d{4}-\d\d.*", re.ASCII)
_TOTALS = {"total", "totals", "grandtotal", "sum", "count", "rows", "endofreport", "endoffile", "summe", "gesamt"}


class CsvLayout(msgspec.Struct, frozen=True):
    delimiter: str
    # None: the file has no header.
    header_line: int | None
    headers: list[str]
    rows: list[list[str]]
    evidence: list[str]
    # Other lines that could be the header.
    candidates: list[int]
    totals: list[str]
    # Rows are longer than the header: the last column contains the delimiter.
    merges: bool = False


def lay_out_csv(text: str, tail: str, chosen: int | None = None) -> CsvLayout:
    lines = text.splitlines()
    delimiter = _delimiter(lines)
    parsed = _parse(text, delimiter)
    numbered = [(line, row) for line, row in parsed if any(cell.strip() for cell in row)]
    if not numbered:
        raise ValueError("the file has no rows")
    width = max(most_common_width([row for _, row in numbered[:_LOOKED_AT]]), 1)
    likely = [(line, row) for line, row in numbered[:_MOST_TITLES] if _is_header(row, width)]
    if chosen:
        likely = [(line, row) for line, row in numbered if line == chosen] or likely
    evidence = [f"Delimiter {_named(delimiter)}: {width} fields in most lines"]
    if len(numbered[0][1]) > _MOST_COLUMNS:
        found = f"line {numbered[0][0]} has more than {_MOST_COLUMNS:,} columns"
        raise ValueError(f"{found}; set shape.delimiter if it is another one, or split the file")
    if not likely:
        headers = [f"Column {n}" for n in range(1, width + 1)]
        evidence.append("No line looks like a header: the first rows contain values")
        return CsvLayout(delimiter, None, headers, [row for _, row in numbered], evidence, [], [])
    header_line, header = likely[0]
    totals = _totals(tail or text, delimiter)
    rows = [row for line, row in numbered if line > header_line and row[0].strip() not in totals]
    if header_line > 1:
        skipped = " ".join(next(iter(lines), "").replace(delimiter, " ").split())[:60]
        evidence.append(f"The header is line {header_line}; line 1 is a title: {skipped}")
    others = [line for line, row in likely[1:] if line < header_line + 3 and _is_header_like_values(row)]
    merges = any(len(row) > len(header) for row in rows)
    if merges:
        evidence.append(f"Some rows have more than {len(header)} fields: the last column contains the delimiter")
    return CsvLayout(delimiter, header_line, _without_blank_end(header), rows, evidence, others, totals, merges)


def _delimiter(lines: Sequence[str]) -> str:
    """Choose the delimiter that cuts most lines into the same number of fields, and into most."""
    if lines and lines[0].lower().startswith("sep=") and len(lines[0].strip()) == 5:
        return lines[0].strip()[-1]

    def score(delimiter: str) -> tuple[float, int]:
        rows = [row for _, row in _parse("\n".join(lines[:_LOOKED_AT]), delimiter)]
        width = most_common_width(rows) if rows else 1
        return (sum(len(row) == width for row in rows) / max(len(rows), 1) if width > 1 else 0.0, width)

    return max(DELIMITERS, key=score)


def _parse(text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    csv.field_size_limit(1024 * 1024)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows, begins = [], 1
    try:
        for row in reader:
            rows.append((begins, row))
            begins = reader.line_num + 1
    except csv.Error:
        pass
    return rows


def _is_header(row: Sequence[str], width: int) -> bool:
    cells = [cell.strip() for cell in row]
    if cells and not cells[-1]:
        cells = _without_blank_end(cells)
    named = [cell for cell in cells if cell]
    if len(named) < max(min(width, 2), 0.6 * width) or len(named) < len(cells) or len(set(named)) < len(named):
        return False
    # A row of a file with merged fields is longer than its header.
    if abs(len(row) - width) > max(1, width // 4):
        return False
    return not any(_VALUE.fullmatch(cell) or len(cell) > 120 for cell in named)


def _is_header_like_values(row: Sequence[str]) -> bool:
    """Return whether a further line repeats words of headers, such as a second header in another language."""
    return all(re.fullmatch(r"[A-Za-z][A-Za-z _\-\[\]().]*", cell.strip() or "x") for cell in row) and any(
        fold(cell) in _HEADER_WORDS for cell in row
    )


_HEADER_WORDS = {
    "username",
    "user",
    "name",
    "email",
    "mail",
    "group",
    "role",
    "status",
    "department",
    "userid",
    "login",
}


def _without_blank_end(header: Sequence[str]) -> list[str]:
    cells = [cell.strip() for cell in header]
    while len(cells) > 1 and not cells[-1]:
        cells.pop()
    return cells


def _totals(text: str, delimiter: str) -> list[str]:
    """Return the first cell of the last row if the row is a total."""
    lines = [line for line in text.splitlines()[-3:] if line.strip()]
    last = _parse(lines[-1], delimiter)[0][1] if lines else []
    first = last[0].strip() if last else ""
    word = re.sub(r"[^a-z]", "", first.lower())
    return [first] if any(word.startswith(each) for each in _TOTALS) and sum(bool(c.strip()) for c in last) <= 3 else []


def _named(delimiter: str) -> str:
    names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
    return names.get(delimiter, delimiter)
