"""Cut lines whose columns are aligned with spaces, as command lines and databases print them."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# The separator of the fields that a line is cut into; no text has it.
SEPARATOR = "\x1f"
_RULE = re.compile(r"\s*[-=]{2,}(?:[ +]+[-=]+)*\s*")
_DASHES = re.compile(r"[-=]+")
_TITLE = re.compile(r"\S+(?: \S+)*")


class Columns(NamedTuple):
    """Where columns begin, and whether a line of dashes below the header says so."""

    starts: list[int]
    is_ruled: bool


def is_rule(line: str) -> bool:
    """Return whether a line consists of dashes, as below a header."""
    return _RULE.fullmatch(line) is not None


def columns_of(header: str, below: str) -> Columns:
    """Find where columns begin: at the dashes below the header, or at its titles, two spaces apart."""
    if is_rule(below):
        return Columns([match.start() for match in _DASHES.finditer(below.expandtabs())], is_ruled=True)
    return Columns([match.start() for match in _TITLE.finditer(header.expandtabs())], is_ruled=False)


def cut(line: str, starts: Sequence[int]) -> list[str]:
    """Cut a line into fields; one whose text crosses the beginning of a column stays in one piece there."""
    line = line.expandtabs()
    fits = [start for start in starts if start == 0 or start > len(line) or line[start - 1] == " "]
    ends = [*fits[1:], len(line)]
    return [line[start:end].strip() for start, end in zip(fits, ends, strict=True)]


def cut_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield the header and all lines below it with separators; lines of dashes and repeated headers become blank."""
    if not lines:
        return
    header = lines[0]
    starts = columns_of(header, lines[1] if len(lines) > 1 else "").starts
    yield SEPARATOR.join(cut(header, starts))
    for line in lines[1:]:
        is_row = line.strip() and not is_rule(line) and line != header
        yield SEPARATOR.join(cut(line, starts)) if is_row else ""
