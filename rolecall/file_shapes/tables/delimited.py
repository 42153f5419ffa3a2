"""Find the delimiter of a text, and the layout of its rows."""

import csv
import io
import re
from collections.abc import Sequence

import msgspec

from rolecall.application_imports.read.csv_text import FORMULA
from rolecall.application_imports.read.header_lines import DELIMITERS, separator_line
from rolecall.core.text import counted
from rolecall.file_shapes.columns.profiles import most_common_width
from rolecall.file_shapes.tables.headers import Numbered, lay_out_rows, width_of
from rolecall.file_shapes.tables.last_lines import MOST_FOOTERS
from rolecall.file_shapes.tables.sample_table import SampleTable

_LOOKED_AT = 300
_MOSTLY = 0.6


def lay_out_csv(text: str, tail: str, delimiter: str | None, header_line: int | None) -> SampleTable:
    """Return the rows of a delimited text. `delimiter` and `header_line` are None unless a person chose them."""
    lines = text.splitlines()
    delimiter = delimiter or _delimiter(lines)
    numbered = [(line, row) for line, row in _parse(text, delimiter) if any(cell.strip() for cell in row)]
    last = [row for line in (tail or text).splitlines()[-MOST_FOOTERS:] for _, row in _parse(line, delimiter)]
    table = lay_out_rows("CSV", numbered, last, header_line)
    evidence = [
        f"Delimiter {named_delimiter(delimiter)}: {counted(width_of(numbered), 'field')} in most lines",
        *table.evidence,
    ]
    return msgspec.structs.replace(table, delimiter=delimiter, evidence=evidence)


def has_delimiter(lines: Sequence[str]) -> bool:
    """Return whether most lines have the same delimiter. In such lines, spaces are only padding."""
    written = written_lines(lines)
    return any(sum(each in line for line in written) > _MOSTLY * len(written) for each in DELIMITERS)


def written_lines(lines: Sequence[str]) -> list[str]:
    """Return the first lines of a text, without blank lines and lines of dashes."""
    return [line for line in lines[:_LOOKED_AT] if re.search(r"[^-=+|\s]", line)]


def _delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that the first line declares, or else the most likely one.

    It is the one that splits the most lines into the same number of fields; on a tie, the one with more fields.
    """
    if lines and (found := separator_line(lines[0])):
        return found

    def score(delimiter: str) -> tuple[float, int]:
        rows = [row for _, row in _parse("\n".join(written_lines(lines)), delimiter)]
        width = most_common_width(rows) if rows else 1
        return (sum(len(row) == width for row in rows) / max(len(rows), 1) if width > 1 else 0.0, width)

    best = max(DELIMITERS, key=score)
    # Times contain colons, so use a colon only if no other delimiter fits and every line has the same number of them,
    # at least two.
    return ":" if score(best)[1] == 1 and score(":")[0] == 1 and score(":")[1] > 2 else best


def _parse(text: str, delimiter: str) -> Numbered:
    csv.field_size_limit(1024 * 1024)
    quote = "'" if text.lstrip().startswith("'") else '"'
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
    rows, begins = [], 1
    has_formulas = FORMULA.decode() in text
    try:
        for row in reader:
            rows.append((begins, [_without_formula(cell) for cell in row] if has_formulas else row))
            begins = reader.line_num + 1
    except csv.Error:
        # A field is too long, for example after a quote that is not closed: return the rows above it.
        pass
    return rows


def _without_formula(cell: str) -> str:
    text = cell.strip()
    return text[2:-1] if len(text) > 2 and text.startswith('="') and text.endswith('"') else cell


def first_rows(text: str, delimiter: str, lines: int) -> str:
    """Return at most the first `lines` lines of a text, cut at the end of a row if possible."""
    ends = [begins - 1 for begins, _ in _parse(text, delimiter) if 1 < begins <= lines + 1]
    kept = text.split("\n")
    return text if len(kept) <= lines else "\n".join([*kept[: ends[-1] if ends else lines], ""])


def named_delimiter(delimiter: str) -> str:
    names = {
        ",": "comma",
        ";": "semicolon",
        "\t": "tab",
        "|": "bar",
        ":": "colon",
        "\x1f": "unit separator",
        "\x01": "control-A",
    }
    return names.get(delimiter, delimiter)
