"""Cut the lines of printed tables into fields: columns aligned with spaces, or boxes drawn with bars.

Command-line tools, databases and mainframes print such tables.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

# The separator that is written between the fields of a line; it does not occur in values.
SEPARATOR = "\x1f"
_RULE = re.compile(r"\s*[-=]{2,}(?:[ +]+[-=]+)*\s*")
_DASHES = re.compile(r"[-=]+")
_TITLE = re.compile(r"\S+(?: \S+)*")
_BARS = "|\u2502\u2503\u2551"
# Lines above, between and below the rows of a box: dashes, plus signs, and the box drawing characters of Unicode.
_DASH = set("-=\u2500\u2501\u2550")
_BOX = {*_DASH, *"+|: ", *map(chr, range(0x2500, 0x2580))}


class Columns(NamedTuple):
    """The positions at which columns begin, and whether a line of dashes below the header gives them."""

    starts: list[int]
    is_ruled: bool


def is_rule(line: str) -> bool:
    """Return whether a line consists of dashes or equals signs, as below a header."""
    return _RULE.fullmatch(line) is not None


def is_box_rule(line: str) -> bool:
    signs = set(line.strip())
    return signs <= _BOX and bool(signs & _DASH)


def is_boxed(line: str) -> bool:
    """Return whether a line is a row of a box, such as `| ada | Active |`."""
    text = line.strip()
    return len(text) > 2 and text[0] in _BARS and text[-1] == text[0] and not is_box_rule(text)


def columns_of(header: str, below: str) -> Columns:
    """Return where columns begin: at the dashes below the header, or at titles that are at least two spaces apart.

    One unbroken line of dashes only separates the header from the rows.
    """
    dashes = [match.start() for match in _DASHES.finditer(below.expandtabs())] if is_rule(below) else []
    if len(dashes) > 1:
        return Columns(dashes, is_ruled=True)
    return Columns([match.start() for match in _TITLE.finditer(header.expandtabs())], is_ruled=False)


def cut(line: str, starts: Sequence[int]) -> list[str]:
    """Cut a line into fields. A line with text before the first column or across a column start stays one field."""
    line = line.expandtabs().rstrip()
    if line[: starts[0]].strip() or any(
        " " not in line[start - 1 : start + 1] for start in starts if 0 < start < len(line)
    ):
        return [line.strip()]
    ends = [*starts[1:], len(line)]
    return [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def cut_box(line: str) -> list[str]:
    """Split a row of a bordered table at its vertical bars; return any other line as one field."""
    text = line.strip()
    return [cell.strip() for cell in text[1:-1].split(text[0])] if is_boxed(line) else [text]


def cut_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield the header and all lines below it with separators; lines of dashes and repeated headers become blank."""
    if not lines:
        return
    header, below = lines[0], lines[1:]
    if is_boxed(header):
        yield _named(cut_box(header))
        yield from (SEPARATOR.join(cut_box(line)) if not is_box_rule(line) and line != header else "" for line in below)
        return
    starts = columns_of(header, below[0] if below else "").starts
    yield _named(cut(header, starts))
    yield from cut_at(below, starts, [header])


def _named(header: Sequence[str]) -> str:
    """Return a header with names for unnamed columns, such as a column of check boxes."""
    return SEPARATOR.join(cell or f"Column {n}" for n, cell in enumerate(header, 1))


def cut_at(lines: Iterable[str], starts: Sequence[int], headers: Iterable[str]) -> Iterator[str]:
    """Yield lines with separators at `starts`; lines of dashes and repeated headers become blank."""
    repeated = set(headers)
    for line in lines:
        is_row = line.strip() and not is_rule(line) and line not in repeated
        yield SEPARATOR.join(cut(line, starts)) if is_row else ""


def lines_of(text: str) -> list[str]:
    """Split a text into lines, without carriage returns and the form feeds that begin printed pages."""
    return [line.strip("\f\r") for line in text.split("\n")]
