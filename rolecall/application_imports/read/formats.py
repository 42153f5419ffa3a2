"""Parse a file into a table of text. The content determines the format, not the file name."""

import re
from collections.abc import Iterable, Iterator, Mapping
from io import SEEK_END
from pathlib import Path
from typing import BinaryIO

import msgspec
import polars as pl

from rolecall.application_imports.read import at_once
from rolecall.application_imports.read.broken_file import BrokenFile, ReadAtOnce
from rolecall.application_imports.read.csv_text import (
    LongText,
    NotUtf8,
    OnRead,
    check_utf8,
    decode,
    ignore,
    is_long,
    read_csv,
    read_long_csv,
)
from rolecall.application_imports.read.dotted_lists import is_dotted_list, read_dotted_list
from rolecall.application_imports.read.header_lines import with_header_first
from rolecall.application_imports.read.json_pages import list_of_pages
from rolecall.application_imports.read.json_records import (
    Records,
    read_json,
    records_by_line,
    records_in_pieces,
    with_paths,
)
from rolecall.application_imports.read.ldif import is_ldif, read_ldif
from rolecall.application_imports.read.property_lists import is_property_list, read_property_list
from rolecall.application_imports.read.shaping import columns_named
from rolecall.application_imports.read.sheets import first_line, read_sheet
from rolecall.application_imports.read.table import (
    MAX_FIELD,
    MIB,
    Table,
    check_width,
    stripped,
    table_of,
    without_blank_columns,
)
from rolecall.applications.file_shape import FileShape

_LOOKED_AT = 4096
_MOST_NAMED = 5

SIGNATURES = {
    b"\xd0\xcf\x11\xe0": "an old Excel file; save it as XLSX or CSV",
    b"%PDF": "a PDF; export the list as CSV, XLSX, JSON, LDIF or Parquet",
    b"\x1f\x8b": "compressed with gzip; send it uncompressed",
    b"7z\xbc\xaf": "a 7z archive; send the file inside",
    b"\x00\x00\xfe\xff": "UTF-32; save it as UTF-8",
    b"\xff\xfe\x00\x00": "UTF-32; save it as UTF-8",
    b"<": "HTML or XML; export the list as CSV, XLSX, JSON, LDIF or Parquet",
}


def read(
    content: bytes,
    encoding: str | None = None,
    shape: FileShape | None = None,
    columns: Iterable[str] = (),
    on_read: OnRead = ignore,
) -> Table:
    """Read a file. `columns` are the columns that the mapping names; in files of records, they may be paths."""
    if not content or content.isspace():
        raise BrokenFile("the file is empty; export it again")
    if content.startswith(b"PK\x03\x04"):
        return _read_xlsx(content, shape)
    if content.startswith(b"PAR1"):
        return read_parquet(content)
    for signature, what in SIGNATURES.items():
        if content.startswith(signature):
            raise BrokenFile(f"the file is {what}")
    text, found = decode(content, encoding)
    try:
        table = _read_text(text, shape, columns, on_read)
    except NotUtf8:
        text, found = decode(content, encoding, is_exact=True)
        table = _read_text(text, shape, columns, on_read)
    return without_blank_columns(table._replace(notes=(*_encoding_note(found), *table.notes)))


def read_in_pieces(
    file: BinaryIO, encoding: str | None, shape: FileShape | None, columns: Iterable[str], on_read: OnRead = ignore
) -> Iterator[Table]:
    """Read a long file of CSV or JSON lines as several tables with the same columns, and any other file as one table.

    Raise ReadAtOnce, possibly after some tables, if a long file must be read with `read`.
    """
    text = LongText(file, encoding) if is_long(file) else None
    tables = _tables_of_text(text, shape, columns) if text else None
    if text is None or tables is None:
        file.seek(0)
        yield read(rest_of(file), encoding, shape, columns, on_read)
        return
    notes = _encoding_note(text.detected)
    for table in tables:
        # Report twice the bytes, because the caller halves every number (`_half` in file_delta.py).
        on_read(2 * file.tell())
        yield without_blank_columns(table._replace(notes=(*notes, *table.notes), is_piece=True))
        notes = ()


