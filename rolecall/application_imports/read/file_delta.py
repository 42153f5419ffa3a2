"""What the files of one group say: everything, or only how they differ from the files before them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import polars as pl

from rolecall.application_imports.connectors import Reader
from rolecall.application_imports.read import formats as reading
from rolecall.application_imports.read import lines, rows
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.columns import lay_out
from rolecall.application_imports.read.formats import Table
from rolecall.application_imports.read.rows import Rejected, Rows
from rolecall.application_imports.read.sources import FileGroup, StoredFile
from rolecall.applications.model import FIELDS, Content
from rolecall.core.files import Store


class Doubt(Exception):
    """Lines alone do not tell what this content means; its files must be read whole."""

    def __init__(self, content: Content, reason: str) -> None:
        super().__init__(reason)
        self.content = content
        self.reason = reason


class RejectedRow(NamedTuple):
    file_id: UUID
    line: int
    reason: str
    row: list[str]


class Delta:
    """`after` holds the rows of the files, or of their added lines when `gone` has the rows of the lines before."""

    def __init__(self, group: FileGroup, files: Sequence[StoredFile], read: Rows, gone: pl.DataFrame | None) -> None:
        self.group = group
        self.content = group.content
        self.files = files
        self.after = read.frame
        self.columns = read.columns
        self.gone = gone
        self.rejects = read.rejects
        self.repeats = read.repeats
        self.is_by_line = read.is_by_line
        self.rows = [0] * len(files)
        self.tables: list[Table] = []

    @property
    def is_whole(self) -> bool:
        return self.gone is None

    def mentioned(self, *columns: str) -> pl.DataFrame:
        frames = [self.after] if self.gone is None else [self.after, self.gone]
        return pl.concat([frame.select(columns) for frame in frames]).unique()

    def reject(self, bad: pl.DataFrame, reason: str) -> None:
        """Set rows aside; `{}` in the reason is the row's username."""
        if not self.is_whole:
            raise Doubt(self.content, reason)
        found = bad.select("file", "line", "username").rows()
        self.rejects += [Rejected(file, line, reason.format(username)) for file, line, username in found]
        self.after = self.after.join(bad, on=["file", "line"], how="anti")
        self.refuse_rejects()

    def refuse_rejects(self) -> None:
        """A malformed row fails the import unless the connector allows rejects."""
        if not self.rejects or self.group.allow_rejects:
            return
        first = min(self.rejects)
        more = f" (and {len(self.rejects) - 1:,} more malformed rows)" if len(self.rejects) > 1 else ""
        raise BrokenFile(f"{first.reason}{more}", line=first.line, file=self.files[first.file].name)

    def rejected_rows(self) -> list[RejectedRow]:
        shown: dict[tuple[int, int], list[str]] = {}
        for i, table in enumerate(self.tables):
            shown |= {(i, ragged.line): ragged.row for ragged in table.ragged}
            at = [reject.line for reject in self.rejects if reject.file == i]
            for line, *row in (
                table.frame.filter(pl.col("line").is_in(at)).select("line", pl.exclude("line")).iter_rows()
            ):
                shown[i, line] = row
        return [
            RejectedRow(self.files[reject.file].id, reject.line, reject.reason, shown[reject.file, reject.line])
            for reject in sorted(self.rejects)
        ]


def read_whole(
    group: FileGroup, files: Sequence[StoredFile], store: Store, zone: ZoneInfo, reader: Reader | None
) -> Delta:
    tables, parts, rows_read = [], [], []
    for file in files:
        try:
            table = _table(group, store.read(file.location), reader)
            part = _rows(group, table, zone)
            _refuse_nothing(group.content, table)
        except BrokenFile as broken:
            broken.file = file.name
            raise
        rows_read.append(table.frame.height + len(table.ragged))
        parts.append(part)
        # Rejected rows are shown as they were; where there can be none, a million rows need not be kept for it.
        if group.allow_rejects:
            tables.append(table)
        del table
    delta = Delta(group, files, rows.together(group.content, parts), None)
    delta.tables = tables
    delta.rows = rows_read
    delta.refuse_rejects()
    return delta


def _table(group: FileGroup, content: bytes, reader: Reader | None) -> Table:
    if reader is None:
        return reading.read(content, group.encoding)
    return reading.read_records(enumerate(reader(content, group.content), 1))


def _rows(group: FileGroup, table: Table, zone: ZoneInfo) -> Rows:
    layout = lay_out(group.content, table.headers, group.columns)
    return rows.sift(group.content, table, layout, zone, FIELDS[group.content])


def _refuse_nothing(content: Content, table: Table) -> None:
    """No one at all is a broken export; no group or permission may be true."""
    if content in (Content.USERS, Content.IDENTITIES) and not table.frame.height and not table.ragged:
        raise BrokenFile("there is a header but no row")


def read_lines(
    group: FileGroup, files: Sequence[StoredFile], before: Sequence[str], store: Store, zone: ZoneInfo
) -> Delta | None:
    """None when the files must be read whole."""
    try:
        old = [reading.decode(store.read(location), group.encoding) for location in before]
        new = [reading.decode(store.read(file.location), group.encoding) for file in files]
        found = lines.compare(old, new)
        if found is None or not all(found.rows):
            return None
        added = rows.together(group.content, [_mini(group, text, zone) for text in found.added])
        gone = _mini(group, found.gone, zone)
    except (BrokenFile, FileNotFoundError, pl.exceptions.PolarsError):
        return None
    if added.rejects or added.repeats or gone.rejects or not (added.is_by_line and gone.is_by_line):
        return None
    delta = Delta(group, files, added, gone.frame)
    delta.rows = found.rows
    return delta


def _mini(group: FileGroup, text: bytes, zone: ZoneInfo) -> Rows:
    return _rows(group, reading.read_csv(text), zone)


Deltas = Mapping[Content, Delta]
