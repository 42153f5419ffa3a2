"""Find titles of sections between the rows of a table, such as `SECURITY GROUP: Nurses`, and ask about them."""

import re
from collections.abc import Sequence
from typing import Any

from rolecall.core.text import some_of
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.header_names import names_access
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

# A label, a colon, and the title behind it or in the next cell. A login may contain a colon, but no blank after it.
_TITLE = re.compile(r"([^\W\d][^:=]{1,40}:)(?:\s.*)?")
_LEAST_COLUMNS, _MOST_FILLED = 2, 2
_MOST_SHOWN = 3


def find_titles(header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the titles between rows, and the conditions that leave out their lines.

    A title has fewer filled cells than the row below it.
    """
    if len(header) < _LEAST_COLUMNS:
        return [], []
    titles: dict[str, None] = {}
    labels: dict[str, None] = {}
    filled = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    written = [(row, cells) for row, cells in zip(rows, filled, strict=True) if cells]
    for n, (row, cells) in enumerate(written):
        match = _TITLE.fullmatch(row[0].strip())
        below = next((after for other, after in written[n + 1 :] if not _TITLE.fullmatch(other[0].strip())), [])
        if match and len(cells) <= _MOST_FILLED and len(cells) < len(below):
            titles[" ".join(" ".join(cells).split())] = None
            labels[match[1]] = None
    # A colon in the first cell of most rows is part of the values.
    if 2 * len(titles) > len(written):
        return [], []
    return list(titles), [{"column": header[0] or "Column 1", "startsWith": list(labels)}] if labels else []


def ask_for_titles(titles: Sequence[str]) -> list[OpenQuestion]:
    """Ask whether to import the rows without the titles above them, which may name their group."""
    if not titles:
        return []
    are_groups = any(names_access(title.partition(":")[0]) for title in titles)
    lost = "their groups or roles" if are_groups else "what they say"
    are = "Titles are" if len(titles) > 1 else "A title is"
    text = (
        f"{are} between the rows: {some_of(titles, _MOST_SHOWN)}. Titles are not read. Import the rows without {lost}? "
        "Otherwise, export a column with the title of each row"
    )
    return [OpenQuestion(text, [ProposedChoice("Yes, without the titles", "Username", AS_PROPOSED)])]