def _tables_of_text(text: LongText, shape: FileShape | None, columns: Iterable[str]) -> Iterator[Table] | None:
    """Read a long text in pieces; return None if its format or its shape requires one piece."""
    if shape is not None and (shape.aligned or shape.column_starts or shape.fill_down):
        return None
    if text.head.isspace() or text.head.startswith((b"PK\x03\x04", b"PAR1", *SIGNATURES)):
        return None
    if text.head.lstrip().startswith((b"[", b"{")) and b"\n" not in text.head:
        return None
    first = next(iter(text), b"")
    if _is_json(first, shape):
        is_by_line = first.lstrip().startswith(b"{") and (shape is None or shape.records is None)
        return _json_tables(text, shape, columns) if is_by_line else None
    if any(is_format(first) for is_format in _RECORD_FORMATS):
        return None
    return read_long_csv(iter(text), shape)


def _json_tables(text: Iterable[bytes], shape: FileShape | None, columns: Iterable[str]) -> Iterator[Table]:
    """Read one object per line. Read the text twice, because each table needs the columns of all records."""
    paths = columns_named(shape, columns) if shape else ()
    headers = list(dict.fromkeys(header for table in _tables_of_lines(text, shape, paths) for header in table.headers))
    check_width(headers)
    for table in _tables_of_lines(text, shape, paths):
        yield with_headers(table, headers)


def _tables_of_lines(text: Iterable[bytes], shape: FileShape | None, paths: Iterable[str]) -> Iterator[Table]:
    line = 1
    for piece in text:
        at = 0
        for end, records in records_in_pieces(piece, line):
            if not records or (line == 1 and at == 0 and list_of_pages([records[0][1]])):
                raise ReadAtOnce
            table = _recorded(Records(records), shape, paths)
            if len(set(table.headers)) < len(table.headers):
                raise ReadAtOnce
            lines = piece.count(b"\n", at, end) + (end == len(piece) and not piece.endswith(b"\n"))
            yield table._replace(is_by_line=len(records) == lines)
            at = end
        line += piece.count(b"\n")


def rest_of(file: BinaryIO) -> bytes:
    """Read a file to its end in one piece, and add the number of bytes to the count in `at_once`."""
    position = file.tell()
    at_once.note(file.seek(0, SEEK_END) - position)
    file.seek(position)
    return file.read()


def _encoding_note(found: str | None) -> tuple[str, ...]:
    return (f"it is read as {found}; set encoding if names look wrong",) if found else ()


def _read_text(text: bytes, shape: FileShape | None, columns: Iterable[str], on_read: OnRead) -> Table:
    paths = columns_named(shape, columns) if shape else ()
    if _is_json(text, shape):
        check_utf8(text)
        by_line = None if shape and shape.records is not None else _read_by_line(text, shape, paths, on_read)
        return by_line or _recorded(read_json(text, shape.records if shape else None), shape, paths)
    for is_format, read_format in _RECORD_FORMATS.items():
        if is_format(text):
            check_utf8(text)
            records = read_format(text.decode())
            return read_records(with_paths(records, paths, shape.ignore) if shape else records)
    source = with_header_first(text, shape)
    if not source.text or source.text.isspace():
        raise BrokenFile("the file is empty; export it again")
    return read_csv(source, merge_extra=shape is not None and shape.merge_extra_fields)


def _read_by_line(text: bytes, shape: FileShape | None, paths: Iterable[str], on_read: OnRead) -> Table | None:
    """Read one object per line, with few records in memory at a time; None if `read_json` must be used."""
    tables: list[Table] = []
    for read_bytes, records in records_in_pieces(text):
        if not records or (not tables and list_of_pages([records[0][1]])):
            return None
        tables.append(_recorded(Records(records), shape, paths))
        if len(set(tables[-1].headers)) < len(tables[-1].headers):
            return None
        on_read(read_bytes)
    headers = list(dict.fromkeys(header for table in tables for header in table.headers))
    check_width(headers)
    frame = pl.concat([with_headers(table, headers).frame for table in tables]) if tables else pl.DataFrame()
    if frame.height < 2:
        return None
    is_by_line = frame.height == text.count(b"\n") + (not text.endswith(b"\n"))
    return tables[0]._replace(headers=headers, frame=frame, is_by_line=is_by_line)


def _recorded(found: Records, shape: FileShape | None, paths: Iterable[str]) -> Table:
    records = found.records if shape is None else with_paths(found.records, paths, shape.ignore)
    return read_records(records)._replace(notes=found.notes, is_by_line=found.is_by_line, page=found.page)


