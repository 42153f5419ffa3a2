"""Find the lines of a table that are not rows: totals, footers, legends and page breaks."""

import re
from collections import Counter
from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import msgspec

from rolecall.applications.file_shape import RowCondition
from rolecall.file_shapes.tables.section_titles import find_titles

MOST_FOOTERS = 12
_TOTALS = {
    "total", "totals", "grandtotal", "sum", "count", "rows", "endofreport", "endoffile", "summe", "gesamt", "trailer",
    "footer", "eof", "totaal", "totale", "totaux", "somma", "razem", "celkem", "toplam", "итого", "yhteensä",
}  # fmt: skip
_FOOTER = re.compile(
    r"copyright|©|confidential|generated|exported|created by|printed|end of|\brows?\b|\brecords?\b|\bpage \d|total"
    r"|\blegend|vertraulich|erstellt|confidentiel|return status|command completed|succeeded$|selektiert$|ausgewählt$"
    # A count in any language, or a line for a signature, such as `____` or `Approved:`.
    r"|[^\W\d]{3}\s{0,3}[:=]\s{0,40}[\d.,]{1,20}$|_{4}|[^\W\d]{3}:$"
    # The legend of a matrix: R = read, W = write.
    r"|[^\s=] = [^\s=]",
    re.IGNORECASE,
)
# A count below the rows, such as `17 entries were displayed`.
_COUNTED = re.compile(r"\d[\d.,]{0,15} (?:entries|entry|users|accounts|members|items|objects|results)\b")
_KEY = re.compile(r"\s*\S{1,12} = \S")
_SUBTOTAL = re.compile(
    r"(?:total|count)[ :=]{1,40}[\d.,]+$|(?:users|rows|records|members|accounts) ?[:=] {0,40}[\d.,]+$", re.IGNORECASE
)
_TOTAL = re.compile(r"(?:grand |report )?totals?\b|number of |count of ", re.IGNORECASE)
_COUNT = re.compile(r"(?:sum|summe|gesamt|anzahl|suma|somma|totale?|nombre|aantal|razem|celkem)\b", re.IGNORECASE)
_END = re.compile(r"end of (?:report|list|listing|file|data)|e n d +o f", re.IGNORECASE)
_NUMBER = re.compile(r"[\d.,% ]{1,40}")
_LEAST_COUNTED = 2
_LEAST_LEGEND = 2
# A text below the rows is a note if it has at least this many words, and no row has more than one in its first cell.
_LEAST_WORDS = 3
_RULES = ("--", "==", "+-", "+=")


class RowsBelow(NamedTuple):
    """The rows below a header, the first cells of totals, and the conditions that leave out other lines."""

    rows: list[list[str]]
    totals: list[str]
    conditions: list[dict[str, Any]]
    evidence: list[str]
    # Titles of sections between the rows.
    titles: list[str]


def find_rows(
    header: Sequence[str], above: Sequence[list[str]], below: Sequence[list[str]], last: Sequence[list[str]]
) -> RowsBelow:
    """Separate rows from other lines. `above`: the lines above the header; `last`: the last lines of the file."""
    # In a short file, the last lines may include the lines above the header.
    last = [row for row in last if row not in above]
    legend = _find_legend(below, last)
    last = last[: len(last) - len(legend)]
    names = [row[0] for row in below if not _is_short(row, len(header))]
    footers = _find_footers(last, len(header), header[0] or "Column 1", names)
    ended = [row for row in last if not footers or not _is_text(row, len(header))]
    totals = _find_totals(ended) or _find_counts(below, ended)
    late = _find_late_totals(header, ended)
    pages = [each for each in _page_breaks(header, above, below) if each not in footers]
    ends = [row for row in last if _is_text(row, len(header)) or _is_total(row)]
    texts = {row[0].strip() for row in ends if footers and row[0].strip()}.union(totals)
    conditions = [msgspec.convert(each, RowCondition) for each in pages]
    texts.update(row[0].strip() for row in legend)
    if legend:
        footers = [*footers, {"column": header[0] or "Column 1", "is": [row[0].strip() for row in legend]}]
    rows = [row for row in below if row[0].strip() not in texts and not any(c.matches(row[0]) for c in conditions)]
    inner = _find_inner_counts(header, rows)
    rows = [row for row in rows if not any(_has(row, header, each) for each in [*late, *inner])]
    titles, sections = find_titles(header, [row for row in rows if not _is_count(row, len(header))])
    rows = [row for row in rows if not any(msgspec.convert(c, RowCondition).matches(row[0]) for c in sections)]
    evidence = []
    if inner:
        evidence.append(f"Lines between the rows are subtotals and are left out: {_named(inner)}")
    if pages:
        evidence.append(f"Lines between the rows are page breaks or subtotals and are left out: {_named(pages)}")
    shown = ", ".join(" ".join(text.split()) for text in sorted(texts))
    if footers:
        evidence.append(f"The last lines are not rows and are left out: {shown[:80]}")
    if late:
        evidence.append(f"The last line is a total and is left out: {_named(late)}")
    left_out = [*footers, *pages, *sections, *[each for each in inner if each not in late], *late]
    return RowsBelow(rows, totals, left_out, evidence, titles)


