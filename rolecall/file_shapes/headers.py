"""Find the delimiter of CSV, and the header line and the last lines of any table of rows."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import msgspec

from rolecall.application_imports.read import aligned
from rolecall.application_imports.read.header_lines import DELIMITERS, separator_line
from rolecall.application_imports.read.table import MOST_COLUMNS
from rolecall.applications.file_shape import RowCondition
from rolecall.file_shapes.meanings import is_known_header
from rolecall.file_shapes.profiles import most_common_width

_LOOKED_AT = 300
_MOST_TITLES = 20
_MOST_FOOTERS = 12
_MOST_COUNTED = 200
_VALUE = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}\.\w{1,63}|-?\d[\d.,:/ -]*|\d{4}-\d\d.*", re.ASCII)
_TOTALS = {"total", "totals", "grandtotal", "sum", "count", "rows", "endofreport", "endoffile", "summe", "gesamt"}
_FOOTER = re.compile(
    r"copyright|©|confidential|generated|exported|created by|printed|end of|\brows?\b|\brecords?\b|\bpage \d|total"
    r"|vertraulich|erstellt|confidentiel",
    re.IGNORECASE,
)
_ALIGNED = re.compile(r"\S {2,}\S")
_MOSTLY, _OFTEN = 0.6, 0.3
NO_HEADER = 0

Numbered = list[tuple[int, list[str]]]


class TableLayout(msgspec.Struct, frozen=True):
    """Where the header and the rows of a table are."""

    # None: the file has no header.
    header_line: int | None
    headers: list[str]
    rows: list[list[str]]
    evidence: list[str] = []
    # Other lines that could be the header.
    candidates: list[int] = []
    # No word of the header is known: it could be a row.
    is_doubtful: bool = False
    totals: list[str] = []
    # Conditions on the first column that leave out lines below the rows.
    footers: list[dict[str, Any]] = []
    # Rows are longer than the header: the last column contains the delimiter.
    merges: bool = False
    # The header has gaps, and `headers` replaces the lines above the rows.
    skip_lines: int = 0
    # Columns are aligned with spaces.
    is_aligned: bool = False


def lay_out_csv(text: str, tail: str, delimiter: str | None, header_line: int | None) -> tuple[str, TableLayout]:
    """Return the delimiter and the layout; those given were chosen by a person."""
    lines = text.splitlines()
    if not delimiter and (at := _aligned_header(lines, header_line)):
        return aligned.SEPARATOR, _lay_out_aligned(lines, tail.splitlines(), at)
    delimiter = delimiter or _delimiter(lines)
    numbered = [(line, row) for line, row in _parse(text, delimiter) if any(cell.strip() for cell in row)]
    last = [row for line in (tail or text).splitlines()[-_MOST_FOOTERS:] for _, row in _parse(line, delimiter)]
    layout = lay_out_rows(numbered, last, header_line)
    width = _width(numbered)
    if width == 1 and _are_aligned(lines):
        raise ValueError("the columns are aligned with spaces, below no header; export the list as CSV")
    evidence = [f"Delimiter {named_delimiter(delimiter)}: {width} fields in most lines", *layout.evidence]
    return delimiter, msgspec.structs.replace(layout, evidence=evidence)


def _are_aligned(lines: Sequence[str]) -> bool:
    written = _written(lines)
    return sum(bool(_ALIGNED.search(line)) for line in written) > _OFTEN * len(written)


def _aligned_header(lines: Sequence[str], chosen: int | None) -> int | None:
    """Return the line of the header if columns are aligned with spaces: dashes are below it, or its words are known."""
    if not _are_aligned(lines) or any(_counts(lines, delimiter) for delimiter in DELIMITERS):
        return None
    if chosen:
        return chosen if chosen <= len(lines) else None
    top = [n for n in range(min(_MOST_TITLES, len(lines))) if lines[n].strip()]
    for n in top:
        below = lines[n + 1] if n + 1 < len(lines) else ""
        if aligned.is_rule(below) and len(aligned.columns_of(lines[n], below).starts) > 1:
            return n + 1
    for n in top:
        titles = aligned.cut(lines[n], aligned.columns_of(lines[n], "").starts)
        if len(titles) > 1 and known_words(titles):
            return n + 1
    return None


def _counts(lines: Sequence[str], delimiter: str) -> bool:
    """Return whether most lines have a delimiter, so that spaces are only padding."""
    written = _written(lines)
    return sum(delimiter in line for line in written) > _MOSTLY * len(written)


def _written(lines: Sequence[str]) -> list[str]:
    """Return lines with text; blank ones and lines of dashes say nothing about delimiters."""
    return [line for line in lines[:_LOOKED_AT] if re.search(r"[^-=+|\s]", line)]


def _lay_out_aligned(lines: Sequence[str], tail: Sequence[str], at: int) -> TableLayout:
    cut = [line.split(aligned.SEPARATOR) for line in aligned.cut_lines(lines[at - 1 :])]
    numbered = [(n, row) for n, row in enumerate(cut, at) if any(row)]
    last = [row for _, row in numbered[-_MOST_FOOTERS:]]
    if tail:
        cut_tail = aligned.cut_lines([lines[at - 1], lines[at] if at < len(lines) else "", *tail[1:]])
        last = [line.split(aligned.SEPARATOR) for line in cut_tail][-_MOST_FOOTERS:]
    layout = lay_out_rows(numbered, last, at)
    evidence = [f"Columns are aligned with spaces below line {at}", *layout.evidence]
    return msgspec.structs.replace(layout, evidence=evidence, is_aligned=True, merges=False)


def lay_out_rows(numbered: Numbered, last: Sequence[list[str]], chosen: int | None = None) -> TableLayout:
    """Find the header of rows with their lines; `last` are the last rows of the whole file."""
    if not numbered:
        raise ValueError("the file has no rows")
    if len(numbered[0][1]) > MOST_COLUMNS:
        found = f"line {numbered[0][0]} has more than {MOST_COLUMNS:,} columns"
        raise ValueError(f"{found}; set shape.delimiter if it is another one, or split the file")
    width = _width(numbered)
    titled = [(line, row) for line, row in numbered[:_MOST_TITLES] if not row[0].startswith("version:")]
    likely = [(line, row) for line, row in titled if _is_header(row, width)]
    rows = [row for _, row in numbered[:_LOOKED_AT] if not likely or row is not likely[0][1]]
    likely = [*likely[:1], *(each for each in likely[1:] if not _has_values(each[1], rows))]
    if chosen:
        likely = [(line, row) for line, row in numbered if line == chosen] or likely
    if chosen == NO_HEADER or not likely:
        return _without_header(numbered, width, is_chosen=chosen == NO_HEADER)
    first = likely[0] if chosen else _most_likely(likely)
    if not chosen and width == 1 and not known_words(first[1]):
        return _without_header(numbered, width, is_doubtful=True)
    return _with_header(numbered, last, first, likely, is_chosen=bool(chosen))


def _width(numbered: Numbered) -> int:
    """Return the usual number of fields; lines of one field above or below the rows do not count."""
    rows = [row for _, row in numbered[:_LOOKED_AT]]
    several = [row for row in rows if len(row) > 1]
    return max(most_common_width(several if len(several) > _OFTEN * len(rows) else rows), 1)


def _with_header(
    numbered: Numbered,
    last: Sequence[list[str]],
    chosen: tuple[int, list[str]],
    likely: Numbered,
    *,
    is_chosen: bool,
) -> TableLayout:
    header_line, cells = chosen
    header = _without_blank_end(cells)
    _check_repeats(header_line, header)
    totals, footers = _totals(last), _footers(last, len(header), header[0])
    left_out = {row[0].strip() for row in last if footers and _is_short(row, len(header))}
    left_out.update(totals)
    below = [row for line, row in numbered if line > header_line]
    above = [row for line, row in numbered if line < header_line]
    pages = _page_breaks(header, above, below)
    footers = [*footers, *(each for each in pages if each not in footers)]
    conditions = [msgspec.convert(each, RowCondition) for each in pages]
    rows = [row for row in below if not (row[0].strip() in left_out or any(c.matches(row[0]) for c in conditions))]
    evidence = []
    if pages:
        evidence.append(f"Lines between the rows repeat the header or the title and are left out: {_named(pages)}")
    if header_line > 1:
        title = " ".join(" ".join(numbered[0][1]).split())[:60]
        evidence.append(f"The header is line {header_line}; line {numbered[0][0]} is a title: {title}")
    others = [line for line, row in likely if _repeats_header(line, row, header_line)]
    if "" in header:
        header = [cell.strip() for cell in cells]
    merges = any(len(_without_blank_end(row)) > len(header) for row in rows)
    if merges:
        evidence.append(f"Some rows have more than {len(header)} fields: the last column contains the delimiter")
    if footers:
        evidence.append(f"The last lines are no rows and are left out: {', '.join(sorted(left_out))[:80]}")
    is_doubtful = not (is_chosen or known_words(header) or _differs(header, rows))
    skip_lines = header_line if "" in header else 0
    named = [cell or f"Column {n}" for n, cell in enumerate(header, 1)]
    return TableLayout(header_line, named, rows, evidence, others, is_doubtful, totals, footers, merges, skip_lines)


_LINES = ("--", "==", "+-", "+=")


def _page_breaks(
    header: Sequence[str], above: Sequence[Sequence[str]], below: Sequence[Sequence[str]]
) -> list[dict[str, Any]]:
    """Return conditions for what printed lists have between their rows: the header again, titles, lines of dashes."""
    column = header[0] or "Column 1"
    found: list[dict[str, Any]] = []
    if header[0] and any(row[0].strip() == header[0] and _without_blank_end(row) == list(header) for row in below):
        found.append({"column": column, "is": [header[0]]})
    # Numbers of pages and dates follow the words of a title.
    titles = {begin for row in above if len(begin := re.split(r"\d", row[0].strip(), maxsplit=1)[0].strip()) > 3}
    begins = [*sorted(titles), *_LINES]
    breaks = [begin for begin in begins if _only_breaks(begin, below, len(header))]
    return [*found, {"column": column, "startsWith": breaks}] if breaks else found


def _named(conditions: Sequence[dict[str, Any]]) -> str:
    words = [word for each in conditions for key, words in each.items() if key != "column" for word in words]
    return ", ".join(words)[:80]


def _only_breaks(begin: str, rows: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether rows begin with a text, and all of them are titles or lines of dashes."""
    found = [row for row in rows if row[0].strip().lower().startswith(begin.lower())]
    return bool(found) and all(_is_short(row, width) or _is_line(row) for row in found)


