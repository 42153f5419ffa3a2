"""Write XLSX as a stream: a zip file with the list in the first sheet and the manifest in the last."""

import hashlib
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from io import RawIOBase
from typing import IO, Any
from xml.sax.saxutils import escape

import msgspec

from rolecall.core.formats.columns import Column, ColumnType, cells
from rolecall.core.formats.manifest import ExportManifest
from rolecall.core.formats.spreadsheets import harmless

# The row limit of a sheet, without the header row.
MOST_ROWS = 1_048_575
_LONGEST_TEXT = 32_767
_FIRST_DAY = datetime(1899, 12, 30, tzinfo=UTC)
# Excel treats 1900 as a leap year, so it would show dates before March 1900 one day off; write them as text.
_FIRST_COUNTED = datetime(1900, 3, 1, tzinfo=UTC)
_DAY = 86_400
# Characters that XML does not allow or would change, and text that spreadsheets would read as an escape sequence.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff\r]|_(?=x[0-9A-Fa-f]{4}_)")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet2.xml" ContentType="{_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1"'
    f' Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}"><sheets>'
    '<sheet name="List" sheetId="1" r:id="rId1"/><sheet name="Manifest" sheetId="2" r:id="rId2"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet2.xml"/>'
    f'<Relationship Id="rId3" Type="{_RELATIONS}/styles" Target="styles.xml"/></Relationships>',
    # Style 1 is a time, style 2 a date, style 3 a header.
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><numFmts count="2">'
    '<numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd"/></numFmts>'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>'
    '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}
_SHEET = f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>'
_SHEET_END = "</sheetData></worksheet>"


class XlsxFile:
    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._written = _XlsxSink()
        self._zip = zipfile.ZipFile(self._written, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        for name, content in _PARTS.items():
            self._zip.writestr(name, _XML + content)
        self._sheet: IO[bytes] = self._zip.open("xl/worksheets/sheet1.xml", "w", force_zip64=True)
        self._digest = hashlib.sha256()
        self._write(_SHEET + _row(_text(column.name, style=3) for column in columns))

    def feed(self, items: Sequence[Any]) -> bytes:
        by_column = [
            _cells(values, column.type)
            for column, values in zip(self._columns, cells(items, self._columns).values(), strict=True)
        ]
        self._write("".join(map(_row, zip(*by_column, strict=True))))
        return self._written.take()

    def end(self, manifest: ExportManifest) -> bytes:
        self._write(_SHEET_END)
        self._sheet.close()
        rows = "".join(_row(map(_text, row)) for row in _described(manifest, self._digest.hexdigest()))
        self._zip.writestr("xl/worksheets/sheet2.xml", _SHEET + rows + _SHEET_END)
        self._zip.close()
        return self._written.take()

    def close(self) -> None:
        self._sheet.close()
        self._zip.close()

    def _write(self, text: str) -> None:
        content = text.encode()
        self._digest.update(content)
        self._sheet.write(content)


def _described(manifest: ExportManifest, digest: str) -> Iterator[tuple[str, str]]:
    yield "Export", str(manifest.id)
    yield "List", manifest.list
    yield "Filters", msgspec.json.encode(manifest.filters).decode()
    yield "Exported by", manifest.created_by
    yield "Exported on", f"{manifest.started_on:%Y-%m-%dT%H:%M:%SZ}"
    yield "Rows", str(manifest.row_count)
    for application, first in manifest.no_data_before.items():
        yield f"No data about {application} before", f"{first:%Y-%m-%dT%H:%M:%SZ}"
    # A file cannot contain its own checksum; the checksum of the whole file is in the export's record.
    yield "SHA-256 of xl/worksheets/sheet1.xml", digest


def _row(texts: Iterable[str]) -> str:
    return f"<row>{''.join(texts)}</row>"


def _cells(values: Sequence[Any], type: ColumnType) -> list[str]:
    write = _WRITERS[type]
    return ["<c/>" if value is None else write(value) for value in values]


def _text(value: str, style: int = 0) -> str:
    written = escape(_UNWRITABLE.sub(_escaped, harmless(_shortened(value))))
    return f'<c t="inlineStr" s="{style}"><is><t xml:space="preserve">{written}</t></is></c>'


def _shortened(value: str) -> str:
    """Cut text to the limit of a cell, which spreadsheets count in UTF-16 code units."""
    # Avoid encoding short strings: a character has at most two code units.
    if len(value) * 2 < _LONGEST_TEXT:
        return value
    units = value.encode("utf-16-le")
    if len(units) < _LONGEST_TEXT * 2:
        return value
    # Leave room for the ellipsis, and for the apostrophe that `harmless` may add.
    return units[: (_LONGEST_TEXT - 2) * 2].decode("utf-16-le", "ignore") + "…"


def _escaped(found: re.Match[str]) -> str:
    return f"_x{ord(found[0]):04X}_"


def _time(text: str) -> str:
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if moment < _FIRST_COUNTED:
        return _text(text)
    days = (moment - _FIRST_DAY).total_seconds() / _DAY
    return f'<c s="{1 if "T" in text else 2}"><v>{days:.9f}</v></c>'


_WRITERS = {
    ColumnType.TEXT: _text,
    ColumnType.CODE: _text,
    ColumnType.JSON: _text,
    ColumnType.INTEGER: lambda value: f"<c><v>{value}</v></c>",
    ColumnType.NUMBER: lambda value: f"<c><v>{value!r}</v></c>",
    ColumnType.BOOLEAN: lambda value: f'<c t="b"><v>{value:d}</v></c>',
    ColumnType.TIME: _time,
    ColumnType.DATE: _time,
}


class _XlsxSink(RawIOBase):
    """A write buffer without `seek`, so that zipfile streams its output."""

    def __init__(self) -> None:
        self._pieces = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self._pieces += piece
        return len(piece)

    def take(self) -> bytes:
        taken = bytes(self._pieces)
        self._pieces.clear()
        return taken
