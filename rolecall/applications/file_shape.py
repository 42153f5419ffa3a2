"""Describe as data how files of a file group are read: where the header is, what columns mean, how rows are built.

`docs/files.md` describes every key. A null shape means a file in standard form.
"""

import re
from typing import NamedTuple

import msgspec

from rolecall.applications.model import Content

# Formats of `dates` besides patterns such as %d.%m.%Y.
DATE_FORMATS = ("iso", "year first", "day first", "month first", "epoch", "epoch ms", "windows", "ldap", "excel")
# The key in `values` for every text that has no key of its own and is not blank.
ANY_OTHER = "*"
# The separator of a column whose cells are JSON arrays.
JSON = "json"
# `in_words` lists at most this many words of a condition.
_MOST_SHOWN = 5


_SEPARATORS = {
    ";": "a semicolon", ",": "a comma", "|": "a bar", ":": "a colon", "::": "two colons", "\n": "a line break",
    "/": "a slash", "~": "a tilde", "+": "a plus sign", "\t": "a tab", " ": "a space", "  ": "several spaces",
    "]": "a closing bracket",
}  # fmt: skip
_CONDITION_KEYS = {
    "is_": "is",
    "is_not": "isNot",
    "starts_with": "startsWith",
    "ends_with": "endsWith",
    "is_past": "isPast",
}


class RowCondition(msgspec.Struct, frozen=True, rename=_CONDITION_KEYS, omit_defaults=True):
    """A condition on the cells of a column, ignoring case.

    In a cell with a list of values, `is` matches if one value is equal, and `isNot` if none is.
    """

    column: str
    is_: list[str] = []
    is_not: list[str] = []
    starts_with: list[str] = []
    ends_with: list[str] = []
    # The date format. Rows with a date before today match.
    is_past: str = ""

    @property
    def in_words(self) -> str:
        """Describe the rows that match."""
        told = {
            "is": self.is_,
            "is not": self.is_not,
            "begins with": self.starts_with,
            "ends with": self.ends_with,
        }
        named = [f"{verb} {', '.join(_shown(words))}" for verb, words in told.items() if words]
        return f"{self.column} {' or '.join([*named, *(['is a date before today'] if self.is_past else [])])}"

    def matches(self, cell: str) -> bool:
        """Return whether a row with this cell matches; `is_past` is evaluated elsewhere, for whole columns."""
        text = cell.strip().lower()
        if self.is_not:
            return text not in map(_plain, self.is_not)
        begins = any(text.startswith(_plain(each)) for each in self.starts_with)
        return begins or text in map(_plain, self.is_) or any(text.endswith(_plain(each)) for each in self.ends_with)


def _shown(words: list[str]) -> list[str]:
    shown = [word or "blank" for word in words[:_MOST_SHOWN]]
    return [*shown, f"{len(words) - _MOST_SHOWN:,} more"] if len(words) > _MOST_SHOWN else shown


def _plain(text: str) -> str:
    return text.strip().lower()


class Unpivot(msgspec.Struct, frozen=True):
    """How to read a matrix: `headers` names the field for its headers, and `cells` the field for its cells."""

    # Columns outside the matrix, in addition to mapped columns. Used if `columns` is not set.
    keep: list[str] = []
    headers: str = "Permission"
    cells: str = "Access"
    # The columns of the matrix; all other columns are kept.
    columns: list[str] | msgspec.UnsetType = msgspec.UNSET


