"""Find the header line of a table."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from itertools import islice, pairwise

from rolecall.application_imports.read.table import MOST_COLUMNS
from rolecall.applications.file_shape import fits_patterns
from rolecall.file_shapes.columns.header_names import is_known_header
from rolecall.file_shapes.columns.profiles import most_common_width
from rolecall.file_shapes.columns.secret_values import are_secret, name_columns
from rolecall.file_shapes.tables.last_lines import MOST_FOOTERS, find_rows, without_blank_end
from rolecall.file_shapes.tables.merged_cells import filled_down
from rolecall.file_shapes.tables.sample_table import MOST_ROWS, SampleTable, Unreadable
from rolecall.file_shapes.tables.stacked_headers import SEPARATOR, StackedHeader, stacked_header

NO_HEADER = 0
_LOOKED_AT = 300
_MOST_TITLES = 20
_MOST_COUNTED = 200
_MOST_CELLS = 100_000
_VALUE = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}\.\w{1,63}|-?\d[\d.,:/ -]*|\d{4}-\d\d.*", re.ASCII)
_MOSTLY, _OFTEN = 0.6, 0.3
# Replaces the characters that have a meaning in patterns.
_IN_HEADERS = str.maketrans("{}|", "()/")

# Rows with their line numbers.
Numbered = list[tuple[int, list[str]]]


def lay_out_rows(format: str, numbered: Numbered, last: Sequence[list[str]], chosen: int | None = None) -> SampleTable:
    """Find the header in numbered rows and return the table. `last` has the last rows of the file.

    `chosen` is the number of the header line, or NO_HEADER; None detects the header.
    """
    if not numbered:
        raise Unreadable("the file has no rows; export the file with its data")
    if len(numbered[0][1]) > MOST_COLUMNS:
        found = f"line {numbered[0][0]} has more than {MOST_COLUMNS:,} columns"
        raise Unreadable(f"{found}; set shape.delimiter to the delimiter of the file, or split the file")
    if chosen is None and (stacked := stacked_header(numbered)):
        return _with_sections(format, numbered, last, stacked)
    width = width_of(numbered)
    # Skip the first line of a form for bulk operations of Microsoft Entra, which names the version of the form.
    titled = [(line, row) for line, row in numbered[:_MOST_TITLES] if not row[0].startswith("version:")]
    unused = _unused(numbered, width)
    likely = [(line, row) for line, row in titled if _is_header(row, width, unused)]
    rows = [row for _, row in numbered[:_LOOKED_AT] if not likely or row is not likely[0][1]]
    likely = [*likely[:1], *(each for each in likely[1:] if not _has_values(each[1], rows))]
    if chosen:
        likely = [(line, row) for line, row in numbered if line == chosen] or likely
    if chosen == NO_HEADER or not likely:
        return _without_header(format, numbered, width, is_chosen=chosen == NO_HEADER)
    first = likely[0] if chosen else _most_likely(likely)
    _check_none_above(numbered, likely[0], first)
    if not chosen and width == 1 and not known_words(first[1]):
        return _without_header(format, numbered, width, is_doubtful=True)
    table = _with_header(format, numbered, last, first, is_chosen=bool(chosen))
    table.candidates = [line for line, row in likely if _repeats_header(line, row, first[0])]
    return table


def width_of(numbered: Numbered) -> int:
    """Return the usual number of fields in a line, ignoring titles and footers with one field."""
    rows = [row for _, row in numbered[:_LOOKED_AT]]
    several = [row for row in rows if len(row) > 1]
    return max(most_common_width(several if len(several) > _OFTEN * len(rows) else rows), 1)


def _with_header(
    format: str, numbered: Numbered, last: Sequence[list[str]], chosen: tuple[int, list[str]], *, is_chosen: bool
) -> SampleTable:
    header_line, cells = chosen
    written, cells = cells, [_renamed(cell.strip()) for cell in cells]
    is_renamed = cells != [cell.strip() for cell in written]
    header = without_blank_end(cells)
    _check_repeats(header_line, header)
    above = [row for line, row in numbered if line < header_line]
    below = [(line, row) for line, row in numbered if line > header_line]
    _check_one_table(header, below)
    rows = [row for _, row in below]
    header, cells = _with_unnamed(header, cells, rows)
    found = find_rows(header, above, [*rows, *_beyond([written, *rows], last)], last)
    evidence = _title(header_line, numbered[0]) if header_line > 1 and above else []
    if "" in header:
        header = cells
    if is_renamed:
        evidence.append("Braces and bars in headers are replaced, because patterns use them")
    filled = filled_down(header, found.rows)
    if filled:
        named = ", ".join(filled.columns)
        evidence.append(f"Cells of {named} are merged: blank cells repeat the value above")
    merges = any(len(without_blank_end(row)) > len(header) for row in found.rows)
    if merges:
        evidence.append(f"Some rows have more than {len(header)} fields: the last column contains the delimiter")
    return SampleTable(
        format,
        name_columns(header, found.rows),
        limited(filled.rows if filled else found.rows, len(header)),
        header_line=header_line,
        fill_down=filled.columns if filled else [],
        skip_lines=header_line if "" in header or is_renamed else 0,
        evidence=[*found.evidence, *evidence],
        is_doubtful=not (is_chosen or known_words(header) or _differs(header, found.rows)),
        totals=found.totals,
        titles=found.titles,
        left_out=found.conditions,
        merges=merges,
    )


def _with_unnamed(header: list[str], cells: list[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
    """Add columns with values behind the last header: all with a blank header cell, or a single column of secrets."""
    widths = {len(without_blank_end(row)) for row in rows}
    widest = max(widths, default=0)
    if len(header) < widest <= len(cells):
        return cells, cells
    is_even = len(widths) == 1 and widest == len(header) + 1
    if is_even and are_secret(row[widest - 1] for row in rows):
        return [*header, ""], [*header, ""]
    return header, cells


def _title(header_line: int, first: tuple[int, list[str]]) -> list[str]:
    line, cells = first
    return [f"The header is line {header_line}; line {line} is a title: {' '.join(' '.join(cells).split())[:60]}"]


def _beyond(rows: Sequence[list[str]], last: Sequence[list[str]]) -> list[list[str]]:
    """Return the rows of `last` that are as wide as the header and not blank; none if `last` and `rows` overlap.

    The last rows of a file may be of a different kind from the first rows.
    """
    whole = [row for row in last if len(row) == len(rows[0]) and any(cell.strip() for cell in row)]
    return whole if not any(row in rows for row in whole) else []


def _renamed(header: str) -> str:
    """Replace braces and bars in a header if patterns could not refer to the column otherwise."""
    return header if not header or fits_patterns(header) else header.translate(_IN_HEADERS)


def _with_sections(format: str, numbered: Numbered, last: Sequence[list[str]], stacked: StackedHeader) -> SampleTable:
    """Join the two lines of a header. The shape lists the headers, because no single line contains them."""
    rows = [(line, row) for line, row in numbered if line not in (stacked.line - 1, stacked.line)]
    table = _with_header(format, rows, last, (stacked.line, stacked.headers), is_chosen=True)
    table.skip_lines, table.section_separator = stacked.line, SEPARATOR
    lines = f"Lines {stacked.line - 1} and {stacked.line}"
    table.evidence.append(f"{lines} are the header: the first names sections, the second names columns")
    return table


def limited(rows: list[list[str]], width: int) -> list[list[str]]:
    """Limit the number of rows: keep the first and the last ones. Many columns lower the limit, but not below 50."""
    most = max(50, min(MOST_ROWS, _MOST_CELLS // max(width, 1)))
    return rows if len(rows) <= most else [*rows[: most - MOST_FOOTERS], *rows[-MOST_FOOTERS:]]


def _without_header(
    format: str, numbered: Numbered, width: int, *, is_chosen: bool = False, is_doubtful: bool = False
) -> SampleTable:
    headers = name_columns([""] * width, [row for _, row in numbered])
    evidence = [] if is_chosen else ["No line looks like a header: the first rows contain values"]
    rows = limited([row for _, row in numbered], width)
    return SampleTable(format, headers, rows, header_line=None, evidence=evidence, is_doubtful=is_doubtful)


def known_words(cells: Iterable[str]) -> int:
    """Count the known headers among the first 200 cells."""
    return sum(is_known_header(cell) for cell in islice(cells, _MOST_COUNTED) if cell.strip())


def _has_values(row: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a cell of a line recurs in its column, which shows that the line has values and is not a header.

    Ignore repetitions of the whole line.
    """
    others = [other for other in rows if other != row]
    cells = [(n, cell) for n, cell in enumerate(row[:_MOST_COUNTED]) if cell.strip()]
    return any(other[n] == cell for other in others for n, cell in cells if n < len(other))