def _find_inner_counts(header: Sequence[str], rows: Sequence[list[str]]) -> list[dict[str, Any]]:
    """Return conditions that leave out subtotals: texts such as Total, in several rows whose first cell is blank.

    If the texts differ, as in `Total of branch 7`, compare their first words, unless a row that is not a subtotal
    begins with the same word.
    """
    found: dict[int, Counter[str]] = {}
    for row in rows:
        filled = [(n, cell.strip()) for n, cell in enumerate(row) if cell.strip()]
        is_count = len(filled) > 1 and 0 < filled[0][0] < len(header) and _is_subtotal([cell for _, cell in filled])
        if is_count and header[filled[0][0]]:
            found.setdefault(filled[0][0], Counter())[filled[0][1]] += 1
    conditions = []
    for at, texts in found.items():
        same = [text for text, count in texts.items() if count > 1]
        begins = sorted({text.split()[0] + " " for text in texts if " " in text and text not in same})
        cells = [row[at].strip() for row in rows if at < len(row)]
        begins = [each for each in begins if _is_repeated(each, cells, texts)]
        conditions += [{"column": header[at], "is": [text]} for text in same]
        conditions += [{"column": header[at], "startsWith": begins}] if begins else []
    return conditions


def _is_repeated(begin: str, cells: Sequence[str], subtotals: Counter[str]) -> bool:
    """Return whether several cells begin with a text, and all of them are subtotals."""
    begun = [cell for cell in cells if cell.startswith(begin)]
    return len(begun) > 1 and all(cell in subtotals for cell in begun)


def _is_subtotal(cells: Sequence[str]) -> bool:
    first, *others = cells
    is_word = first.rstrip(":").lower() in _TOTALS or bool(_TOTAL.match(first) or _COUNT.match(first))
    return is_word and all(map(_NUMBER.fullmatch, others))


def _find_legend(below: Sequence[list[str]], last: Sequence[list[str]]) -> list[list[str]]:
    """Return the lines below the last blank line if they are a legend: a title, then words, each with its meaning.

    Return an empty list unless all rows outside these lines have at least three filled cells.
    """
    blank = [n for n, row in enumerate(last) if not any(cell.strip() for cell in row)]
    block = list(last[blank[-1] + 1 :]) if blank else []
    if len(block) < _LEAST_LEGEND or _filled(block[0]) != [0] or any(_filled(row) != [0, 1] for row in block[1:]):
        return []
    return block if all(len(_filled(row)) > len((0, 1)) for row in below if row not in block) else []


def _filled(row: Sequence[str]) -> list[int]:
    return [n for n, cell in enumerate(row) if cell.strip()]


