"""Find the sheets of a workbook that have tables."""

import io
import zipfile

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.sheets import Sheet, read_sheet
from rolecall.file_shapes.tables.headers import known_words, lay_out_rows
from rolecall.file_shapes.tables.sample import MOST_WHOLE, Sample
from rolecall.file_shapes.tables.sample_table import MOST_ROWS, Decided, SampleTable, Unreadable, joined

_LAST_ROWS = 12
_WORKBOOK = "xl/workbook.xml"
_MOST_SHEETS = 8


def read_workbook(sample: Sample, decided: Decided) -> list[SampleTable]:
    """Return the chosen sheet, or else that with the most known headers, then the others. Read at most eight sheets."""
    if sample.size > MOST_WHOLE:
        raise Unreadable(f"the archive is larger than {MOST_WHOLE // 1024**2} MiB; export the data as CSV")
    content = sample.whole()
    _check_archive(content)
    try:
        first = read_sheet(content, decided.sheet)
    except BrokenFile as error:
        raise Unreadable(str(error)) from None
    names = [first.name, *first.others]
    found, problems = [], []
    for name in names[:_MOST_SHEETS]:
        try:
            sheet = first if name == first.name else read_sheet(content, name)
            found.append(_table(sheet, decided.header_line if name == first.name else None))
        except (BrokenFile, Unreadable) as error:
            problems.append(str(error))
            if name == decided.sheet:
                break
    if not found or (decided.sheet and found[0].sheet != decided.sheet):
        raise Unreadable(problems[0])
    if not decided.sheet:
        # Sheets that have only titles or instructions have no known headers.
        best = max(found, key=lambda each: (_known(each), len(each.rows) > 0))
        found = [best, *(each for each in found if each is not best)]
    return _named(found, names)


def _named(found: list[SampleTable], names: list[str]) -> list[SampleTable]:
    """Add the names of all sheets to each table. Drop the name of a single sheet: the shape does not need it."""
    for each in found:
        each.evidence = [f"The sheet {each.sheet} of an XLSX file", *each.evidence]
        each.sheets = names
        if len(names) == 1:
            each.sheet = None
    return found


def _known(found: SampleTable) -> int:
    return known_words(found.headers) if found.rows and found.header_line is not None else 0


def _table(sheet: Sheet, header_line: int | None) -> SampleTable:
    rows = [list(map(str.strip, row)) for row in sheet.frame.head(MOST_ROWS).rows()]
    last = [list(map(str.strip, row)) for row in sheet.frame.tail(_LAST_ROWS).rows()]
    numbered = [(line, row) for line, row in enumerate(rows, 1) if any(row)]
    found = lay_out_rows("XLSX", numbered, last, header_line)
    found.merges, found.raw, found.sheet = False, joined(rows), sheet.name
    return found


def _check_archive(content: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        raise Unreadable(f"the file is a damaged archive: {error}") from None
    if _WORKBOOK not in names:
        inside = ", ".join(names[:3])
        raise Unreadable(f"the file is a zip archive with {inside}; unpack it and choose the file inside")
