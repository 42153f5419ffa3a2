"""Parse CSV text.

Polars reads ordinary CSV: one row per line, all with the same number of fields. Anything else (ragged rows, newlines
inside quotes, unusual quoting) is read by Python's csv module, which is slower but exact and can say where a file is
broken.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator
from io import SEEK_END
from typing import BinaryIO, NamedTuple

import polars as pl

from rolecall.application_imports.read.broken_file import BrokenFile, ReadAtOnce
from rolecall.application_imports.read.encodings import advice, detected, wide
from rolecall.application_imports.read.header_lines import CsvText, delimiter_of, with_header_first
from rolecall.application_imports.read.table import MAX_FIELD, MIB, Table, check_width, stripped, table_of
from rolecall.applications.file_shape import FileShape

# The size of a piece. Texts of at least twice this size are read in pieces.
PIECE = 32 * MIB
# How many bytes of a text are read to recognize its format.
_HEAD = 64 * 1024
# A function that is called with the number of bytes read so far.
OnRead = Callable[[int], None]


def ignore(read: int) -> None:
    """Ignore the progress of reading."""


class DecodedText(NamedTuple):
    """A text in UTF-8. `detected` is the original encoding if it was detected from the bytes."""

    text: bytes
    detected: str | None = None


class NotUtf8(BrokenFile):
    """Raised if a text is not UTF-8, but may be in another encoding."""


def decode(content: bytes, encoding: str | None, *, is_exact: bool = False) -> DecodedText:
    """Convert text to UTF-8 without a byte order mark.

    Without `is_exact`, only UTF-16 is detected. That is faster, and the parser rejects a text that is not UTF-8.
    """
    found = None
    if encoding:
        content = _decoded(content, encoding)
    elif content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content, found = _decoded(content, "utf-16"), "utf-16"
    elif (found := detected(content) if is_exact else wide(content)) is not None:
        content = _decoded(content, found)
    content = content.removeprefix(codecs.BOM_UTF8)
    _check_no_nul(content)
    return DecodedText(content, found)


def is_long(file: BinaryIO) -> bool:
    """Return whether a file is long enough to read it in pieces; rewind the file."""
    size = file.seek(0, SEEK_END)
    file.seek(0)
    return size >= 2 * PIECE


class LongText:
    """A long text. Each iteration reads the text again and yields pieces of whole lines in UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str | None) -> None:
        self._file = file
        file.seek(0)
        self.head = file.read(_HEAD)
        is_marked = self.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        self.detected = None if encoding else "utf-16" if is_marked else wide(self.head)
        self._encoding = encoding or self.detected

    def __iter__(self) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(self._encoding)() if self._encoding else None
        self._file.seek(0)
        left, line, piece = b"", 1, self._file.read(PIECE)
        while piece:
            following = self._file.read(PIECE)
            try:
                text = left + (decoder.decode(piece, final=not following).encode() if decoder else piece)
            except UnicodeError as error:
                at = piece.count(b"\n", 0, getattr(error, "start", 0))
                raise BrokenFile(_not_in(str(self._encoding)), line=line + at) from None
            text = text.removeprefix(codecs.BOM_UTF8) if line == 1 else text
            _check_no_nul(text, line)
            end = text.rfind(b"\n") + 1 if following else len(text)
            line += text.count(b"\n")
            left, piece = text[end:], following
            if end:
                text = text[:end]
                yield text


def _check_no_nul(text: bytes, line: int = 1) -> None:
    if (nul := text.find(b"\x00")) >= 0:
        hint = "; it looks like UTF-16 without a byte order mark" if text.count(b"\x00", 0, 4096) > 1 else ""
        raise BrokenFile(f"there is a NUL character{hint}", line=line - 1 + _line_at(text, nul))


def _not_in(encoding: str) -> str:
    return f"the text is not {encoding}; set encoding to the right one, or save the file as UTF-8"


def _decoded(content: bytes, encoding: str) -> bytes:
    try:
        return content.decode(encoding).encode()
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        raise BrokenFile(_not_in(encoding), line=_line_at(content, at)) from None


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


def read_csv(source: CsvText, *, merge_extra: bool = False) -> Table:
    """Parse a text that begins with its header. With `merge_extra`, extra fields are added to the last column."""
    header = _Header.of(source)
    return _read_quickly(source, header) or _read_exactly(source, header.dialect, merge_extra=merge_extra)


def read_long_csv(pieces: Iterator[bytes], shape: FileShape | None) -> Iterator[Table]:
    """Parse pieces of text into tables of whole rows with the same header; raise ReadAtOnce if a piece is not UTF-8."""
    source = with_header_first(next(pieces), shape)
    header = _Header.of(source)
    merge_extra = shape is not None and shape.merge_extra_fields
    following = next(pieces, b"")
    while source.text:
        try:
            table = _read_quickly(source, header)
            end = len(source.text)
            if table is None:
                # If another piece follows, read only whole rows: the last line of this piece may end inside quotes.
                end = _end_of_rows(source.text, header.dialect) if following else end
                table = _read_exactly(source._replace(text=source.text[:end]), header.dialect, merge_extra=merge_extra)
        except NotUtf8:
            raise ReadAtOnce from None
        yield table
        below = source.first_row + _lines(source.text[:end]) - 1
        rest = source.text[end:] + following
        source = CsvText(header.line + b"\n" + rest if rest else b"", source.delimiter, below)
        following = next(pieces, b"") if following else b""


