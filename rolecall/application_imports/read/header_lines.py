"""Normalize a CSV text to a header and rows: drop lines around the header, or add a header."""

import csv
import io
import re
from typing import NamedTuple

from rolecall.application_imports.read import aligned
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.applications.file_shape import FileShape

DELIMITERS = ",;\t|^~\x1f\x01"
_SEPARATOR_LINE = re.compile(rb'"?sep=(.)"?,*\r?\n', re.IGNORECASE)
_TYPE_LINE = re.compile(rb'"?#TYPE [^\n]*\n')


class CsvText(NamedTuple):
    """A text whose first line is the header. `first_row` is the line number of the first row in the original file."""

    text: bytes
    delimiter: str | None = None
    first_row: int = 2


def with_header_first(text: bytes, shape: FileShape | None) -> CsvText:
    shape = shape or FileShape()
    delimiter, above = shape.delimiter, 0
    if shape.header_line is None and not shape.headers:
        # Drop the line above the header: Excel writes `sep=;`, PowerShell `#TYPE …`.
        if found := _SEPARATOR_LINE.match(text):
            delimiter = delimiter or separator_line(found[0].decode("latin-1"))
        found = found or _TYPE_LINE.match(text)
        text, above = (text[found.end() :], 1) if found else (text, 0)
    if shape.column_starts:
        return _cut_at(text, shape)
    if shape.headers:
        body = text[_end_of_lines(text, shape.skip_lines) :]
        delimiter = delimiter or delimiter_of(body[: _end_of_lines(body, 1)].decode(errors="replace"))
        return CsvText(_line(shape.headers, delimiter) + body, delimiter, shape.skip_lines + 1)
    if shape.header_line and shape.header_line > 1:
        above = shape.header_line - 1
        text = text[_end_of_lines(text, above) :]
        if not text:
            raise BrokenFile(
                f"the file ends before line {shape.header_line}; set shape.headerLine to the line of the header"
            )
    if shape.aligned:
        return CsvText(_cut(text), aligned.SEPARATOR, above + 2)
    if shape.skip_lines:
        header = _end_of_lines(text, 1)
        text = text[:header] + text[header + _end_of_lines(text[header:], shape.skip_lines) :]
    return CsvText(text, delimiter, above + 2 + shape.skip_lines)


def _cut(text: bytes) -> bytes:
    try:
        lines = aligned.lines_of(text.decode())
    except UnicodeDecodeError:
        # Return the text unchanged: parsing it will raise an error that names the line and the byte.
        return text
    return "\n".join(aligned.cut_lines(lines)).encode()


def _cut_at(text: bytes, shape: FileShape) -> CsvText:
    """Cut lines at `columnStarts`; drop the lines above the rows, even where a later page repeats them."""
    header = aligned.SEPARATOR.join(shape.headers)
    try:
        lines = aligned.lines_of(text.decode())
    except UnicodeDecodeError:
        return CsvText(text, aligned.SEPARATOR)
    above, below = lines[: shape.skip_lines], lines[shape.skip_lines :]
    rows = aligned.cut_at(below, [start - 1 for start in shape.column_starts], above)
    return CsvText("\n".join([header, *rows]).encode(), aligned.SEPARATOR, shape.skip_lines + 1)


def separator_line(line: str) -> str | None:
    """Return the delimiter that a line such as `sep=;` specifies."""
    found = _SEPARATOR_LINE.fullmatch(f"{line.rstrip()}\n".encode("latin-1", "replace"))
    return found[1].decode("latin-1") if found else None


def delimiter_of(header: str) -> str:
    """Choose the delimiter that occurs most often in the header, outside of quotes."""
    quote = "'" if header.startswith("'") else '"'
    outside = re.sub(f"{quote}[^{quote}]*{quote}", "", header)
    return max(DELIMITERS, key=outside.count)


def _end_of_lines(text: bytes, lines: int) -> int:
    """Return the position after this many lines, or the end of the text."""
    end = 0
    for _ in range(lines):
        found = text.find(b"\n", end)
        if found < 0:
            return len(text)
        end = found + 1
    return end


def _line(headers: list[str], delimiter: str) -> bytes:
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(headers)
    return line.getvalue().encode()
