"""Read a sheet of an XLSX workbook, and find which other sheets have data."""

import io
import re
import zipfile
import zlib
from typing import NamedTuple
from xml.sax.saxutils import unescape

import fastexcel
import polars as pl

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.sheet_cells import SheetScan, with_error_texts
from rolecall.application_imports.read.table import MIB

MAX_INFLATED = 512 * MIB
MAX_INFLATION = 100
_WORKBOOK = "xl/workbook.xml"
_RELATIONS = "xl/_rels/workbook.xml.rels"
_MOST_NAMED = 10
_SHEET = re.compile(r"<(?:\w{1,20}:)?sheet\s([^<>]*)>")
_RELATION = re.compile(r"<(?:\w{1,20}:)?Relationship\s([^<>]*)>")
_ATTRIBUTE = re.compile(r"([\w:]{1,40})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


class Sheet(NamedTuple):
    """A sheet of a workbook: all its lines, including the header, and the names of other sheets that have data."""

    name: str
    frame: pl.DataFrame
    others: list[str]


def read_sheet(content: bytes, name: str | None = None) -> Sheet:
    """Read the sheet with this name, or the first sheet."""
    names, members = _members(content)
    if name is not None and name not in names:
        raise BrokenFile(f"there is no sheet {name}; shape.sheet may be {', '.join(list(names)[:_MOST_NAMED])}")
    chosen = name if name is not None else next(iter(names), None)
    path = names.get(chosen or "", "")
    if (scan := members.get(path)) is not None:
        scan.check()
        content = with_error_texts(content, path) if scan.has_errors else content
    workbook, frame = _loaded(content, chosen or 0)
    if not frame.height:
        raise BrokenFile(f"the sheet {chosen} is empty" if name else "the first sheet is empty")
    others = [each for each, path in names.items() if each != chosen and path in members and members[path].has_rows]
    return Sheet(chosen or workbook.sheet_names[0], frame, others)


def _loaded(content: bytes, sheet: str | int) -> tuple[fastexcel.ExcelReader, pl.DataFrame]:
    try:
        workbook = fastexcel.read_excel(content)
        frame = workbook.load_sheet(sheet, header_row=None, dtypes="string").to_polars()
        return workbook, frame.select(pl.all().fill_null(""))
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, ValueError) as error:
        raise BrokenFile(f"the XLSX file cannot be read: {first_line(error)}") from None
    except BaseException as error:
        # The reader is written in Rust; its panics do not derive from Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise BrokenFile(f"the XLSX file cannot be read: {first_line(error)}; save it again, or as CSV") from None


def _members(content: bytes) -> tuple[dict[str, str], dict[str, SheetScan]]:
    """Return a map from the names of sheets to their paths, and a map from the paths to scans.

    Refuse zip bombs by inflating in pieces: the sizes that an archive declares cannot be trusted.
    """
    inflated = 0
    limit = min(MAX_INFLATED, max(MAX_INFLATION * len(content), MIB))
    found: dict[str, SheetScan] = {}
    texts = {_WORKBOOK: b"", _RELATIONS: b""}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_workbook(archive.namelist())
            for member in archive.infolist():
                if member.filename.startswith("xl/worksheets/"):
                    found[member.filename] = SheetScan()
                with archive.open(member) as file:
                    while piece := file.read(MIB):
                        inflated += len(piece)
                        if inflated > limit:
                            raise BrokenFile(f"the XLSX file inflates to more than {limit // MIB} MiB; save it as CSV")
                        if member.filename in texts:
                            texts[member.filename] += piece
                        if member.filename in found:
                            found[member.filename].add(piece)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise BrokenFile(f"the XLSX file is damaged or cut short: {first_line(error)}") from None
    return _paths(texts), found


def _paths(texts: dict[str, bytes]) -> dict[str, str]:
    """Return a map from the names of sheets to their paths, in the order of the workbook."""
    targets = {}
    for relation in _RELATION.findall(texts[_RELATIONS].decode(errors="replace")):
        values = _attributes(relation)
        target = values.get("Target", "")
        targets[values.get("Id", "")] = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
    found = {}
    for sheet in _SHEET.findall(texts[_WORKBOOK].decode(errors="replace")):
        values = _attributes(sheet)
        id = next((value for name, value in values.items() if name.endswith(":id")), "")
        found[values.get("name", "")] = targets.get(id, "")
    return found


def _attributes(text: str) -> dict[str, str]:
    entities = {"&quot;": '"', "&apos;": "'"}
    return {name: unescape(quoted or single, entities) for name, quoted, single in _ATTRIBUTE.findall(text)}


def _check_workbook(names: list[str]) -> None:
    """Reject a ZIP archive that is not a workbook."""
    if not any(name.startswith("xl/") for name in names):
        inside = ", ".join(names[:3]) or "nothing"
        raise BrokenFile(f"the file is a ZIP archive with {inside} inside; unpack it and send the file inside")


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or ["no reason given"])[0]
