"""Report in the log what becomes of each column of a file, and how many rows are left out, by reason."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from rolecall.application_imports.model import ContentReading
from rolecall.application_imports.read.access_signs import MOST_CELLS, Sign, sign_of_access
from rolecall.application_imports.read.column_uses import Fate, Use, uses_of
from rolecall.application_imports.read.sources import InputGroup
from rolecall.application_imports.read.table import Table
from rolecall.applications.model import Content
from rolecall.core.text import counted, some_of

_MOST_NAMED = 30
# The prefix of log lines that need a person's attention.
WARNING = "Warning: "
_WARNED = re.compile(rf"(?:\S+Z )?{WARNING}(.*)")


class SeenColumn(NamedTuple):
    """A column of a file, and what becomes of it. If its fate is NOT_READ, its values and cells are counted."""

    header: str
    use: Use
    sign: Sign | None = None
    # The number of different values, and of cells that are not blank.
    values: int = 0
    cells: int = 0


class FileAccount(msgspec.Struct):
    """How each column of a file is used, and how many of its rows are left out."""

    columns: list[SeenColumn] = []
    # The number of rows in the file, and how many of them were left out, by reason.
    rows: int = 0
    left_out: Counter[str] = msgspec.field(default_factory=Counter)
    # Sentences about what each setting of the shape did; filled only in a dry run.
    statements: list[str] = []
    # Sentences about rows that need a person's attention.
    warnings: list[str] = []


def seen_columns(group: InputGroup, table: Table) -> list[SeenColumn]:
    """Return what becomes of each column, considering all contents that are read from the same sheet or list.

    Return an empty list for all but the first of these contents, so that the log names each column once.
    """
    own = [section for section in group.sections if _place(section.shape) == _place(group.shape)]
    if group.is_derived or not own or own[0].content != group.content:
        return []
    return [_seen(table, i, header, use) for i, (header, use) in enumerate(uses_of(table.headers, own).items())]


def _place(shape: object) -> tuple[object, object]:
    return getattr(shape, "sheet", None), getattr(shape, "records", None)


def _seen(table: Table, position: int, header: str, use: Use) -> SeenColumn:
    if use.fate == Fate.READ:
        return SeenColumn(header, use)
    cells = table.frame.get_column(str(position))
    sign = sign_of_access(header, cells.head(MOST_CELLS).to_list())
    if use.fate != Fate.NOT_READ:
        return SeenColumn(header, use, sign)
    filled = cells.filter(cells.str.strip_chars() != "")
    return SeenColumn(header, use, sign, filled.n_unique(), len(filled))


def reading_of(name: str, content: Content, account: FileAccount, rejects: Iterable[int]) -> ContentReading:
    """Return how the rows of a file were read; `rejects` are the line numbers of rejected rows."""
    unread = [column for column in account.columns if column.use.fate == Fate.NOT_READ]
    rejected, left_out = len(set(rejects)), {reason: count for reason, count in account.left_out.items() if count}
    return ContentReading(
        name,
        content,
        account.rows,
        account.rows - rejected - sum(left_out.values()),
        rejected,
        left_out,
        [column.header for column in unread],
        sum(column.cells for column in unread),
        {column.header: column.use.how for column in account.columns if column.use.fate == Fate.IGNORED},
    )


def in_words(name: str, account: FileAccount, earlier: Sequence[str]) -> Iterator[str]:
    """Yield log lines about a file.

    `earlier` has the columns of the previous import, or is empty if they are not known. Each new column that is not
    read into a field gets a line.
    """
    by_fate: dict[Fate, list[str]] = {}
    for column in account.columns:
        told = f"{column.header} ({counted(column.values, 'different value')})" if column.values else column.header
        by_fate.setdefault(column.use.fate, []).append(told)
    if by_fate:
        fates = [f"columns {fate}: {some_of(by_fate[fate], _MOST_NAMED)}" for fate in Fate if fate in by_fate]
        yield f"{name}: {'; '.join(fates)}"
    for column in account.columns if earlier else ():
        if column.header not in earlier and column.use.fate != Fate.READ:
            yield _new_column(name, column)
    yield from (f"{WARNING}{name}: {line}" for line in account.warnings)
    if account.statements:
        yield from (f"{name}: {line}" for line in account.statements)
        return
    for reason, count in account.left_out.items():
        yield f"{name}: {left_out_in_words(count, account.rows, reason)}"


def left_out_in_words(count: int, rows: int, reason: str) -> str:
    return f"{count:,} of {rows:,} rows left out, because {reason}"


def _new_column(name: str, column: SeenColumn) -> str:
    told = f"{name}: new column {column.header} is {column.use.fate}"
    told += f" ({column.use.how})" if column.use.how else ""
    if column.sign is None:
        return told
    advice = "it may be access: read it as groups or permissions, or name it in shape.ignore"
    return f"{WARNING}{told} and has {column.sign}; {advice}"


def warnings_in(log: Iterable[str]) -> list[str]:
    """Return the warnings in the lines of a log."""
    return [match[1] for line in log if (match := _WARNED.match(line))]


def add_rows(account: FileAccount, raw: Table, left_out: Mapping[str, int]) -> None:
    """Add the rows of a file, or of a piece of it, to the counts."""
    account.rows += raw.frame.height + len(raw.ragged)
    account.left_out.update(left_out)
