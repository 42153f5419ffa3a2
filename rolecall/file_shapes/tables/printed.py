"""Find the columns of tables that programs print: aligned with spaces, or separated by borders."""

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from rolecall.application_imports.read import aligned
from rolecall.file_shapes.tables.delimited import has_delimiter, written_lines
from rolecall.file_shapes.tables.headers import NO_HEADER, Numbered, known_words, lay_out_rows, limited
from rolecall.file_shapes.tables.last_lines import MOST_FOOTERS, find_rows
from rolecall.file_shapes.tables.printed_breaks import check_columns_apart, check_one_line, check_one_table
from rolecall.file_shapes.tables.sample_table import SampleTable, Unreadable

FORMAT = "Aligned text"
_ALIGNED = re.compile(r"\S {2,}\S")
_RULED = re.compile(r" *-{2,}(?: +-{2,})+")
_MOST_TITLES = 20
_MOST_COLUMNS = 500
_MOST_STACKED = 2
_OFTEN, _MOSTLY = 0.3, 0.6
_NEARLY_ALL = 0.9
# The minimum number of spaces between columns of a list without a header.
_LEAST_GAP = 2


def lay_out_printed(text: str, tail: str, header_line: int | None) -> SampleTable | None:
    """Return the rows of a printed table, or None if the text is not one. `header_line` is set if a person chose it."""
    # Skip the first line of the tail, which may be incomplete.
    lines, tail_lines = aligned.lines_of(text), aligned.lines_of(tail)[1:]
    if at := _box_header(lines, header_line):
        return _lay_out_box(lines, tail_lines, at)
    if not _are_aligned(lines) or (has_delimiter(lines) and not any(map(_is_ruled, lines[:_MOST_TITLES]))):
        return None
    if at := _aligned_header(lines, header_line):
        found = _lay_out_aligned(lines, tail_lines, at)
    elif starts := _columns_without_header(lines):
        found = _lay_out_without_header(lines, starts)
    else:
        raise Unreadable("the columns are aligned with spaces, but no header was found; export the list as CSV")
    _check_columns(found)
    return found


def _check_columns(found: SampleTable) -> None:
    """Reject columns that could not be separated: several known words above values such as `17 Ada Byron`."""
    for n, header in enumerate(found.headers):
        words = header.split()
        values = [row[n].split() for row in found.rows if n < len(row) and row[n].strip()]
        is_numbered = bool(values) and all(len(value) > 1 and value[0].isdecimal() for value in values)
        if is_numbered and known_words(words) > 1:
            raise Unreadable(f"the columns {', '.join(words)} cannot be separated; export the list as CSV")


def _is_ruled(line: str) -> bool:
    """Return whether a line underlines several headers with dashes. A table with such a line has no delimiters."""
    return _RULED.fullmatch(line.rstrip()) is not None


def _are_aligned(lines: Sequence[str]) -> bool:
    written = written_lines(lines)
    return sum(bool(_ALIGNED.search(line)) for line in written) > _OFTEN * len(written)


def _box_header(lines: Sequence[str], chosen: int | None) -> int | None:
    """Return the number of the header line of a box: `chosen`, or the first row with dashes above or below."""
    if chosen:
        return chosen if chosen <= len(lines) and aligned.is_boxed(lines[chosen - 1]) else None
    for n, line in enumerate(lines[:_MOST_TITLES]):
        beside = (lines[n - 1] if n else "", lines[n + 1] if n + 1 < len(lines) else "")
        if aligned.is_boxed(line) and any(map(aligned.is_box_rule, beside)):
            return n + 1
    return None


def _aligned_header(lines: Sequence[str], chosen: int | None) -> int | None:
    """Return the number of the header line: `chosen`, or the first line above dashes.

    Otherwise, it is the line with the most known headers among those whose columns fit the rows, or None.
    """
    if chosen is not None:
        return chosen if 0 < chosen <= len(lines) else None
    top = [n for n in range(min(_MOST_TITLES, len(lines))) if lines[n].strip()]
    for n in top:
        below = lines[n + 1] if n + 1 < len(lines) else ""
        columns = aligned.columns_of(lines[n], below)
        if columns.is_ruled and len(columns.starts) < _MOST_COLUMNS:
            return n + 1
    starts = {n: aligned.columns_of(lines[n], "").starts for n in top}
    # A title such as USER LIST   PAGE 1 also has a known word, but its columns do not fit the rows.
    known = {n: known_words(aligned.cut(lines[n], starts[n])) for n in top if 1 < len(starts[n]) < _MOST_COLUMNS}
    fitting = [n for n in known if known[n] and _fit(lines[n + 1 :], starts[n])]
    return max(fitting, key=lambda n: known[n]) + 1 if fitting else None


def _fit(lines: Sequence[str], starts: Sequence[int]) -> bool:
    """Return whether most lines can be cut at these columns: no text crosses the beginning of a column."""
    cut = [aligned.cut(line, starts) for line in written_lines(lines)]
    return sum(len(cells) > 1 for cells in cut) > _MOSTLY * len(cut)


def _lay_out_box(lines: Sequence[str], tail: Sequence[str], at: int) -> SampleTable:
    def rows_of(some: Sequence[str]) -> list[list[str]]:
        return [aligned.cut_box(line) if not aligned.is_box_rule(line) else [""] for line in some]

    cut = rows_of(lines)
    numbered = [(n, row) for n, row in enumerate(cut, 1) if any(row) and (n == at or row != cut[at - 1])]
    last = (rows_of(tail) if tail else [row for _, row in numbered])[-MOST_FOOTERS:]
    evidence = f"The table is a box with its header in line {at}; bars separate the columns"
    return _found(lay_out_rows(FORMAT, numbered, last, at), evidence)


