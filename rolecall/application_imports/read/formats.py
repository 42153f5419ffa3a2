"""A file becomes a table of text: its format found by its content, its errors named by line.

Ordinary CSV is read by polars. Anything unusual (rows of different lengths, a newline inside quotes, odd quoting) is
read by Python's csv, the judge of what such a file means: slower, exact, and able to say where it is wrong.
"""

import codecs
import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import fastexcel
import msgspec
import polars as pl

from rolecall.application_imports.read.broken_file import BrokenFile

MIB = 1024 * 1024
MAX_FIELD = 1 * MIB
MAX_INFLATED = 512 * MIB
MAX_INFLATION = 100
DELIMITERS = ",;\t|^~\x1f"


class Ragged(NamedTuple):
    line: int
    reason: str
    row: list[str]


class Table(NamedTuple):
    """Columns are named by position: `0`, `1`, …; `line` is where a row begins."""

    headers: list[str]
    frame: pl.DataFrame
    ragged: list[Ragged]
    # Whether each row is one line, so that lines can be compared instead of rows.
    is_by_line: bool


_SIGNATURES = {
    b"\xd0\xcf\x11\xe0": "an old Excel file; save it as XLSX or CSV",
    b"%PDF": "a PDF; CSV, XLSX, JSON lines or Parquet is expected",
    b"\x1f\x8b": "compressed with gzip; send it uncompressed",
    b"7z\xbc\xaf": "a 7z archive; send the file inside",
    b"\x00\x00\xfe\xff": "UTF-32; save it as UTF-8",
    b"\xff\xfe\x00\x00": "UTF-32; save it as UTF-8",
    b"<": "HTML or XML; CSV, XLSX, JSON lines or Parquet is expected",
    b"[": "a JSON array; write one object a line instead",
}


def read(content: bytes, encoding: str | None = None) -> Table:
    if not content or content.isspace():
        raise BrokenFile("the file is empty")
    if content.startswith(b"PK\x03\x04"):
        return _read_xlsx(content)
    if content.startswith(b"PAR1"):
        return _read_parquet(content)
    for signature, what in _SIGNATURES.items():
        if content.startswith(signature):
            raise BrokenFile(f"the file is {what}")
    text = decode(content, encoding)
    return _read_json_lines(text) if text.lstrip().startswith(b"{") else read_csv(text)


def decode(content: bytes, encoding: str | None) -> bytes:
    """As UTF-8 without a byte order mark."""
    if encoding:
        content = _decoded(content, encoding)
    elif content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = _decoded(content, "utf-16")
    content = content.removeprefix(codecs.BOM_UTF8)
    if (nul := content.find(b"\x00")) >= 0:
        hint = "; it looks like UTF-16 without a byte order mark" if content.count(b"\x00", 0, 4096) > 1 else ""
        raise BrokenFile(f"there is a NUL character{hint}", line=_line_at(content, nul))
    return content


def _decoded(content: bytes, encoding: str) -> bytes:
    try:
        return content.decode(encoding).encode()
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        raise BrokenFile(f"the text is not {encoding}", line=_line_at(content, at)) from None


def _check_utf8(content: bytes) -> None:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        byte = content[error.start]
        raise BrokenFile(
            f"byte 0x{byte:02X} is not UTF-8; save the file as UTF-8 or name its encoding in the connector",
            line=_line_at(content, error.start),
        ) from None