class FileShape(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Describe how a file becomes rows of one content, such as users."""

    header_line: int | None = None
    headers: list[str] = []
    skip_lines: int = 0
    delimiter: str | None = None
    # Whether columns are aligned with spaces below the header, or separated by borders as in `| ada | Active |`.
    aligned: bool = False
    # The positions at which the columns of `headers` begin; the first position of a line is 1.
    column_starts: list[int] = []
    merge_extra_fields: bool = False
    skip_rows_where: list[RowCondition] = []
    # Columns whose blank cells repeat the value above, as merged cells do.
    fill_down: list[str] = []
    # The sheet of a workbook, by default the first sheet.
    sheet: str | None = None
    records: str | None = None
    values: dict[str, dict[str, str]] = {}
    invert: list[str] = []
    blank: list[str] = []
    split: dict[str, str] = {}
    unpivot: Unpivot | None = None
    join: dict[str, str] = {}
    dates: dict[str, str] = {}
    ignore: list[str] = []
    keep: list[str] = []
    derive_users: bool = False
    # Questions that a proposal left open; imports that change something are held until this list is empty.
    open_questions: list[str] = []

    @property
    def changes_rows(self) -> bool:
        """Return whether a line may become no row, several rows, or rows that depend on other lines or the date."""
        is_printed = self.aligned or bool(self.column_starts)
        is_split = bool(self.split or self.unpivot or self.skip_rows_where or self.merge_extra_fields)
        return is_split or is_printed or bool(self.fill_down) or self.depends_on_date

    @property
    def depends_on_date(self) -> bool:
        """Return whether the same file may be read differently on another day."""
        is_asked = any("|past(" in pattern.replace(" ", "") for pattern in self.join.values())
        return is_asked or any(condition.is_past for condition in self.skip_rows_where)


class ContentShape(msgspec.Struct, frozen=True, omit_defaults=True):
    """Another content, such as memberships, that is read from the files of the group."""

    content: Content
    columns: dict[str, str] = {}
    shape: FileShape | None = None


class GroupShape(FileShape, frozen=True, omit_defaults=True):
    """The shape of a file group, whose files may have several contents."""

    contents: list[ContentShape] = []


class Placeholder(NamedTuple):
    """A column in a pattern of `join`, with its filters in order, each a name and an argument."""

    column: str
    filters: list[tuple[str, str]]


# Filters of placeholders, and whether each takes an argument, as in {mail|before(@)}.
FILTERS = {
    "lower": False,
    "upper": False,
    "initial": False,
    "first": False,
    "last": False,
    "rdn": False,
    "before": True,
    "after": True,
    "starting": True,
    "state": True,
    "stateless": True,
    "prefix": True,
    "suffix": True,
    "when": True,
    "unless": True,
    "past": True,
    "or": True,
    "as": True,
    "else": True,
}
# The separator of the words in the argument of `state` and `stateless`.
BETWEEN_WORDS = ";"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_FILTER = re.compile(r"([a-z]+)(?:\((.*)\))?")
# Headers may contain bars, such as Status(Enabled|Disabled): a bar is a separator only before the name of a filter.
_BAR = re.compile(rf"\|(?=\s*(?:{'|'.join(FILTERS)})\s*(?:[(|]|$))")
_UNKNOWN = re.compile(r"\|\s*([a-z]+(?:\([^()]*\))?)\s*(?=\||$)")


def separated_by(separator: str) -> str:
    """Say how the values of a cell are separated, such as `separated by a semicolon`."""
    return "as a list" if separator == JSON else f"separated by {_SEPARATORS.get(separator, separator)}"


def pattern_parts(pattern: str) -> list[str | Placeholder]:
    """Split a pattern such as `{first|lower}.{last}` into strings and placeholders; raise ValueError if invalid."""
    pieces = _PLACEHOLDER.split(pattern)
    parts: list[str | Placeholder] = []
    for number, piece in enumerate(pieces):
        if number % 2:
            parts.append(_placeholder(piece))
        elif "{" in piece or "}" in piece:
            raise ValueError(f"{pattern} has an unmatched brace")
        elif piece:
            parts.append(piece)
    if len(pieces) == 1:
        raise ValueError(f"{pattern} names no column; write columns in braces, such as {{first}}.{{last}}")
    return parts


def columns_in(pattern: str) -> list[str]:
    """Return the columns of a pattern's placeholders, in order; a column can occur more than once."""
    return [part.column for part in pattern_parts(pattern) if isinstance(part, Placeholder)]


def fits_patterns(column: str) -> bool:
    """Return whether a placeholder can name a column: its header has no braces and nothing that looks like a filter."""
    try:
        return pattern_parts(f"{{{column}|lower}}") == [Placeholder(column, [("lower", "")])]
    except ValueError:
        return False


def fits_filters(text: str) -> bool:
    """Return whether a text can be in the argument of a filter, as in {name|when(type=text)}."""
    try:
        return pattern_parts(f"{{c|when(c={text})|lower}}") == [
            Placeholder("c", [("when", f"c={text}"), ("lower", "")])
        ]
    except ValueError:
        return False


def _placeholder(text: str) -> Placeholder:
    column, *filters = (part.strip() for part in _BAR.split(text))
    if unknown := _UNKNOWN.search(column):
        filters.insert(0, unknown[1])
    found = [_FILTER.fullmatch(each) for each in filters]
    for each, match in zip(filters, found, strict=True):
        if match is None or FILTERS.get(match[1]) is not (match[2] is not None):
            known = ", ".join(f"{name}(text)" if takes else name for name, takes in FILTERS.items())
            raise ValueError(f"{each} is not a filter; use one of {known}")
        if match[1] in ("when", "unless") and "=" not in match[2]:
            raise ValueError(f"{each} must be {match[1]}(column=text)")
    if not column:
        raise ValueError("a placeholder must name a column")
    return Placeholder(column, [(match[1], match[2] or "") for match in found if match])
