"""Parse CSV text.

Polars reads ordinary CSV: one row per line, all of the same length. Anything else (ragged rows, newlines inside quotes,
unusual quoting) is read by Python's csv module, which is slower but exact and can say where a file is broken.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import polars as pl

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.encodings import advice, detected, wide
from rolecall.application_imports.read.header_lines import CsvText, delimiter_of
from rolecall.application_imports.read.table import MAX_FIELD, MIB, Table, check_width, stripped, table_of

# Long texts are parsed in pieces of this size.
PIECE = 32 * MIB
# Called with the number of bytes read so far.
OnRead = Callable[[int], None]


def ignore(read: int) -> None:
    """Report nothing."""


class DecodedText(NamedTuple):
    """A text in UTF-8; `detected` is its original encoding, if that was detected from the bytes."""

    text: bytes
    detected: str | None = None


class NotUtf8(BrokenFile):
    """A text is not UTF-8; it may be in another encoding."""


def decode(content: bytes, encoding: str | None, *, is_exact: bool = False) -> DecodedText:
    """Convert text to UTF-8 without a byte order mark.

    Unless `is_exact`, other single-byte encodings are left to the parser, which checks for UTF-8 anyway.
    """
    found = None
    if encoding:
        content = _decoded(content, encoding)
    elif content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content, found = _decoded(content, "utf-16"), "utf-16"
    elif (found := detected(content) if is_exact else wide(content)) is not None:
        content = _decoded(content, found)
    content = content.removeprefix(codecs.BOM_UTF8)
    if (nul := content.find(b"\x00")) >= 0:
        hint = "; it looks like UTF-16 without a byte order mark" if content.count(b"\x00", 0, 4096) > 1 else ""
        raise BrokenFile(f"there is a NUL character{hint}", line=_line_at(content, nul))
    return DecodedText(content, found)


def _decoded(content: bytes, encoding: str) -> bytes:
    try:
        return content.decode(encoding).encode()
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        raise BrokenFile(f"the text is not {encoding}", line=_line_at(content, at)) from None


def check_utf8(content: bytes) -> None:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        byte = content[error.start]
        raise NotUtf8(
            f"byte 0x{byte:02X} is not UTF-8; {advice(content)}",
            line=_line_at(content, error.start),
        ) from None


def _line_at(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1


class Dialect(NamedTuple):
    delimiter: str
    quote: str


def read_csv(source: CsvText, *, merge_extra: bool = False, on_read: OnRead = ignore) -> Table:
    """Parse a text with its header first; `merge_extra` adds fields beyond the header to the last column."""
    csv.field_size_limit(MAX_FIELD)
    text = source.text
    # Old Mac programs end lines with CR alone.
    first_line = header_of(text).partition(b"\r")[0]
    if len(first_line) > MAX_FIELD:
        raise BrokenFile(f"the header is longer than {MAX_FIELD // MIB} MiB", line=1)
    check_utf8(first_line)
    dialect = _dialect(first_line.decode(), source.delimiter)
    headers = _headers(first_line.decode(), dialect)
    try:
        frame = _quick_frame(text, first_line, dialect, on_read)
    except pl.exceptions.PolarsError:
        frame = None
    if frame is None:
        check_utf8(text)
        return _read_exactly(source, dialect, merge_extra=merge_extra)
    lined = frame.with_row_index("line", offset=source.first_row)
    # Searching for one byte is much faster than for two.
    has_formulas = FORMULA[:1] in text and FORMULA in text
    frame = _without_formulas(lined) if has_formulas else lined
    return Table(headers, frame, [], is_by_line=True, is_plain=_is_plain(text))


# Spreadsheets write ="0012" to keep leading zeros.
FORMULA = b'="'


def _is_plain(text: bytes) -> bool:
    return text.isascii() and not any(sign in text for sign in (b"#", b";", b"|"))


def _without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.exclude("line").str.replace(r'^\s*="(.*)"\s*$', "${1}"))


def _headers(line: str, dialect: Dialect) -> list[str]:
    headers = stripped(next(csv.reader([line], delimiter=dialect.delimiter, quotechar=dialect.quote), []))
    check_width(headers)
    return headers


def header_of(text: bytes) -> bytes:
    end = text.find(b"\n")
    return text[: end if end >= 0 else len(text)].rstrip(b"\r")


def _dialect(header: str, delimiter: str | None) -> Dialect:
    return Dialect(delimiter or delimiter_of(header), "'" if header.startswith("'") else '"')


def _quick_frame(text: bytes, header: bytes, dialect: Dialect, on_read: OnRead) -> pl.DataFrame | None:
    """Parse ordinary CSV; return None unless each row is a line with as many fields as the header."""
    delimiter, quote = dialect.delimiter.encode(), dialect.quote.encode()
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        return None
    rows = text.count(b"\n") - text.endswith(b"\n")
    if rows < 1:
        return None
    is_quoted = quote in text
    if is_quoted:
        width = _width_of_quoted_lines(text, dialect)
    else:
        width = header.count(delimiter) + 1
        # Polars refuses rows longer than the header, so with the right total no row is shorter.
        if text.count(delimiter) != (width - 1) * (rows + 1):
            return None
    # With several columns the count of delimiters has found blank lines already.
    if width is None or (width == 1 and (b"\n\n" in text or b"\n\r\n" in text)):
        return None
    frames: list[pl.DataFrame] = []
    read = 0
    for piece in _pieces(text):
        frames.append(
            pl.read_csv(
                piece,
                has_header=False,
                skip_lines=0 if frames else 1,
                schema={str(i): pl.String for i in range(width)},
                separator=dialect.delimiter,
                quote_char=dialect.quote if is_quoted else None,
                empty_string_is_null=False,
            )
        )
        read += len(piece)
        on_read(read)
    frame = pl.concat(frames) if len(frames) > 1 else frames[0]
    longest = max(frame.select(pl.all().str.len_bytes().max()).row(0))
    return frame if longest <= MAX_FIELD and frame.height == rows else None


def _pieces(text: bytes) -> Iterator[bytes]:
    """Split a text between lines, so that reading a long one can report its progress."""
    begin = 0
    while len(text) - begin > 2 * PIECE and (end := text.find(b"\n", begin + PIECE) + 1):
        yield text[begin:end]
        begin = end
    yield text[begin:] if begin else text


def _width_of_quoted_lines(text: bytes, dialect: Dialect) -> int | None:
    """Return the number of fields of every line, or None if a quote does not enclose a whole field on one line."""
    q, d = re.escape(dialect.quote), re.escape(dialect.delimiter)
    field = f"(?:{q}(?:[^{q}]|{q}{q})*{q}|[^{q}{d}]*)"
    lines = pl.read_lines(text).get_column("line")
    quoted = lines.filter(lines.str.contains(dialect.quote, literal=True))
    if not quoted.str.contains(f"^{field}(?:{d}{field})*$").all():
        return None
    bare = lines.str.replace_all(f"{q}(?:[^{q}]|{q}{q})*{q}", "")
    counts = bare.str.count_matches(dialect.delimiter, literal=True).unique()
    return int(counts[0]) + 1 if len(counts) == 1 else None


_CSV_ERRORS = {
    "field larger than field limit": f"a field is longer than {MAX_FIELD // MIB} MiB",
    "unexpected end of data": "a quote opens here and is never closed",
    "expected after": "text follows a closing quote",
}


def _read_exactly(source: CsvText, dialect: Dialect, *, merge_extra: bool) -> Table:
    text = source.text
    reader = csv.reader(
        io.StringIO(text.decode(), newline=""), delimiter=dialect.delimiter, quotechar=dialect.quote, strict=True
    )
    rows: list[tuple[int, list[str]]] = []
    begins = 1
    is_by_line = text.count(b"\r") == text.count(b"\r\n")
    try:
        for row in reader:
            if row:
                rows.append((begins if begins == 1 else begins + source.first_row - 2, row))
            is_by_line = is_by_line and bool(row) and begins == reader.line_num
            begins = reader.line_num + 1
    except csv.Error as error:
        reason = next((text for part, text in _CSV_ERRORS.items() if part in str(error)), str(error))
        raise BrokenFile(reason, line=begins) from None
    if not rows:
        raise BrokenFile("the file is empty")
    headers = stripped(rows[0][1])
    if merge_extra:
        rows = [(line, _merged(row, len(headers), dialect.delimiter)) for line, row in rows]
    table = table_of(headers, rows[1:], is_by_line=is_by_line)
    return table._replace(frame=_without_formulas(table.frame)) if FORMULA in text else table


def _merged(row: list[str], width: int, delimiter: str) -> list[str]:
    return row if len(row) <= width else [*row[: width - 1], delimiter.join(row[width - 1 :])]