class _Header(NamedTuple):
    line: bytes
    dialect: "Dialect"
    names: list[str]

    @staticmethod
    def of(source: CsvText) -> "_Header":
        csv.field_size_limit(MAX_FIELD)
        # The header may end with CR alone, as old Mac programs write it.
        line = header_of(source.text).partition(b"\r")[0]
        if len(line) > MAX_FIELD:
            raise BrokenFile(f"the header is longer than {MAX_FIELD // MIB} MiB", line=1)
        check_utf8(line)
        dialect = _dialect(line.decode(), source.delimiter)
        return _Header(line, dialect, _headers(line.decode(), dialect))


def _read_quickly(source: CsvText, header: _Header) -> Table | None:
    """Parse CSV in which each row is a line with as many fields as the header; return None for other CSV."""
    text = source.text
    try:
        frame = _quick_frame(text, header.line, header.dialect)
    except pl.exceptions.PolarsError:
        frame = None
    if frame is None:
        return None
    lined = frame.with_row_index("line", offset=source.first_row)
    # Search for one byte first, which is much faster than for two.
    has_formulas = FORMULA[:1] in text and FORMULA in text
    frame = _without_formulas(lined) if has_formulas else lined
    return Table(header.names, frame, [], is_by_line=True, is_plain=_is_plain(text))


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


def _quick_frame(text: bytes, header: bytes, dialect: Dialect) -> pl.DataFrame | None:
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
        # Polars rejects rows that are longer than the header. If the number of delimiters is right, no row is shorter.
        if text.count(delimiter) != (width - 1) * (rows + 1):
            return None
    # With a single column, the check above does not find blank lines: they have as many delimiters as other lines.
    if width is None or (width == 1 and (b"\n\n" in text or b"\n\r\n" in text)):
        return None
    frame = pl.read_csv(
        text,
        has_header=False,
        skip_lines=1,
        schema={str(i): pl.String for i in range(width)},
        separator=dialect.delimiter,
        quote_char=dialect.quote if is_quoted else None,
        empty_string_is_null=False,
    )
    if frame.height != rows:
        # Use the csv module: Polars mistakes a byte order mark below the header for the beginning of the text.
        return None
    longest = max(frame.select(pl.all().str.len_bytes().max()).row(0))
    return frame if longest <= MAX_FIELD else None


def _width_of_quoted_lines(text: bytes, dialect: Dialect) -> int | None:
    """Return the number of fields if it is the same in all lines and no quoted field spans lines; otherwise None."""
    q, d = re.escape(dialect.quote), re.escape(dialect.delimiter)
    field = f"(?:{q}(?:[^{q}]|{q}{q})*{q}|[^{q}{d}]*)"
    lines = pl.read_lines(text).get_column("line")
    quoted = lines.filter(lines.str.contains(dialect.quote, literal=True))
    if not quoted.str.contains(f"^{field}(?:{d}{field})*$").all():
        return None
    bare = lines.str.replace_all(f"{q}(?:[^{q}]|{q}{q})*{q}", "")
    counts = bare.str.count_matches(dialect.delimiter, literal=True).unique()
    return int(counts[0]) + 1 if len(counts) == 1 else None


_UNCLOSED = "unexpected end of data"
NEVER_CLOSED = "a quote opens here and is never closed"
_CSV_ERRORS = {
    "field larger than field limit": f"a field is longer than {MAX_FIELD // MIB} MiB",
    _UNCLOSED: NEVER_CLOSED,
    "expected after": "text follows a closing quote; inside a quoted field, write each quote twice",
}


def _end_of_rows(text: bytes, dialect: Dialect) -> int:
    """Return the position after the last whole row. If the text is malformed, return its end; the parser will fail."""
    ends = [0]

    def lines() -> Iterator[str]:
        for line in io.StringIO(text.decode(), newline=""):
            ends.append(ends[-1] + len(line.encode()))
            yield line

    check_utf8(text)
    reader = csv.reader(lines(), delimiter=dialect.delimiter, quotechar=dialect.quote, strict=True)
    end = 0
    try:
        for _ in reader:
            end = ends[reader.line_num]
    except csv.Error as error:
        return end if _UNCLOSED in str(error) else len(text)
    return end


def _lines(text: bytes) -> int:
    """Count lines like the csv module, which also ends a line at a CR without an LF."""
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def _read_exactly(source: CsvText, dialect: Dialect, *, merge_extra: bool) -> Table:
    text = source.text
    check_utf8(text)
    reader = csv.reader(
        io.StringIO(text.decode(), newline=""), delimiter=dialect.delimiter, quotechar=dialect.quote, strict=True
    )
    rows: list[tuple[int, list[str]]] = []
    # The header is line 1; the lines of rows are numbered as in the original file, from `source.first_row`.
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
        raise BrokenFile(reason, line=begins if begins == 1 else begins + source.first_row - 2) from None
    if not rows:
        raise BrokenFile("the file is empty; export it again")
    headers = stripped(rows[0][1])
    if merge_extra:
        rows = [(line, _merged(row, len(headers), dialect.delimiter)) for line, row in rows]
    table = table_of(headers, rows[1:], is_by_line=is_by_line)
    return table._replace(frame=_without_formulas(table.frame)) if FORMULA in text else table


def _merged(row: list[str], width: int, delimiter: str) -> list[str]:
    return row if len(row) <= width else [*row[: width - 1], delimiter.join(row[width - 1 :])]
