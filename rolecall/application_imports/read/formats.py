"""Parse a file into a table of text. The content decides about the format, not the name of the file."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping

import fastexcel
import msgspec
import polars as pl

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.csv_text import check_utf8, decode, read_csv
from rolecall.application_imports.read.table import MAX_FIELD, MIB, Table, stripped, table_of

MAX_INFLATED = 512 * MIB
MAX_INFLATION = 100
_FIRST_SHEET = "xl/worksheets/sheet1.xml"

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


def _read_json_lines(text: bytes) -> Table:
    check_utf8(text)
    return read_records(_records(text))


def _records(text: bytes) -> Iterator[tuple[int, dict[str, object]]]:
    for number, line in enumerate(text.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, msgspec.json.decode(line, type=dict[str, object])
            except (msgspec.DecodeError, RecursionError):
                raise BrokenFile("this line is not a JSON object", line=number) from None


def read_records(records: Iterable[tuple[int, Mapping[str, object]]]) -> Table:
    """Build a table from numbered records; its columns are all names that occur in them."""
    kept = list(records)
    headers = {name: None for _, record in kept for name in record}
    rows = ((number, [_plain(record.get(header), number) for header in headers]) for number, record in kept)
    return table_of(stripped(headers), rows)


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
        # The cast writes dates and times in ISO format.
        texts = frame.select(pl.all().cast(pl.String).fill_null(""))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BrokenFile(f"the Parquet file cannot be read: {_first_line(error)}") from None
    return _framed(stripped(texts.columns), texts)


def _read_xlsx(content: bytes) -> Table:
    _check_inflation(content)
    try:
        sheet = fastexcel.read_excel(content).load_sheet(0, header_row=None, dtypes="string")
        frame = sheet.to_polars().select(pl.all().fill_null(""))
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, ValueError) as error:
        raise BrokenFile(f"the XLSX file cannot be read: {_first_line(error)}") from None
    if not frame.height:
        raise BrokenFile("the first sheet is empty")
    return _framed(stripped(frame.row(0)), frame.slice(1), offset=2)


def _framed(headers: list[str], frame: pl.DataFrame, offset: int = 1) -> Table:
    named = frame.rename({name: str(i) for i, name in enumerate(frame.columns)})
    lined = named.with_row_index("line", offset=offset)
    blank = pl.all_horizontal(pl.exclude("line").str.strip_chars() == "")
    for line, *values in lined.filter(pl.any_horizontal(pl.exclude("line").str.contains("\x00", literal=True))).rows():
        raise BrokenFile(f"there is a NUL character in {values!r:.100}", line=line)
    if frame.height and max(frame.select(pl.all().str.len_bytes().max()).row(0)) > MAX_FIELD:
        raise BrokenFile(f"a field is longer than {MAX_FIELD // MIB} MiB")
    return Table(headers, lined.filter(~blank), [], is_by_line=False)


# A formula without a cached value: the program that wrote the file never computed it.
_UNCOMPUTED = re.compile(rb'<c r="([A-Z]+)(\d+)"[^<>]*><f[^<>]*(?:/>|>[^<]*</f>)(?:<v\s*/>|<v></v>)?</c>')


def _check_inflation(content: bytes) -> None:
    """Refuse zip bombs by inflating in pieces; the sizes that an archive declares cannot be trusted."""
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
                        if member.filename == _FIRST_SHEET:
                            if cell := _UNCOMPUTED.search(rest + piece):
                                name = (cell[1] + cell[2]).decode()
                                raise BrokenFile(f"cell {name} holds a formula without a value", line=int(cell[2]))
                            rest = piece[-4096:]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise BrokenFile(f"the XLSX file is damaged or cut short: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or ["no reason given"])[0]