def _line_at(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1


class Dialect(NamedTuple):
    delimiter: str
    quote: str


def read_csv(text: bytes) -> Table:
    first_line = header_of(text)
    if len(first_line) > MAX_FIELD:
        raise BrokenFile(f"the header is longer than {MAX_FIELD // MIB} MiB", line=1)
    _check_utf8(first_line)
    dialect = _dialect(first_line.decode())
    try:
        frame = _quick_frame(text, first_line, dialect)
    except pl.exceptions.PolarsError:
        frame = None
    if frame is None:
        _check_utf8(text)
        return _judged(text, dialect)
    headers = _stripped(next(csv.reader([first_line.decode()], delimiter=dialect.delimiter, quotechar=dialect.quote)))
    return Table(headers, frame.with_row_index("line", offset=2), [], is_by_line=True)


def header_of(text: bytes) -> bytes:
    end = text.find(b"\n")
    return text[: end if end >= 0 else len(text)].rstrip(b"\r")


def _dialect(header: str) -> Dialect:
    """The delimiter that the header has most of, outside of its quotes."""
    quote = "'" if header.startswith("'") else '"'
    outside = re.sub(f"{quote}[^{quote}]*{quote}", "", header)
    return Dialect(max(DELIMITERS, key=outside.count), quote)


def _quick_frame(text: bytes, header: bytes, dialect: Dialect) -> pl.DataFrame | None:
    """None when the file is not of the ordinary kind: a row is a line, and all have as many fields as the header."""
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
        # With no row longer than the header, which polars checks, an exact sum leaves no row shorter.
        if text.count(delimiter) != (width - 1) * (rows + 1):
            return None
    # A blank line has no delimiter: where others have some, it was noticed.
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
    longest = max(frame.select(pl.all().str.len_bytes().max()).row(0))
    return frame if longest <= MAX_FIELD and frame.height == rows else None


def _width_of_quoted_lines(text: bytes, dialect: Dialect) -> int | None:
    """How many fields every line has; None unless every quote opens or closes a whole field, on one line."""
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


def _judged(text: bytes, dialect: Dialect) -> Table:
    csv.field_size_limit(MAX_FIELD)
    reader = csv.reader(
        io.StringIO(text.decode(), newline=""), delimiter=dialect.delimiter, quotechar=dialect.quote, strict=True
    )
    rows: list[tuple[int, list[str]]] = []
    begins = 1
    is_by_line = text.count(b"\r") == text.count(b"\r\n")
    try:
        for row in reader:
            if row:
                rows.append((begins, row))
            is_by_line = is_by_line and bool(row) and begins == reader.line_num
            begins = reader.line_num + 1
    except csv.Error as error:
        said = next((say for part, say in _CSV_ERRORS.items() if part in str(error)), str(error))
        raise BrokenFile(said, line=begins) from None
    if not rows:
        raise BrokenFile("the file is empty")
    return _table(_stripped(rows[0][1]), rows[1:], is_by_line=is_by_line)


def _table(headers: list[str], rows: Iterable[tuple[int, list[str]]], *, is_by_line: bool = False) -> Table:
    width = len(headers)
    whole, ragged = [], []
    for line, row in rows:
        if len(row) == width:
            whole.append((line, *row))
        else:
            ragged.append(Ragged(line, f"there are {len(row)} fields, the header has {width}", row))
    columns = list(zip(*whole, strict=True)) or [()] * (width + 1)
    frame = pl.DataFrame(
        {"line": pl.Series(columns[0], dtype=pl.UInt32)}
        | {str(i): pl.Series(column, dtype=pl.String) for i, column in enumerate(columns[1:])}
    )
    return Table(headers, frame, ragged, is_by_line and not ragged)


def _read_json_lines(text: bytes) -> Table:
    _check_utf8(text)
    return read_records(_records(text))


def _records(text: bytes) -> Iterator[tuple[int, dict[str, object]]]:
    for number, line in enumerate(text.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, msgspec.json.decode(line, type=dict[str, object])
            except (msgspec.DecodeError, RecursionError):
                raise BrokenFile("this line is not a JSON object", line=number) from None


def read_records(records: Iterable[tuple[int, Mapping[str, object]]]) -> Table:
    """Rows by name, each with its place; the columns are all the names that occur."""
    kept = list(records)
    headers = {name: None for _, record in kept for name in record}
    rows = ((number, [_plain(record.get(header), number) for header in headers]) for number, record in kept)
    return _table(_stripped(headers), rows)


def _plain(value: object, line: int) -> str:
    match value:
        case None:
            return ""
        case str():
            plain = value
        case bool() | int() | float():
            plain = str(value)
        case _:
            plain = msgspec.json.encode(value).decode()
    if "\x00" in plain:
        raise BrokenFile("there is a NUL character", line=line)
    if len(plain) > MAX_FIELD:
        raise BrokenFile(f"a field is longer than {MAX_FIELD // MIB} MiB", line=line)
    return plain


def _read_parquet(content: bytes) -> Table:
    try:
        frame = pl.read_parquet(content)
        # Dates and times come out in ISO form.
        texts = frame.select(pl.all().cast(pl.String).fill_null(""))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BrokenFile(f"the Parquet file cannot be read: {_first_line(error)}") from None
    return _framed(_stripped(texts.columns), texts)


def _read_xlsx(content: bytes) -> Table:
    _check_inflation(content)
    try:
        sheet = fastexcel.read_excel(content).load_sheet(0, header_row=None, dtypes="string")
        frame = sheet.to_polars().select(pl.all().fill_null(""))
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, ValueError) as error:
        raise BrokenFile(f"the XLSX file cannot be read: {_first_line(error)}") from None
    if not frame.height:
        raise BrokenFile("the first sheet is empty")
    return _framed(_stripped(frame.row(0)), frame.slice(1), offset=2)


def _framed(headers: list[str], frame: pl.DataFrame, offset: int = 1) -> Table:
    named = frame.rename({name: str(i) for i, name in enumerate(frame.columns)})
    lined = named.with_row_index("line", offset=offset)
    blank = pl.all_horizontal(pl.exclude("line").str.strip_chars() == "")
    for line, *values in lined.filter(pl.any_horizontal(pl.exclude("line").str.contains("\x00", literal=True))).rows():
        raise BrokenFile(f"there is a NUL character in {values!r:.100}", line=line)
    if frame.height and max(frame.select(pl.all().str.len_bytes().max()).row(0)) > MAX_FIELD:
        raise BrokenFile(f"a field is longer than {MAX_FIELD // MIB} MiB")
    return Table(headers, lined.filter(~blank), [], is_by_line=False)


# A cell with a formula and no value: whoever made the file never let a spreadsheet compute it.
_UNCOMPUTED = re.compile(rb'<c r="([A-Z]+)(\d+)"[^<>]*><f[^<>]*(?:/>|>[^<]*</f>)(?:<v\s*/>|<v></v>)?</c>')


def _check_inflation(content: bytes) -> None:
    """Inflate in pieces and count, before anything is parsed: what an archive says of itself may be a lie."""
    inflated = 0
    limit = min(MAX_INFLATED, max(MAX_INFLATION * len(content), MIB))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                with archive.open(member) as file:
                    rest = b""
                    while piece := file.read(MIB):
                        inflated += len(piece)
                        if inflated > limit:
                            raise BrokenFile(f"the XLSX file inflates to more than {limit // MIB} MiB; it is refused")
                        if member.filename == "xl/worksheets/sheet1.xml":
                            if cell := _UNCOMPUTED.search(rest + piece):
                                name = (cell[1] + cell[2]).decode()
                                raise BrokenFile(f"cell {name} holds a formula without a value", line=int(cell[2]))
                            rest = piece[-4096:]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise BrokenFile(f"the XLSX file is damaged or cut short: {_first_line(error)}") from None


def _stripped(headers: Iterable[str]) -> list[str]:
    return [header.strip() for header in headers]


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or ["no reason given"])[0]
