"""Read the files of one group into a `FileDelta`, the result of this stage.

A delta holds all rows of the files, or only the rows of lines that were added and removed since the previous files.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from rolecall.application_imports.connectors import Reader
from rolecall.application_imports.model import RejectedRow
from rolecall.application_imports.read import csv_text, formats, hints, lines, rows, shaping
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.columns import header_below, lay_out
from rolecall.application_imports.read.csv_text import OnRead, ignore
from rolecall.application_imports.read.header_lines import CsvText, with_header_first
from rolecall.application_imports.read.json_pages import PageSigns, missing_pages
from rolecall.application_imports.read.rows import FileRows, RejectedLine
from rolecall.application_imports.read.sources import ContentSource, InputFile, InputGroup
from rolecall.application_imports.read.table import Table, table_of, without_blank_columns
from rolecall.applications.file_shape import FileShape
from rolecall.applications.model import FIELDS, NEVER_EMPTY, Content
from rolecall.core.files import Store


class Doubt(NamedTuple):
    """The reason why changed lines alone are ambiguous; the files of the content must be read completely."""

    content: Content
    reason: str


class FileDelta:
    """Rows of the files of a group: all of them, or the added ones in `after` and the removed ones in `removed`."""

    def __init__(
        self, group: InputGroup, files: Sequence[InputFile], read: FileRows, removed: pl.DataFrame | None
    ) -> None:
        self.group = group
        self.content = group.content
        self.files = files
        self.after = read.frame
        self.columns = read.columns
        self.removed = removed
        self.rejects = read.rejects
        self.repeats = read.repeats
        self.is_by_line = read.is_by_line
        self.notes = read.notes
        self.rows = [0] * len(files)
        # The columns of a file of JSON lines.
        self.headers: list[str] = []
        self.tables: list[Table] = []
        # The reason why the files are not the whole list.
        self.missing: str | None = None

    @property
    def is_whole(self) -> bool:
        return self.removed is None

    def note_missing(self, pages: Sequence[PageSigns]) -> None:
        """Note that the files are not the whole list, if their totals or page links show it."""
        if missing := missing_pages(pages):
            names = ", ".join(file.name for file in self.files)
            self.missing = f"{names}: it looks like one page of several, because {missing}"
            advice = "export all pages: records that are missing from the files are removed"
            self.notes = (*self.notes, f"{self.missing}; {advice}")

    def mentioned(self, *columns: str) -> pl.DataFrame:
        frames = [self.after] if self.removed is None else [self.after, self.removed]
        return pl.concat([frame.select(columns) for frame in frames]).unique()

    def reject(self, bad: pl.DataFrame, reason: str) -> Doubt | None:
        """Set rows aside; `{}` in the reason is the row's username. Rejects are shown only for whole files."""
        if not self.is_whole:
            return Doubt(self.content, reason)
        found = bad.select("file", "line", "username").rows()
        self.rejects += [RejectedLine(file, line, reason.format(username)) for file, line, username in found]
        # One line can yield several rows; remove only the bad ones.
        self.after = self.after.join(bad, on=["file", "line", *rows.KEYS[self.content]], how="anti")
        return None

    def check_rejects(self) -> None:
        """Fail on a malformed row unless the connector allows rejects."""
        if not self.rejects or self.group.allow_rejects:
            return
        first = min(self.rejects)
        more = f" (and {len(self.rejects) - 1:,} more malformed rows)" if len(self.rejects) > 1 else ""
        raise BrokenFile(f"{first.reason}{more}", line=first.line, file=self.files[first.file].name)

    def rejected_rows(self, store: Store, reader: Reader | None) -> list[RejectedRow]:
        """Return rejected rows with the texts that the file has for them; read the files again if necessary."""
        texts: dict[tuple[int, int], list[str]] = {}
        tables = self.tables or [_table(self.group, store.read(file.location), reader) for file in self._with_rejects()]
        for i, table in enumerate(tables):
            texts |= {(i, ragged.line): ragged.row for ragged in table.ragged}
            at = [reject.line for reject in self.rejects if reject.file == i]
            for line, *row in (
                table.frame.filter(pl.col("line").is_in(at)).select("line", pl.exclude("line")).iter_rows()
            ):
                texts[i, line] = row
        return [
            RejectedRow(self.files[reject.file].id, reject.line, reject.reason, texts.get(reject[:2], []))
            for reject in sorted(self.rejects)
        ]

    def _with_rejects(self) -> Sequence[InputFile]:
        return self.files if self.rejects else []