def _is_line(row: Sequence[str]) -> bool:
    return all(re.fullmatch(r"[-=+ ]*", cell) for cell in row)


def _without_header(
    numbered: Numbered, width: int, *, is_chosen: bool = False, is_doubtful: bool = False
) -> TableLayout:
    headers = [f"Column {n}" for n in range(1, width + 1)]
    evidence = [] if is_chosen else ["No line looks like a header: the first rows contain values"]
    return TableLayout(None, headers, [row for _, row in numbered], evidence, is_doubtful=is_doubtful)


def known_words(cells: Iterable[str]) -> int:
    """Count the cells that are known as headers."""
    return sum(is_known_header(cell) for cell in islice(cells, _MOST_COUNTED) if cell.strip())


def _has_values(row: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a cell occurs again in its column, as values do; a header may only occur again as a whole."""
    others = [other for other in rows if other != row]
    cells = [(n, cell) for n, cell in enumerate(row[:_MOST_COUNTED]) if cell.strip()]
    return any(other[n] == cell for other in others for n, cell in cells if n < len(other))


def _most_likely(likely: Numbered) -> tuple[int, list[str]]:
    """Return the first line, or a later one with twice as many known words."""
    best = likely[0]
    for line, row in likely[1:]:
        if known_words(row) >= 2 * max(known_words(best[1]), 1):
            best = line, row
    return best


def _differs(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a column has numbers, dates or addresses below a word."""
    for i in range(len(header)):
        values = [row[i].strip() for row in rows[:_LOOKED_AT] if i < len(row) and row[i].strip()]
        if values and sum(bool(_VALUE.fullmatch(value)) for value in values) > 0.8 * len(values):
            return True
    return False


def _check_repeats(line: int, header: Sequence[str]) -> None:
    for cell in header:
        if cell and header.count(cell) > 1:
            other = f"set shape.headers with shape.skipLines: {line}"
            raise ValueError(f"line {line} has the header {cell} twice; rename one, or {other}")


def _delimiter(lines: Sequence[str]) -> str:
    """Choose the delimiter that cuts most lines into the same number of fields, and into most."""
    if lines and (found := separator_line(lines[0])):
        return found

    def score(delimiter: str) -> tuple[float, int]:
        rows = [row for _, row in _parse("\n".join(_written(lines)), delimiter)]
        width = most_common_width(rows) if rows else 1
        return (sum(len(row) == width for row in rows) / max(len(rows), 1) if width > 1 else 0.0, width)

    best = max(DELIMITERS, key=score)
    # Times contain colons, so a colon separates fields only if nothing else does, and in every line.
    return ":" if score(best)[1] == 1 and score(":")[0] == 1 and score(":")[1] > 2 else best


def _parse(text: str, delimiter: str) -> Numbered:
    csv.field_size_limit(1024 * 1024)
    quote = "'" if text.lstrip().startswith("'") else '"'
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
    rows, begins = [], 1
    try:
        for row in reader:
            rows.append((begins, row))
            begins = reader.line_num + 1
    except csv.Error:
        pass
    return rows


def first_rows(text: str, delimiter: str, lines: int) -> str:
    """Return the beginning of a text, cut behind a whole row."""
    ends = [begins - 1 for begins, _ in _parse(text, delimiter) if 1 < begins <= lines + 1]
    kept = text.split("\n")
    return text if len(kept) <= lines else "\n".join([*kept[: ends[-1] if ends else lines], ""])


def _is_header(row: Sequence[str], width: int) -> bool:
    cells = _without_blank_end(row)
    named = [cell for cell in cells if cell]
    known = known_words(named)
    if len(named) < max(min(width, 2), _MOSTLY * width) and not known == len(named) > 1:
        return False
    if (len(named) < len(cells) or len(set(named)) < len(named)) and known < max(2, len(named) / 2):
        return False
    # A row of a file with merged fields is longer than its header.
    if abs(len(row) - width) > max(1, width // 4):
        return False
    return not any(_VALUE.fullmatch(cell) or len(cell) > 120 for cell in named)


def _repeats_header(line: int, row: Sequence[str], header_line: int) -> bool:
    """Return whether a line near the header consists of words of headers, such as one in another language."""
    is_text = all(re.fullmatch(r"[^\W\d][\w \-\[\]().]*", cell.strip() or "x") for cell in row)
    return 0 < line - header_line < 3 and is_text and known_words(row) == sum(bool(cell.strip()) for cell in row)


def _without_blank_end(header: Sequence[str]) -> list[str]:
    cells = [cell.strip() for cell in header]
    while len(cells) > 1 and not cells[-1]:
        cells.pop()
    return cells


def _totals(last: Sequence[list[str]]) -> list[str]:
    """Return the first cell of the last row if the row is a total."""
    rows = [row for row in last if any(cell.strip() for cell in row)]
    final = rows[-1] if rows else []
    first = final[0].strip() if final else ""
    word = re.sub(r"[^a-z]", "", first.lower())
    is_total = any(word.startswith(each) for each in _TOTALS) and sum(bool(cell.strip()) for cell in final) <= 3
    return [first] if is_total else []


def _is_short(row: Sequence[str], width: int) -> bool:
    return sum(bool(cell.strip()) for cell in row) == 1 and bool(row[0].strip()) and width > 1


def _footers(last: Sequence[list[str]], width: int, column: str) -> list[dict[str, Any]]:
    """Return conditions for lines of text below the rows, such as a copyright notice.

    A row that was cut off is none: it is rejected, because something is missing.
    """
    texts: list[str] = []
    for row in reversed([row for row in last if any(cell.strip() for cell in row)]):
        if not _is_short(row, width):
            break
        texts.insert(0, row[0].strip())
    if not any(_FOOTER.search(text) for text in texts):
        return []
    # Dates and counts in a footer differ in the next export.
    begins = {text: re.split(r"\d", text, maxsplit=1)[0].strip() for text in texts}
    starts = [begin for text, begin in begins.items() if begin != text and len(begin) > 3]
    ends = {text: re.split(r"\d", text)[-1].strip() for text, begin in begins.items() if begin not in starts}
    exact = [text for text, end in ends.items() if end == text or len(end) <= 3]
    found = [
        ("is", exact),
        ("startsWith", starts),
        ("endsWith", [end for text, end in ends.items() if text not in exact]),
    ]
    return [{"column": column, key: words} for key, words in found if words]


def named_delimiter(delimiter: str) -> str:
    names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", ":": "colon", "\x1f": "unit separator"}
    return names.get(delimiter, delimiter)
