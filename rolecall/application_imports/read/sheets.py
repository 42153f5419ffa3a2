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
from rolecall.application_imports.read.table import MIB

MAX_INFLATED = 512 * MIB
MAX_INFLATION = 100
_WORKBOOK = "xl/workbook.xml"
_RELATIONS = "xl/_rels/workbook.xml.rels"
_MOST_NAMED = 10
_SHEET = re.compile(r"<(?:\w{1,20}:)?sheet\s([^<>]*)>")
_RELATION = re.compile(r"<(?:\w{1,20}:)?Relationship\s([^<>]*)>")
_ATTRIBUTE = re.compile(r"([\w:]{1,40})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
# A formula without a cached value: the program that wrote the file never computed it.
_UNCOMPUTED = re.compile(rb'<c r="([A-Z]+)(\d+)"[^<>]*><f[^<>]*(?:/>|>[^<]*</f>)(?:<v\s*/>|<v></v>)?</c>')


class Sheet(NamedTuple):
    """A sheet of a workbook, header included, and the names of other sheets that have data."""

    name: str
    frame: pl.DataFrame
    others: list[str]


class _Member(NamedTuple):
    """A sheet as a file of the archive."""

    has_rows: bool
    # The first cell with a formula that was not computed, as column and line.
    uncomputed: tuple[str, int] | None


def read_sheet(content: bytes, name: str | None = None) -> Sheet:
    """Read the sheet with this name, or the first."""
    names, members = _members(content)
    if name is not None and name not in names:
        raise BrokenFile(f"there is no sheet {name}; shape.sheet may be {', '.join(list(names)[:_MOST_NAMED])}")
    chosen = name if name is not None else next(iter(names), None)
    member = members.get(names.get(chosen or "", ""))
    if member and member.uncomputed:
        cell, line = member.uncomputed
        raise BrokenFile(f"cell {cell}{line} holds a formula without a value", line=line)
    try:
        workbook = fastexcel.read_excel(content)
        frame = _loaded(workbook, chosen or 0)
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, ValueError) as error:
        raise BrokenFile(f"the XLSX file cannot be read: {first_line(error)}") from None
    if not frame.height:
        raise BrokenFile(f"the sheet {chosen} is empty" if name else "the first sheet is empty")
    others = [each for each, path in names.items() if each != chosen and path in members and members[path].has_rows]
    return Sheet(chosen or workbook.sheet_names[0], frame, others)


def _loaded(workbook: fastexcel.ExcelReader, sheet: str | int) -> pl.DataFrame:
    return workbook.load_sheet(sheet, header_row=None, dtypes="string").to_polars().select(pl.all().fill_null(""))


def _members(content: bytes) -> tuple[dict[str, str], dict[str, _Member]]:
    """Return the paths of sheets by name, and what each path has.

    Refuse zip bombs by inflating in pieces: the sizes that an archive declares cannot be trusted.
    """
    inflated = 0
    limit = min(MAX_INFLATED, max(MAX_INFLATION * len(content), MIB))
    found: dict[str, _Member] = {}
    texts = {_WORKBOOK: b"", _RELATIONS: b""}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_workbook(archive.namelist())
            for member in archive.infolist():
                with archive.open(member) as file:
                    rest, has_rows, uncomputed = b"", False, None
                    is_sheet = member.filename.startswith("xl/worksheets/")
                    while piece := file.read(MIB):
                        inflated += len(piece)
                        if inflated > limit:
                            raise BrokenFile(f"the XLSX file inflates to more than {limit // MIB} MiB; it is refused")
                        if member.filename in texts:
                            texts[member.filename] += piece
                        if is_sheet:
                            joined = rest + piece
                            has_rows = has_rows or b"<c " in joined
                            if uncomputed is None and (cell := _UNCOMPUTED.search(joined)):
                                uncomputed = cell[1].decode(), int(cell[2])
                            rest = piece[-4096:]
                    if is_sheet:
                        found[member.filename] = _Member(has_rows, uncomputed)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise BrokenFile(f"the XLSX file is damaged or cut short: {first_line(error)}") from None
    return _paths(texts), found


def _paths(texts: dict[str, bytes]) -> dict[str, str]:
    """Return the path of each sheet by its name, in the order of the workbook."""
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