FileDeltas = Mapping[Content, FileDelta]


def read_whole(
    group: InputGroup,
    files: Sequence[InputFile],
    store: Store,
    zone: ZoneInfo,
    reader: Reader | None,
    on_read: OnRead = ignore,
) -> FileDelta:
    """Read all rows; `on_read` gets the bytes read so far: half of a file when parsed, all when its rows are built."""
    tables, parts, rows_read, before = [], [], [], 0
    headers: list[str] = []
    pages: list[PageSigns] = []
    for file in files:
        try:
            raw = _table(group, store.read(file.location), reader, _half(on_read, before))
            on_read(before + file.size // 2)
            # Each file of records has columns of its own, so several are not compared by line.
            raw = raw._replace(is_by_line=False) if raw.is_records and len(files) > 1 else raw
            table, part = _shaped_rows(group, raw, zone)
            before += file.size
            on_read(before)
            _check_has_rows(group.content, table)
        except BrokenFile as broken:
            broken.file = file.name
            raise
        pages += [table.page] if table.page else []
        rows_read.append(table.frame.height + len(table.ragged))
        headers = raw.headers if raw.is_records and raw.is_by_line else []
        notes = (*table.notes, *hints.hints(group, table), *part.notes)
        parts.append(part._replace(notes=tuple(f"{file.name}: {note}" for note in notes)))
        # Rejected rows are shown with their original text. Where they are not allowed, free the table: it may be large.
        if group.allow_rejects:
            tables.append(raw)
        del table, raw
    delta = FileDelta(group, files, rows.merge_files(group.content, parts), None)
    delta.tables, delta.rows, delta.headers = tables, rows_read, headers
    delta.note_missing(pages)
    return delta


def _half(on_read: OnRead, before: int) -> OnRead:
    """Report half of the bytes of a file, after those of the previous files."""
    return lambda read: on_read(before + read // 2)


def _shaped_rows(group: InputGroup, raw: Table, zone: ZoneInfo) -> tuple[Table, FileRows]:
    try:
        table = _shaped(group, raw)
        return table, _rows(group, table, zone)
    except BrokenFile as broken:
        if broken.line == 1 and (line := header_below(group.content, raw, group.columns)):
            broken.message += f". But line {line} looks like the header; set shape.headerLine: {line}"
        raise


def _without_records(group: InputGroup) -> Table:
    """Return the table of an empty list of records, with a column for each field."""
    unmapped = [field for field in FIELDS[group.content] if field not in group.columns.values()]
    return table_of([*group.columns, *unmapped], [])._replace(is_records=True)


def _table(group: InputGroup, content: bytes, reader: Reader | None, on_read: OnRead = ignore) -> Table:
    if reader is None:
        table = formats.read(content, group.encoding, group.shape, group.columns, on_read)
    else:
        table = formats.read_records(enumerate(reader(content, group.content), 1))
    return table if table.headers or not table.is_records else _without_records(group)


def _shaped(group: InputGroup, table: Table) -> Table:
    if group.shape is None:
        return table
    # Derived users come from the rows of permissions.
    content = Content.PERMISSIONS if group.is_derived else group.content
    made = shaping.shaped(table, group.shape, group.columns, content)
    if not group.is_derived:
        return made
    mapping = {header: field for header, field in group.columns.items() if field == "Username"}
    layout = lay_out(Content.USERS, made.headers, mapping, group.shape, _username(made))
    return shaping.derived_users(made, layout.fields["Username"])


def _username(table: Table) -> dict[str, int]:
    return {field: place for field, place in table.made.items() if field == "Username"}


def _rows(group: InputGroup, table: Table, zone: ZoneInfo) -> FileRows:
    shape = FileShape() if group.is_derived else group.shape
    layout = lay_out(group.content, table.headers, {} if group.is_derived else group.columns, shape, table.made)
    read = rows.parse_rows(group.content, table, layout, zone, FIELDS[group.content], shape)
    if not layout.secret:
        return read
    named = ", ".join(layout.secret)
    note = f"{named} looks like a secret and is not kept; name it in shape.keep to keep it"
    return read._replace(notes=(*read.notes, note))


def _check_has_rows(content: Content, table: Table) -> None:
    """Refuse an export without people or users as broken; groups and permissions may be empty."""
    if content in NEVER_EMPTY and not table.frame.height and not table.ragged:
        raise BrokenFile("the list of records is empty" if table.is_records else "there is a header but no row")


def read_lines(
    group: InputGroup, files: Sequence[InputFile], source: ContentSource, store: Store, zone: ZoneInfo
) -> FileDelta | None:
    """Read the lines that differ from the files of `source`; None if all lines must be read."""
    try:
        old = [_text_of(group, store.read(location)) for location in source.locations]
        new = [_text_of(group, store.read(file.location)) for file in files]
        read = _changed_records if source.headers else _changed_rows
        found = read(group, old, new, source.headers, zone)
    except (BrokenFile, FileNotFoundError, pl.exceptions.PolarsError):
        return None
    if found is None or not all(found.rows):
        return None
    added, removed = found.added, found.removed
    if added.rejects or added.repeats or removed.rejects or not (added.is_by_line and removed.is_by_line):
        return None
    delta = FileDelta(group, files, added, removed.frame)
    delta.rows, delta.headers = found.rows, source.headers
    return delta


class ChangedRows(NamedTuple):
    added: FileRows
    removed: FileRows
    rows: list[int]


def _changed_rows(
    group: InputGroup, old: Sequence[bytes], new: Sequence[bytes], _: list[str], zone: ZoneInfo
) -> ChangedRows | None:
    before = [with_header_first(text, group.shape) for text in old]
    after = [with_header_first(text, group.shape) for text in new]
    found = lines.changed_lines([text for text, *_ in before], [text for text, *_ in after])
    if found is None:
        return None
    delimiter = after[0].delimiter
    added = rows.merge_files(group.content, [_rows_of(group, text, delimiter, zone) for text in found.added])
    return ChangedRows(added, _rows_of(group, found.removed, delimiter, zone), found.rows)


def _changed_records(
    group: InputGroup, old: Sequence[bytes], new: Sequence[bytes], headers: list[str], zone: ZoneInfo
) -> ChangedRows | None:
    """Read changed JSON lines; None unless the new file has the same columns as the old one."""
    if len(old) != 1 or len(new) != 1:
        return None
    found = lines.changed_records(old[0], new[0])
    if found is None:
        return None
    tables = [formats.read_json_lines(text, group.shape, group.columns) for text in (found.added[0], found.removed)]
    added_headers, removed_headers = (set(table.headers) for table in tables)
    # Otherwise the columns of the whole file may have changed.
    if not removed_headers <= added_headers <= set(headers):
        return None
    added, removed = (_rows(group, _shaped(group, formats.with_headers(each, headers)), zone) for each in tables)
    return ChangedRows(rows.merge_files(group.content, [added]), removed, found.rows)


def _text_of(group: InputGroup, content: bytes) -> bytes:
    return csv_text.decode(content, group.encoding, is_exact=True).text


def _rows_of(group: InputGroup, text: bytes, delimiter: str | None, zone: ZoneInfo) -> FileRows:
    table = without_blank_columns(csv_text.read_csv(CsvText(text, delimiter)))
    return _rows(group, _shaped(group, table), zone)


def read_sample(group: InputGroup, content: bytes, zone: ZoneInfo) -> FileRows:
    """Read the beginning of a file, to show how it is understood."""
    return _shaped_rows(group, _table(group, content, None), zone)[1]