def _find_counts(below: Sequence[list[str]], last: Sequence[list[str]]) -> list[str]:
    """Return the first cell of the last row if this row contains counts of the cells above it.

    Such a row has only numbers after its first cell, at least two, and their columns have only texts above them.
    """
    rows = [row for row in last if any(cell.strip() for cell in row)]
    final = rows[-1] if rows else [""]
    filled = [n for n, cell in enumerate(final) if n and cell.strip()]
    if not final[0].strip() or len(filled) < _LEAST_COUNTED or not all(_NUMBER.fullmatch(final[n]) for n in filled):
        return []
    others = [row for row in below if row != final and len(row) > filled[-1]]
    cells = [[row[n].strip() for row in others if row[n].strip()] for n in filled]
    return [final[0].strip()] if all(each and not any(map(_NUMBER.fullmatch, each)) for each in cells) else []


def _find_late_totals(header: Sequence[str], last: Sequence[list[str]]) -> list[dict[str, Any]]:
    """Return the condition that leaves out a total in the last line if its text is not in the first column."""
    rows = [row for row in last if any(cell.strip() for cell in row)]
    filled = [(n, cell.strip()) for n, cell in enumerate(rows[-1]) if cell.strip()] if rows else []
    at, text = filled[0] if filled else (0, "")
    is_total = bool(rows) and _is_counted(rows[-1])
    return [without_total(header[at], text)] if is_total and 0 < at < len(header) and header[at] else []


def _is_counted(row: Sequence[str]) -> bool:
    """Return whether the first text of a row begins with a word for a total, and any other cells are numbers."""
    first, *others = [cell.strip() for cell in row if cell.strip()] or [""]
    return all(map(_NUMBER.fullmatch, others)) and bool(_TOTAL.match(first) or _COUNT.match(first))


def _has(row: Sequence[str], header: Sequence[str], condition: dict[str, Any]) -> bool:
    at = header.index(condition["column"])
    return not row[0].strip() and at < len(row) and msgspec.convert(condition, RowCondition).matches(row[at])


def _page_breaks(
    header: Sequence[str], above: Sequence[Sequence[str]], below: Sequence[Sequence[str]]
) -> list[dict[str, Any]]:
    """Return conditions that leave out page breaks: repeated headers and titles, subtotals and lines of dashes."""
    column = header[0] or "Column 1"
    found: list[dict[str, Any]] = []
    if header[0] and any(row[0].strip() == header[0] and without_blank_end(row) == list(header) for row in below):
        found.append({"column": column, "is": [header[0]]})
    titles = {begin for row in above if len(begin := _begin(row)) > 3}
    counts = [row for row in below if _is_count(row, len(header))]
    # Ignore a single word without a colon, because the name of an account could begin with the same word.
    totals = {begin for row in counts if re.search(r"[ :]", begin := _begin(row))}
    known = {_without_numbers(row) for row in above}
    wanted = [*sorted(titles), *sorted(totals - titles), *_RULES]
    breaks = [begin for begin in wanted if _only_breaks(begin, below, len(header), known)]
    return [*found, {"column": column, "startsWith": breaks}] if breaks else found


def _begin(row: Sequence[str]) -> str:
    """Return the text of a title or total before its first number. Keep a leading digit: a 1 marks a page break."""
    return re.split(r"(?<!^)\d", row[0].strip(), maxsplit=1)[0].strip()


def _without_numbers(row: Sequence[str]) -> str:
    return re.sub(r"[\d\s]+", " ", " ".join(row)).strip()


def _named(conditions: Sequence[dict[str, Any]]) -> str:
    words = [word for each in conditions for key, words in each.items() if key != "column" for word in words]
    return ", ".join(" ".join(word.split()) for word in words)[:80]


def _only_breaks(begin: str, rows: Sequence[Sequence[str]], width: int, titles: Set[str]) -> bool:
    """Return whether a row begins with this text, and no such row is data.

    Titles, subtotals, lines of dashes and lines with only one cell are not data.
    """
    found = [row for row in rows if row[0].strip().lower().startswith(begin.lower())]
    return bool(found) and all(
        _is_short(row, width) or _is_rule(row) or _is_count(row, width) or _without_numbers(row) in titles
        for row in found
    )


def _is_count(row: Sequence[str], width: int) -> bool:
    """Return whether a row is a subtotal, such as the count of a branch or a department."""
    return sum(bool(cell.strip()) for cell in row) < width and bool(_SUBTOTAL.search(" ".join(row).rstrip()))


