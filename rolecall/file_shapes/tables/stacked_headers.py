"""Find a header of two lines, as in matrices in workbooks: a line of sections above the names of columns."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rolecall.file_shapes.columns.header_names import is_about_person, is_known_header

# Separates section and name in the joined header.
SEPARATOR = " / "
_MOST_TITLES = 20
_LEAST_COLUMNS, _LEAST_ROWS, _LEAST_SECTIONS = 3, 2, 2


class StackedHeader(NamedTuple):
    """The number of the second line, and the headers joined from both lines."""

    line: int
    headers: list[str]


def stacked_header(numbered: Sequence[tuple[int, list[str]]]) -> StackedHeader | None:
    """Return the header if a line of sections is directly above a line with names of columns."""
    for place, ((line, above), (next_line, below)) in enumerate(pairwise(numbered[:_MOST_TITLES]), 2):
        if next_line == line + 1 and len(numbered) - place >= _LEAST_ROWS and (found := _joined(above, below)):
            return StackedHeader(next_line, found)
    return None


def _joined(above: Sequence[str], below: Sequence[str]) -> list[str] | None:
    width = max(len(above), len(below))
    pairs = [(_cell(above, i), _cell(below, i).replace(SEPARATOR, "/")) for i in range(width)]
    headers, section, merged = [], "", 0
    for title, name in pairs:
        section = title or section
        merged += bool(name and not title)
        if not (title or name):
            return None
        # The first columns, such as User, may have no section.
        headers.append(f"{section}{SEPARATOR}{name}" if name and section else name or title)
        section = section if name else ""
    titles = [title for title, _ in pairs if title]
    if not pairs[0][0] and len(titles) < _LEAST_SECTIONS:
        # A single title behind columns without one is that of the whole matrix.
        return None
    headers = _without_first_section(headers)
    plain = [header for header in headers if SEPARATOR not in header]
    is_matrix = merged and len(headers) - len(plain) >= _LEAST_COLUMNS and any(map(is_known_header, plain))
    return headers if is_matrix and len(set(headers)) == len(headers) else None


def _without_first_section(headers: list[str]) -> list[str]:
    """Drop the section above the columns about the account, such as User above User ID and Name."""
    first = headers[0].partition(SEPARATOR)[0]
    own = [header for header in headers if header.startswith(f"{first}{SEPARATOR}")]
    names = [header.partition(SEPARATOR)[2] for header in own]
    others = [header.partition(SEPARATOR)[2] for header in headers if header not in own]
    # The upper line is a title if the columns outside the first section have usual headers, not names of permissions.
    is_title = any(map(is_about_person, others)) or 3 * sum(map(is_known_header, others)) > len(others)
    if not any(map(is_about_person, names)) or is_title:
        return headers
    return [*names, *(header for header in headers if header not in own)]


def _cell(row: Sequence[str], place: int) -> str:
    return row[place].strip() if place < len(row) else ""
