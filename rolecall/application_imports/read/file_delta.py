"""Read the files of one file group into a `FileDelta`, the result of reading.

A `FileDelta` has all rows of the files, or only the rows of lines that were added or removed since the previous files.
For large files, the rows are divided into parts (`read/parts.py`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from rolecall.application_imports.connectors import Reader
from rolecall.application_imports.model import ContentReading, RejectedRow
from rolecall.application_imports.read import csv_text, formats, hints, lines, rows, shaping
from rolecall.application_imports.read.accounting import FileAccount, add_rows, reading_of, seen_columns
from rolecall.application_imports.read.broken_file import BrokenFile, ReadAtOnce
from rolecall.application_imports.read.columns import header_below, lay_out, require_states
from rolecall.application_imports.read.csv_text import OnRead, ignore
from rolecall.application_imports.read.header_lines import CsvText
from rolecall.application_imports.read.json_pages import PageSigns, missing_pages
from rolecall.application_imports.read.lines import ChangedLines, LineFile
from rolecall.application_imports.read.parts import ONE_PART, Parting, RowParts
from rolecall.application_imports.read.row_warnings import row_warnings
from rolecall.application_imports.read.rows import Collector, FileRows, GroupRows, RejectedLine
from rolecall.application_imports.read.secret_headers import hidden_columns
from rolecall.application_imports.read.sources import ContentSource, InputFile, InputGroup
from rolecall.application_imports.read.statements import ReadTable, statements
from rolecall.application_imports.read.table import Table, shown_rows, table_of, without_blank_columns
from rolecall.applications.file_shape import FileShape
from rolecall.applications.model import FIELDS, NEVER_EMPTY, Content
from rolecall.core.files import Store
from rolecall.core.text import counted


class Doubt(NamedTuple):
    """The reason why changed lines are not enough to compare a content, so its files must be read completely."""

    content: Content
    reason: str


class FileDelta:
    """The rows of a file group.

    Without `removed`, `after` has all rows; otherwise it has the added rows, and `removed` has the removed ones.
    """

    def __init__(
        self, group: InputGroup, files: Sequence[InputFile], read: GroupRows, removed: RowParts | None = None
    ) -> None:
        self.group = group
        self.content = group.content
        self.files = files
        self.after = read.rows
        self.columns = read.columns
        self.removed = removed
        self.rejects = read.rejects
        self._malformed = len(read.rejects)
        # For each username that is not among the users: the number of its rejected rows.
        self.unlisted = Counter[str]()
        self.repeats = read.repeats
        self.is_by_line = read.is_by_line
        self.notes = read.notes
        self.rows = [0] * len(files)
        # The columns, if the file consists of JSON lines.
        self.headers: list[str] = []
        # The tables of files that were read in one piece. They are kept if rejects are allowed, to show rejected rows.
        self.tables: dict[int, Table] = {}
        # Whether all files were read in one piece each, because a long one could not be read in several.
        self.is_at_once = False
        # Why the files seem to be only some pages of a list; None if they seem to be complete.
        self.missing: str | None = None
        # What becomes of the columns and rows of each file, if the files were read completely.
        self.accounts: list[FileAccount] = []

    @property
    def is_whole(self) -> bool:
        return self.removed is None

    @property
    def heights(self) -> list[int]:
        """Return the number of rows in each part, including removed rows."""
        removed = self.removed.heights if self.removed else [0] * len(self.after.heights)
        return [sum(pair) for pair in zip(self.after.heights, removed, strict=True)]

    @property
    def column_names(self) -> list[str]:
        """Return the columns of all files; empty if only changed lines were read or another content lists them."""
        return list(dict.fromkeys(column.header for account in self.accounts for column in account.columns))

    def readings(self) -> list[ContentReading]:
        """Return how the rows of each file were read; empty for derived users, or if only changed lines were read."""
        if self.group.is_derived:
            return []
        lines = {i: [reject.line for reject in self.rejects if reject.file == i] for i in range(len(self.files))}
        files = enumerate(zip(self.files, self.accounts, strict=False))
        return [reading_of(file.name, self.content, account, lines[i]) for i, (file, account) in files]

    def part(self, *numbers: int) -> "DeltaPart":
        """Return the rows of the parts with these numbers. Omit the numbers if the delta has only one part."""
        parts = numbers or (0,)
        return DeltaPart(self, self.after.part(*parts), self.removed.part(*parts) if self.removed else None)

    def compare_again(self) -> None:
        """Forget the rows that a comparison rejected, so that the comparison can be repeated."""
        del self.rejects[self._malformed :]
        self.unlisted.clear()

    def note_missing(self, pages: Sequence[PageSigns]) -> None:
        """Record why pages of the list seem to be missing, if totals or page links indicate it."""
        if missing := missing_pages(pages):
            names = ", ".join(file.name for file in self.files)
            self.missing = f"{names}: it looks like one page of several, because {missing}"
            advice = "export all pages: records that are missing from the files are removed"
            self.notes = (*self.notes, f"{self.missing}; {advice}")

    def check_rejects(self) -> None:
        """Fail on a rejected row unless the file group allows rejects."""
        if not self.rejects or self.group.allow_rejects:
            return
        first = min(self.rejects)
        more = f" (and {counted(len(self.rejects) - 1, 'more malformed row')})" if len(self.rejects) > 1 else ""
        raise BrokenFile(f"{first.reason}{more}", line=first.line, file=self.files[first.file].name)

    def rejected_rows(self, store: Store, reader: Reader | None) -> list[RejectedRow]:
        """Return rejected rows with their text, but without secrets; read the files again if necessary."""
        texts: dict[tuple[int, int], list[str]] = {}
        for i in {reject.file for reject in self.rejects}:
            at = [reject.line for reject in self.rejects if reject.file == i]
            known = self.tables.get(i)
            again = partial(_tables, self.group, self.files[i], store, reader, at_once=self.is_at_once)
            for table in [known] if known else again():
                hidden = hidden_columns(table.headers, self.group.columns, self.group.shape)
                texts |= {(i, line): row for line, row in shown_rows(table, at, hidden)}
        return [
            RejectedRow(self.files[reject.file].id, reject.line, reject.reason, texts.get(reject[:2], []))
            for reject in sorted(self.rejects)
        ]


FileDeltas = Mapping[Content, FileDelta]


class DeltaPart:
    """The rows of a delta that belong to certain parts."""

    def __init__(self, delta: FileDelta, after: pl.DataFrame, removed: pl.DataFrame | None) -> None:
        self.delta = delta
        self.content = delta.content
        self.after = after
        self.removed = removed

    @property
    def is_whole(self) -> bool:
        return self.removed is None

    def mentioned(self, *columns: str) -> pl.DataFrame:
        frames = [self.after] if self.removed is None else [self.after, self.removed]
        return pl.concat([frame.select(columns) for frame in frames]).unique()

    def reject_unlisted(self, bad: pl.DataFrame) -> Doubt | None:
        """Reject rows whose username is not among the users, or return a Doubt if only changed lines were read."""
        if not self.is_whole:
            return Doubt(self.content, "a line names an account that is not among the users")
        for file, line, username in bad.select("file", "line", "username").rows():
            self.delta.rejects.append(RejectedLine(file, line, f"Username {username} is not among the users"))
            self.delta.unlisted[username] += 1
        # A line may give several rows. Remove only its rejected rows.
        self.after = self.after.join(bad, on=["file", "line", *rows.KEYS[self.content]], how="anti")
        return None


DeltaParts = Mapping[Content, DeltaPart]


def read_whole(
    group: InputGroup,
    files: Sequence[InputFile],
    store: Store,
    zone: ZoneInfo,
    reader: Reader | None,
    on_read: OnRead = ignore,
    parting: Parting = ONE_PART,
    *,
    is_dry: bool = False,
) -> FileDelta:
    """Read all rows. `on_read` gets the number of bytes processed so far.

    If a file is read in one piece, half of its bytes are reported during parsing, and the rest when its values are
    converted. With `is_dry`, also describe in `accounts` what each setting of the shape did.
    """
    try:
        return _WholeFiles(group, files, store, zone, parting, is_dry=is_dry).read(reader, on_read)
    except ReadAtOnce:
        return _WholeFiles(group, files, store, zone, parting, is_dry=is_dry).read(reader, on_read, at_once=True)


class _WholeFiles:
    def __init__(
        self,
        group: InputGroup,
        files: Sequence[InputFile],
        store: Store,
        zone: ZoneInfo,
        parting: Parting,
        *,
        is_dry: bool,
    ) -> None:
        self.group = group
        self.files = files
        self.store = store
        self.zone = zone
        self.is_dry = is_dry
        self.collector = Collector(group.content, parting, is_derived=group.is_derived)
        self.rows = [0] * len(files)
        self.tables: dict[int, Table] = {}
        self.headers: list[str] = []
        self.pages: list[PageSigns] = []
        self.accounts = [FileAccount() for _ in files]

    def read(self, reader: Reader | None, on_read: OnRead, *, at_once: bool = False) -> FileDelta:
        before = 0
        for i, file in enumerate(self.files):
            try:
                self._read_file(i, file, reader, _half(on_read, before), at_once=at_once)
            except BrokenFile as broken:
                broken.file = file.name
                raise
            before += file.size
            on_read(before)
        read = self.collector.finish()
        delta = FileDelta(self.group, self.files, read)
        delta.rows = [count - read.common[i] for i, count in enumerate(self.rows)]
        delta.tables, delta.headers, delta.is_at_once = self.tables, self.headers, at_once
        delta.accounts = self.accounts
        delta.note_missing(self.pages)
        return delta

    def _read_file(self, i: int, file: InputFile, reader: Reader | None, on_read: OnRead, *, at_once: bool) -> None:
        found: list[str] = []
        for n, raw in enumerate(_tables(self.group, file, self.store, reader, on_read, at_once=at_once)):
            # Keep the table, because rejected rows are shown with their original text.
            if self.group.allow_rejects and not raw.is_piece:
                self.tables[i] = raw
            # Files of records may have different columns, so several of them are not compared by line.
            several = raw.is_records and len(self.files) > 1
            table, read = _shaped_rows(self.group, raw._replace(is_by_line=raw.is_by_line and not several), self.zone)
            self.rows[i] += table.frame.height + len(table.ragged)
            add_rows(self.accounts[i], raw, read.left_out)
            self.headers = raw.headers if raw.is_records and raw.is_by_line and not several else []
            self.pages += [table.page] if table.page else []
            if n == 0:
                self.accounts[i].columns = seen_columns(self.group, raw)
                self._state(self.accounts[i], ReadTable(self.group, raw, table, read))
                found = [*hints.hints(self.group, table)]
                found = [f"{hint} (in the first {self.rows[i]:,} rows)" for hint in found] if raw.is_piece else found
            notes = (*table.notes, *found, *read.notes)
            self.collector.add(i, read._replace(notes=tuple(f"{file.name}: {note}" for note in notes)))
            is_records = table.is_records
            # Free this piece before the next one is read.
            del raw, table, read
        if self.group.content in NEVER_EMPTY and not self.rows[i]:
            what = "the list of records is empty" if is_records else "there is a header but no row"
            raise BrokenFile(f"{what}; export the file with its data")

    def _state(self, account: FileAccount, table: ReadTable) -> None:
        where = f" (in the first {table.rows:,} rows)" if table.raw.is_piece else ""
        account.statements = [f"{each}{where}" for each in (statements(table) if self.is_dry else [])]
        account.warnings = [f"{each}{where}" for each in row_warnings(table)]


def _tables(
    group: InputGroup,
    file: InputFile,
    store: Store,
    reader: Reader | None,
    on_read: OnRead = ignore,
    *,
    at_once: bool = False,
) -> Iterator[Table]:
    """Read a file as one table, or a long file as several tables."""
    with store.reading(file.location) as content:
        if reader is not None or at_once:
            yield _table(group, formats.rest_of(content), reader, on_read)
            return
        for table in formats.read_in_pieces(content, group.encoding, group.shape, group.columns, on_read):
            yield _with_columns(group, table)


def _half(on_read: OnRead, before: int) -> OnRead:
    """Return a function that reports `before` (all bytes of earlier files) plus half of the parsed bytes of a file."""
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
    """Return a table for an empty list of records, with a column for each field."""
    first = {field: header for header, field in reversed(group.columns.items())}
    unmapped = [field for field in FIELDS[group.content] if field not in first]
    return table_of([*first.values(), *unmapped], [])._replace(is_records=True)


def _table(group: InputGroup, content: bytes, reader: Reader | None, on_read: OnRead = ignore) -> Table:
    if reader is None:
        table = formats.read(content, group.encoding, group.shape, group.columns, on_read)
    else:
        table = formats.read_records(enumerate(reader(content, group.content), 1))
    return _with_columns(group, table)


def _with_columns(group: InputGroup, table: Table) -> Table:
    return table if table.headers or not table.is_records else _without_records(group)


def _shaped(group: InputGroup, table: Table) -> Table:
    if group.shape is None:
        return table
    # Users are derived from memberships or permissions: shape either as permissions, which have the fields of both.
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
    if not group.is_derived and not table.is_records:
        require_states(layout, table.headers, group.columns)
    read = rows.parse_rows(group.content, table, layout, zone, FIELDS[group.content], shape)
    if not layout.secret:
        return read
    are, them = (
        ("look like secrets and are", "them") if len(layout.secret) > 1 else ("looks like a secret and is", "it")
    )
    note = f"{', '.join(layout.secret)} {are} not kept; name {them} in shape.keep to keep {them}"
    return read._replace(notes=(*read.notes, note))


def read_lines(
    group: InputGroup,
    files: Sequence[InputFile],
    source: ContentSource,
    store: Store,
    zone: ZoneInfo,
    parting: Parting = ONE_PART,
) -> FileDelta | None:
    """Read the lines that differ from the files of `source`; None if all lines must be read."""
    is_csv, is_kept = not source.headers, parting.count == 1
    old, new = (
        [
            LineFile(partial(store.reading, each), group.encoding, group.shape, is_csv=is_csv, is_kept=is_kept)
            for each in locations
        ]
        for locations in (source.locations, [file.location for file in files])
    )
    try:
        found = lines.changed_lines(old, new, parting)
        if found is None or not all(found.rows):
            return None
        read = _changed_rows if is_csv else _changed_records
        changed = read(group, found, source.headers, zone, parting)
    except (BrokenFile, FileNotFoundError, pl.exceptions.PolarsError):
        return None
    if changed is None or not all(_are_certain(rows) for rows in changed):
        return None
    added, removed = changed
    delta = FileDelta(group, files, added, removed.rows)
    delta.rows, delta.headers = found.rows, source.headers
    return delta


def _are_certain(read: GroupRows) -> bool:
    return read.is_by_line and not read.rejects and not read.repeats


def _changed_rows(
    group: InputGroup, found: ChangedLines, _: list[str], zone: ZoneInfo, parting: Parting
) -> tuple[GroupRows, GroupRows]:
    """Read changed lines of CSV; return the added and the removed rows."""
    added, removed = Collector(group.content, parting), Collector(group.content, parting)
    for file, text in found.added():
        added.add(file, _rows_of(group, text, found.delimiter, zone))
    for _file, text in found.removed():
        removed.add(0, _rows_of(group, text, found.delimiter, zone))
    return added.finish(), removed.finish()


def _changed_records(
    group: InputGroup, found: ChangedLines, headers: list[str], zone: ZoneInfo, parting: Parting
) -> tuple[GroupRows, GroupRows] | None:
    """Read changed JSON lines; return None for several files, or if the columns of the file may have changed."""
    if len(found.rows) != 1:
        return None
    texts = [b"\n".join(text for _, text in changed()) for changed in (found.added, found.removed)]
    tables = [formats.read_json_lines(text, group.shape, group.columns) for text in texts]
    added_headers, removed_headers = (set(table.headers) for table in tables)
    # Read all lines if a column is new or occurs only in removed lines: the columns of the whole file may have changed.
    if not removed_headers <= added_headers <= set(headers):
        return None
    added, removed = Collector(group.content, parting), Collector(group.content, parting)
    for collector, table in ((added, tables[0]), (removed, tables[1])):
        collector.add(0, _rows(group, _shaped(group, formats.with_headers(table, headers)), zone))
    return added.finish(), removed.finish()


def _rows_of(group: InputGroup, text: bytes, delimiter: str | None, zone: ZoneInfo) -> FileRows:
    table = without_blank_columns(csv_text.read_csv(CsvText(text, delimiter)))
    return _rows(group, _shaped(group, table), zone)


def read_sample(group: InputGroup, content: bytes, zone: ZoneInfo) -> ReadTable:
    """Read the beginning of a file, to show how it is understood."""
    raw = _table(group, content, None)
    return ReadTable(group, raw, *_shaped_rows(group, raw, zone))