def _is_total(row: Sequence[str]) -> bool:
    """Return whether a row has only a text such as `TOTAL USERS` or `Anzahl Benutzer:`, and a number after it."""
    first, *others = [cell.strip() for cell in row]
    filled = [cell for cell in others if cell]
    # A single word for a count may be a login, unless it ends in a colon.
    is_count = first.endswith(":") or (bool(_COUNT.match(first)) and " " in first)
    return len(filled) == 1 and bool(_NUMBER.fullmatch(filled[0])) and (is_count or bool(_TOTAL.match(first)))


def _is_rule(row: Sequence[str]) -> bool:
    return all(re.fullmatch(r"[-=+ ]*", cell) for cell in row)


def _find_totals(last: Sequence[list[str]]) -> list[str]:
    """Return the first cell of the last row if the row is a total."""
    rows = [row for row in last if any(cell.strip() for cell in row)]
    final = rows[-1] if rows else []
    first = final[0].strip() if final else ""
    words = re.findall(r"[a-z]+", first.lower())
    others = [cell.strip() for cell in final[1:] if cell.strip()]
    if all(_NUMBER.fullmatch(cell) for cell in others):
        return [first] if any("".join(words).startswith(each) for each in _TOTALS) else []
    # If other cells contain texts, compare whole words: a login may begin like a word for a total.
    is_total = any("".join(words[:n]) in _TOTALS for n in range(1, len(words) + 1))
    return [first] if len(others) <= 2 and is_total else []


def without_total(column: str, text: str) -> dict[str, Any]:
    """Return the condition that leaves out a total.

    Compare only the text before a count, unless it is very short: the count differs in the next export.
    """
    begin = re.split(r"\d", text, maxsplit=1)[0].strip()
    is_counted = begin != text and len(begin) > 3
    return {"column": column, "startsWith": [begin]} if is_counted else {"column": column, "is": [text]}


def _is_short(row: Sequence[str], width: int) -> bool:
    return sum(bool(cell.strip()) for cell in row) == 1 and bool(row[0].strip()) and width > 1


def _is_text(row: Sequence[str], width: int) -> bool:
    """Return whether a row is not data: a lone text, a line that ends a report, or a legend such as `R = read`.

    The delimiter may have split such a line into several cells.
    """
    filled = [cell for cell in row if cell.strip()]
    is_key = bool(row[0].strip()) and len(filled) < width and all(map(_KEY.match, filled))
    is_end = bool(row[0].strip()) and bool(_END.search(" ".join(row)))
    is_count = len(filled) < width and bool(_COUNTED.match(row[0].strip()))
    return _is_short(row, width) or is_end or is_key or is_count


def _find_footers(last: Sequence[list[str]], width: int, column: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return conditions that leave out lines of text below the rows, such as a copyright notice.

    `names` has the first cells of the rows. Return an empty list if no line looks like a footer or a note: a lone
    text may be a truncated row, which the import rejects.
    """
    texts: list[str] = []
    for row in reversed([row for row in last if any(cell.strip() for cell in row)]):
        if texts and not row[0].strip() and _is_counted(row):
            # Skip the total above the text: another condition leaves it out.
            continue
        if not _is_text(row, width) and not _is_total(row):
            break
        texts.insert(0, row[0].strip())
    if not any(_is_footer(text) or _is_note(text, names) for text in texts):
        return []
    # Compare without dates and counts, because they differ in the next export.
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


def _is_footer(text: str) -> bool:
    is_count = bool(_COUNTED.match(text)) or (bool(_COUNT.match(text)) and " " in text)
    return is_count or bool(_FOOTER.search(text)) or text.strip("* ").lower().startswith("end")


def _is_note(text: str, names: Sequence[str]) -> bool:
    """Return whether a text is a note: it has several words, but the first cell of each row has at most one."""
    return len(text.split()) >= _LEAST_WORDS and bool(names) and all(len(name.split()) <= 1 for name in names)


def without_blank_end(row: Sequence[str]) -> list[str]:
    cells = [cell.strip() for cell in row]
    while len(cells) > 1 and not cells[-1]:
        cells.pop()
    return cells