def _lay_out_aligned(lines: Sequence[str], tail: Sequence[str], at: int) -> SampleTable:
    columns = aligned.columns_of(lines[at - 1], lines[at] if at < len(lines) else "")
    if columns.is_ruled:
        check_one_table(lines, at)
        check_one_line(lines, at)
    else:
        check_columns_apart(lines, at, columns.starts)
    stacked = _stacked_header(lines, at, columns.starts) if columns.is_ruled else []
    above = _numbered(lines[: at - 1], columns.starts, ())
    rows = _numbered(lines[at:], columns.starts, lines[:at] if stacked else [lines[at - 1]])
    numbered = [*above, *((n + at, row) for n, row in rows)]
    last = [row for _, row in (_numbered(tail, columns.starts, ()) if tail else numbered)][-MOST_FOOTERS:]
    if not stacked:
        header = (at, aligned.cut(lines[at - 1], columns.starts))
        numbered = [*above, header, *numbered[len(above) :]]
        return _found(lay_out_rows(FORMAT, numbered, last, at), f"Columns are aligned with spaces below line {at}")
    found = find_rows(stacked, [row for _, row in above], [row for _, row in rows], last)
    return SampleTable(
        FORMAT,
        stacked,
        limited(found.rows, len(stacked)),
        header_line=None,
        skip_lines=at + 1,
        column_starts=[start + 1 for start in columns.starts],
        evidence=[f"The header spans several lines, above the dashes in line {at + 1}", *found.evidence],
        totals=found.totals,
        titles=found.titles,
        left_out=found.conditions,
    )


def _numbered(lines: Sequence[str], starts: Sequence[int], headers: Sequence[str]) -> Numbered:
    cut = aligned.cut_at(lines, starts, [line for line in headers if line.strip()])
    return [(n, line.split(aligned.SEPARATOR)) for n, line in enumerate(cut, 1) if line]


def _found(table: SampleTable, evidence: str) -> SampleTable:
    evidences = [evidence, *table.evidence]
    # Set `skip_lines` to 0, so that the shape does not list `headers`. It does not have to, even if some are blank: the
    # reader names such columns by their number.
    return msgspec.structs.replace(table, evidence=evidences, is_aligned=True, merges=False, skip_lines=0)


def _stacked_header(lines: Sequence[str], at: int, starts: Sequence[int]) -> list[str]:
    """Return the headers joined from several lines above dashes; an empty list if the header has one line."""
    rows = [aligned.cut(lines[at - 1], starts)]
    for line in reversed(lines[max(0, at - 1 - _MOST_STACKED) : at - 1]):
        cells = aligned.cut(line, starts)
        if len(cells) < len(starts) or (sum(map(bool, cells)) < 2 and not _tells_apart(cells, rows)):
            break
        rows.insert(0, cells)
    if len(rows) == 1 or len(rows[-1]) < len(starts):
        return []
    return _numbered_repeats(_joined(rows))


def _joined(rows: Sequence[Sequence[str]]) -> list[str]:
    return [" ".join(filter(None, cells)) or f"Column {n}" for n, cells in enumerate(zip(*rows, strict=True), 1)]


def _tells_apart(cells: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a line with a single word, such as Second, tells apart columns that have the same header."""
    if any(len(row) < len(cells) for row in rows):
        return False
    return any(cells) and len({*_joined([cells, *rows])}) > len({*_joined(rows)})


def _numbered_repeats(headers: Sequence[str]) -> list[str]:
    """Number headers that occur again, because each column needs a name of its own."""
    seen = Counter[str]()
    named = []
    for header in headers:
        seen[header] += 1
        named.append(header if seen[header] == 1 else f"{header} ({seen[header]})")
    return named


def _columns_without_header(lines: Sequence[str]) -> list[int]:
    """Return where columns begin: after at least two positions that are blank in all lines.

    Return an empty list if the lines are not a table with such columns.
    """
    written = [line.expandtabs() for line in written_lines(lines)]
    width = max(map(len, written), default=0)
    taken = [any(line[n : n + 1].strip() for line in written) for n in range(min(width, _MOST_WIDTH))]
    starts = [n for n, is_taken in enumerate(taken) if is_taken and not any(taken[max(0, n - _LEAST_GAP) : n])]
    if len(starts) < 2:
        return []
    filled = [sum(bool(cell) for cell in aligned.cut(line, starts)) for line in written]
    # In a table, almost all rows have values in several columns.
    return starts if sum(count > 1 for count in filled) >= _NEARLY_ALL * len(filled) else []


_MOST_WIDTH = 4_000


def _lay_out_without_header(lines: Sequence[str], starts: list[int]) -> SampleTable:
    numbered = _numbered(lines, starts, ())
    line, first = numbered[0]
    is_header = known_words(first) > 0 and not any(map(str.isdecimal, "".join(first)))
    table = lay_out_rows(FORMAT, numbered, [], line if is_header else NO_HEADER)
    table.evidence = [f"{len(starts)} columns are aligned with spaces", *table.evidence]
    table.skip_lines, table.header_line = table.header_line or 0, None
    table.column_starts, table.merges = [start + 1 for start in starts], False
    return table