def read_json_lines(text: bytes, shape: FileShape | None, columns: Iterable[str]) -> Table:
    """Read some lines of a file of JSON lines. Columns that occur only in other lines are not in the table."""
    records = records_by_line(text)
    if records is None:
        raise BrokenFile("a line is not a JSON object")
    return _recorded(Records(records, is_by_line=True), shape, columns_named(shape, columns) if shape else ())


def with_headers(table: Table, headers: list[str]) -> Table:
    """Return the table with exactly these columns, in this order; a column that it lacks is blank."""
    at = {header: str(i) for i, header in enumerate(table.headers)}
    cells = (pl.col(at[header]) if header in at else pl.lit("") for header in headers)
    frame = table.frame.select("line", *(cell.alias(str(i)) for i, cell in enumerate(cells)))
    return table._replace(headers=headers, frame=frame)


# Formats with one property per line: a function that recognizes each format, and a function that reads it.
_RECORD_FORMATS = {is_ldif: read_ldif, is_dotted_list: read_dotted_list, is_property_list: read_property_list}


def _is_json(text: bytes, shape: FileShape | None) -> bool:
    if shape and shape.records is not None:
        return True
    begin = text[:_LOOKED_AT].lstrip()
    return begin.startswith(b"{") or re.match(rb"\[\s*[\[{\]]", begin) is not None


def read_records(records: Iterable[tuple[int, Mapping[str, object]]]) -> Table:
    """Build a table from numbered records. Its columns are all names that occur in the records."""
    kept = list(records)
    headers = {name: None for _, record in kept for name in record}
    rows = ((number, [_plain(record.get(header), number) for header in headers]) for number, record in kept)
    return table_of(stripped(headers), rows)._replace(is_records=True)


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


def read_parquet(content: bytes | Path, most_rows: int | None = None) -> Table:
    try:
        frame = pl.read_parquet(content, n_rows=most_rows)
        # The cast writes dates and times in ISO format.
        texts = frame.select(pl.all().cast(pl.String).fill_null(""))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BrokenFile(f"the Parquet file cannot be read: {first_line(error)}") from None
    return _framed(stripped(texts.columns), texts)


def _read_xlsx(content: bytes, shape: FileShape | None) -> Table:
    shape = shape or FileShape()
    sheet = read_sheet(content, shape.sheet)
    table = _framed_sheet(sheet.frame, shape)
    others = ", ".join(sheet.others[:_MOST_NAMED])
    # Do not mention other sheets if the shape names one: its author knows the others.
    if not others or shape.sheet:
        return table
    note = f"only the sheet {sheet.name} is read; others have data too: {others}. Set shape.sheet to read another"
    return table._replace(notes=(note,))


def _framed_sheet(frame: pl.DataFrame, shape: FileShape) -> Table:
    if shape.headers:
        check_headers_fit(shape.headers, frame.width)
        return _framed(shape.headers, frame.slice(shape.skip_lines), offset=shape.skip_lines + 1)
    above = (shape.header_line or 1) - 1
    if above >= frame.height:
        raise BrokenFile(f"the sheet ends before line {above + 1}; set shape.headerLine to the line of the header")
    below = above + 1 + shape.skip_lines
    return without_blank_columns(_framed(stripped(frame.row(above)), frame.slice(below), offset=below + 1))


def check_headers_fit(headers: list[str], width: int) -> None:
    if len(headers) != width:
        raise BrokenFile(f"shape.headers names {len(headers)} columns, but the file has {width}; name every column")


def _framed(headers: list[str], frame: pl.DataFrame, offset: int = 1) -> Table:
    named = frame.rename({name: str(i) for i, name in enumerate(frame.columns)})
    lined = named.with_row_index("line", offset=offset)
    blank = pl.all_horizontal(pl.exclude("line").str.strip_chars() == "")
    for line, *values in lined.filter(pl.any_horizontal(pl.exclude("line").str.contains("\x00", literal=True))).rows():
        raise BrokenFile(f"there is a NUL character in {values!r:.100}", line=line)
    if frame.height and max(frame.select(pl.all().str.len_bytes().max()).row(0)) > MAX_FIELD:
        raise BrokenFile(f"a field is longer than {MAX_FIELD // MIB} MiB")
    return Table(headers, lined.filter(~blank), [], is_by_line=False)