def _most_likely(likely: Numbered) -> tuple[int, list[str]]:
    """Return the most likely header line: the first, or a later one with twice as many known words, and at least two.

    If the line below has twice as many filled cells, the first line has names of sections. The line below then needs
    only as many known words as the first, and at least one.
    """
    best = likely[0]
    for line, row in likely[1:]:
        is_below = line == best[0] + 1 and _named_cells(row) >= 2 * _named_cells(best[1])
        least = known_words(best[1]) * (1 if is_below else 2)
        if known_words(row) >= max(least, 1 if is_below else 2):
            best = line, row
    return best


def _named_cells(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _differs(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a column has mostly numbers, dates or addresses. The line above it is then a header, not a row."""
    for i in range(len(header)):
        values = [row[i].strip() for row in rows[:_LOOKED_AT] if i < len(row) and row[i].strip()]
        if values and sum(bool(_VALUE.fullmatch(value)) for value in values) > 0.8 * len(values):
            return True
    return False


def _check_one_table(header: Sequence[str], below: Numbered) -> None:
    """Reject a second table with its own header, because its rows would be read as rows of the first."""
    for (before, above), (line, row) in pairwise(below):
        # Skip a line directly below a row: a second table has a title or a blank line above it.
        if line == before + 1 and len(without_blank_end(above)) > 1:
            continue
        cells = without_blank_end(row)
        known = known_words(cells)
        # The line above names a section: `#group_children`.
        is_named = above[0].startswith("#") and known > 1 and known >= _MOSTLY * len(cells)
        is_header = is_named or (known == len(cells) and not set(cells) & set(header))
        is_other = len(cells) > 1 and cells != header
        if is_other and is_header and not _has_values(row, [other for _, other in below]):
            text = f"line {line} looks like the header of a second table ({', '.join(cells[:3])})"
            raise Unreadable(f"{text}; save each table as a separate file")


def _check_none_above(numbered: Numbered, upper: tuple[int, list[str]], header: tuple[int, list[str]]) -> None:
    """Reject a table above the header that is read, because its rows would be left out as titles."""
    cells = without_blank_end(upper[1])
    between = [without_blank_end(row) for line, row in numbered if upper[0] < line < header[0]]
    rows = [row for row in between if len(row) > 1 and len(row) >= _MOSTLY * len(cells)]
    if rows and known_words(cells) > 1 and not set(cells) <= set(header[1]):
        text = f"line {upper[0]} looks like the header of a table ({', '.join(cells[:3])})"
        raise Unreadable(f"{text}, and line {header[0]} like that of another; save each table as a separate file")


def _check_repeats(line: int, header: Sequence[str]) -> None:
    twice = next((cell for cell, count in Counter(filter(None, header)).items() if count > 1), None)
    if twice:
        other = f"set shape.headers with shape.skipLines: {line}"
        raise Unreadable(f"line {line} has the header {twice} twice; rename one, or {other}")


def _unused(numbered: Numbered, width: int) -> set[int]:
    """Return the positions that are blank in every line of the usual width. Their header may be blank too."""
    rows = [row for _, row in numbered[:_LOOKED_AT] if len(row) == width]
    return {n for n in range(width) if not any(row[n].strip() for row in rows)}


def _is_header(row: Sequence[str], width: int, unused: Set[int]) -> bool:
    cells = [cell for n, cell in enumerate(without_blank_end(row)) if cell or n not in unused]
    named = [cell for cell in cells if cell]
    known = known_words(named)
    if len(named) < max(min(width, 2), _MOSTLY * width) and not known == len(named) > 1:
        return False
    if (len(named) < len(cells) or len(set(named)) < len(named)) and known < max(2, len(named) / 2):
        return False
    # Rows may be longer than the header, because the last column may contain the delimiter.
    if abs(len(row) - width) > max(1, width // 4):
        return False
    return not any(_VALUE.fullmatch(cell) or len(cell) > 120 for cell in named)


def _repeats_header(line: int, row: Sequence[str], header_line: int) -> bool:
    """Return whether a line, at most two lines below the header, is another header, such as one in another language."""
    is_text = all(re.fullmatch(r"[^\W\d][\w \-\[\]().]*", cell.strip() or "x") for cell in row)
    return 0 < line - header_line < 3 and is_text and known_words(row) == sum(bool(cell.strip()) for cell in row)
