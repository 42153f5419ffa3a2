"""Compute statistics about the values of a column, such as the share of e-mail addresses."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from itertools import pairwise

import msgspec

from rolecall.application_imports.read.cell_lists import adjacent_names
from rolecall.application_imports.read.keyed_values import keyed_values, object_in
from rolecall.applications.field_words import ACCESS, ACTIVE, LOCKED, NO_ACCESS, NO_DATE
from rolecall.core.nested_json import decode_nested
from rolecall.core.secret_names import looks_secret
from rolecall.core.text import fold
from rolecall.file_shapes.columns.secret_values import are_hashes

# The repetitions are bounded, because otherwise a long text would take quadratic time (ReDoS).
_EMAIL = re.compile(r"[^@\s,;]{1,64}@[^@\s,;]{1,255}\.[^@\s,;]{1,63}")
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")
# PowerShell writes lists of distinguished names in braces.
_DN = re.compile(r"\{?(?:cn|uid|ou|dc|o)=", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r"[\d@*=/\\|<>]")
_LOGIN = re.compile(r"[^\s,;@]{1,64}")
_OPAQUE = re.compile(r"-?\d+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|/[^=\n]*+=.*|S-1-[\d-]+")
_DUMPED = re.compile(r"(?:System|Microsoft)\.[\w.+]+(?:`\d.*)?")
_WRITTEN_DATE = re.compile(
    r"(?:[^\W\d]{3,9},? )?(?:\d{1,2}[ .-]{1,2}[^\W\d]{3,9}|[^\W\d]{3,9}\.? \d{1,2})[,.]?[ -]{1,2}\d{4}(?:[ ,T]+\d.*)?"
)
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{8}$")
# Separators of lists inside a cell, with those that are rare in text first.
SEPARATORS = (";", "|", "#", "~", "\n", ",")
# Matches a text that says that an account is locked, such as `Locked by administrator`.
LOCK = re.compile(r"(?<!un)(?<!b)(?<!not )lock|(?<!nicht )(?<!ent)(?:ge)?sperr|verrouill", re.IGNORECASE)
# The separators between values that are padded to equal width.
_WIDE, _SPACE = "  ", " "
# A colon separates values in a few systems; in most, it is part of a value.
_COLON = ":"
_PLACES = {
    "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "DC", "FL", "GA", "HI", "ID", "IL", "IN", "IA", "KS", "KY", "LA",
    "ME", "MD", "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ", "NM", "NY", "NC", "ND", "OH", "OK", "OR",
    "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY", "PR", "AB", "BC", "MB", "NB", "NL",
    "NS", "NT", "NU", "ON", "PE", "QC", "SK", "YT",
}  # fmt: skip
_MOST_LISTED = 200
_ENOUGH = 0.8


class Profile:
    """A column of the sample.

    If `is_list`, its cells are JSON arrays, objects that map names to access, or plain texts with a single value.
    """

    def __init__(
        self, header: str, position: int, cells: list[str], *, is_list: bool = False, is_of_address: bool = False
    ) -> None:
        self.header = header
        self.position = position
        self.cells = cells
        self.is_list = is_list
        # Whether a state is part of an address, and not a status.
        self.is_of_address = is_of_address

    @cached_property
    def values(self) -> list[str]:
        """Return the values that are not blank; for a list column, the elements of all cells."""
        cells = [cell.strip() for cell in self.cells if cell.strip()]
        return [value for cell in cells for value in _elements(cell)] if self.is_list else cells

    @cached_property
    def lists(self) -> list[list[str]]:
        """Return the elements of each cell of a list column."""
        return [_elements(cell.strip()) if cell.strip() else [] for cell in self.cells]

    @cached_property
    def distinct(self) -> list[str]:
        return list(dict.fromkeys(self.values))

    @cached_property
    def is_unique(self) -> bool:
        return bool(self.values) and len(self.distinct) == len(self.values)

    @cached_property
    def is_filled(self) -> bool:
        return all(cell.strip() for cell in self.cells)

    @cached_property
    def is_useless(self) -> bool:
        """Return whether every value is the name of a class, which PowerShell may write instead of an object."""
        return self._share(lambda value: bool(_DUMPED.fullmatch(value))) == 1

    @cached_property
    def is_secret(self) -> bool:
        """Return whether the header looks like that of a secret, or all values are password hashes."""
        return looks_secret(self.header) or are_hashes(self.values)

    @cached_property
    def is_object(self) -> bool:
        """Return whether most values are JSON objects that describe something. They name neither people nor access."""
        return not self.is_list and self._share(lambda value: object_in(value) is not None) > _ENOUGH

    @cached_property
    def is_keyed(self) -> bool:
        """Return whether the column has objects that map names to access, such as `{"billing": ["viewer"]}`."""
        return self.is_list and any(cell.startswith("{") for cell in self.cells)

    @cached_property
    def emails(self) -> float:
        return self._share(lambda value: bool(_EMAIL.fullmatch(value)))

    @cached_property
    def numbers(self) -> float:
        return self._share(lambda value: bool(_NUMBER.fullmatch(value)))

    @cached_property
    def names(self) -> float:
        """Return the share of values that look like full names: two to five words."""
        return self._share(lambda value: 1 < len(value.split()) < 6 and not _NOT_IN_NAMES.search(value))

    @cached_property
    def logins(self) -> float:
        return self._share(lambda value: bool(_LOGIN.fullmatch(value)))

    @cached_property
    def is_login(self) -> bool:
        """Return whether the values may be logins: single words that are neither numbers, dates nor addresses."""
        return self.logins == 1 and not self.numbers and not self.date_formats

    @cached_property
    def is_opaque(self) -> bool:
        """Return whether every value is opaque: a number, a GUID, a SID or a path such as /O=Acme/CN=Ada."""
        return bool(self.values) and all(_OPAQUE.fullmatch(value) for value in self.distinct[:_MOST_LISTED])

    @cached_property
    def distinguished_names(self) -> float:
        filled = [value for value in self.distinct if value not in ("{}", "[]")][:_MOST_LISTED]
        return sum(bool(_DN.match(value)) for value in filled) / len(filled) if filled else 0.0

    @cached_property
    def statuses(self) -> float:
        return self._share(lambda value: fold(value) in ACTIVE)

    @cached_property
    def is_place(self) -> bool:
        """Return whether every value is the abbreviation of a state or province of North America."""
        return bool(self.values) and _PLACES.issuperset(self.distinct)

    @cached_property
    def is_lock(self) -> bool:
        """Return whether the values may say who is locked out: only numbers, or only words such as Yes or Locked."""
        return self.numbers == 1 or all(fold(value) in LOCKED or LOCK.search(value) for value in self.distinct)

    @cached_property
    def ticks(self) -> bool:
        """Return whether the values are ticks, as in a matrix: words for access or no access."""
        found = {fold(value) for value in self.values}
        return bool(found) and found <= ACCESS.keys() | NO_ACCESS

    @cached_property
    def unknown_statuses(self) -> list[str]:
        return [value for value in self.distinct if fold(value) not in ACTIVE]

    @cached_property
    def date_formats(self) -> list[str]:
        """Return the date formats that fit all values, ignoring words for no date."""
        values = [value for value in self.distinct if fold(value) not in NO_DATE][:_MOST_LISTED]
        return [name for name, fits in DATES.items() if values and all(map(fits, values))]

    @cached_property
    def is_dated(self) -> bool:
        """Return whether all values are dates, including dates with names of months; ignore words for no date."""
        values = [value for value in self.distinct if fold(value) not in NO_DATE][:_MOST_LISTED]
        return bool(self.date_formats) or (bool(values) and all(_WRITTEN_DATE.fullmatch(value) for value in values))

    @cached_property
    def separator(self) -> str | None:
        """Return the separator between several values in a cell; None if cells have one value."""
        if self.is_list:
            return "json"
        if self.is_object:
            return None
        if self._share(_is_array) > _ENOUGH:
            return "json"
        # Microsoft 365 joins the names of licences with a plus sign.
        is_licence = "licen" in self.header.lower()
        for separator in (*SEPARATORS, "+") if is_licence else SEPARATORS:
            # Commas are part of distinguished names.
            if separator == "," and self.distinguished_names:
                continue
            cells = [value for value in self.values if separator in value]
            if cells and all(_is_list(value, separator) for value in cells):
                return separator
        if self.distinguished_names and any(len(adjacent_names(value)) > 1 for value in self.distinct):
            return "json"
        if self._joins_values(_COLON):
            return _COLON
        if self._has_special_values:
            return _SPACE
        words = [value.split(_WIDE) for value in self.values if _WIDE in value]
        if words and all(len(each.split()) < 2 for value in words for each in value):
            return _WIDE
        # A value that fills the width of its column is followed by only one space.
        return _SPACE if words and all(map(_is_padded, self.values)) else None

    def _joins_values(self, sign: str) -> bool:
        """Return whether each value with `sign` has a part that also occurs alone: `Admins` in `Admins:Staff`."""
        values = self.distinct[:_MOST_LISTED]
        joined = [value.split(sign) for value in values if sign in value]
        alone = {value for value in values if sign not in value}
        return bool(joined) and all(all(parts) and alone.intersection(parts) for parts in joined)

    @cached_property
    def _has_special_values(self) -> bool:
        """Return whether all words begin with an asterisk, as on IBM i, and some cell has several words."""
        words = [word for value in self.distinct for word in value.split()]
        return len(words) > len(self.distinct) and all(word.startswith("*") for word in words)

    def _share(self, fits: Callable[[str], bool]) -> float:
        values = self.distinct[:_MOST_LISTED]
        return sum(map(fits, values)) / len(values) if values else 0.0


def _is_padded(value: str) -> bool:
    """Return whether the words of a value begin at equal distances."""
    begins = [match.start() for match in re.finditer(r"\S+", value)]
    return len({after - before for before, after in pairwise(begins)}) < 2


def _is_array(value: str) -> bool:
    """Return whether a value has the brackets of a JSON array, or the braces of a list in PostgreSQL or PowerShell."""
    return (value.startswith("[") and value.endswith("]")) or (value.startswith("{") and value.endswith("}"))


def _elements(cell: str) -> list[str]:
    if (found := object_in(cell)) is not None:
        return keyed_values(found)
    try:
        found = decode_nested(cell, list[object])
    except msgspec.DecodeError:
        return [cell]
    # Numbers are IDs, such as those of the members of a group.
    return [str(each) for each in found if isinstance(each, str | int) and not isinstance(each, bool)]


def _is_list(cell: str, separator: str) -> bool:
    parts = [part.strip() for part in cell.split(separator)]
    if separator == "\n":
        # Lists with a value on each line may have blank lines.
        parts = [part for part in parts if part]
    return all(part and len(part) <= 256 for part in parts if part or part is not parts[-1])


def _parses(*patterns: str) -> Callable[[str], bool]:
    def fits(value: str) -> bool:
        # Try the fast pattern first: parsing is slow, and a file may have thousands of columns.
        return bool(_DATE.match(value)) and any(is_date(value, pattern) for pattern in patterns)

    return fits


def is_date(value: str, pattern: str) -> bool:
    try:
        datetime.strptime(f"{value} +0000", f"{pattern} %z")
        return True
    except ValueError:
        return False


def _is_iso(value: str) -> bool:
    try:
        plain = re.sub(r"(\d) ([+-]\d\d:?\d\d)$", r"\1\2", value.replace("Z", "+00:00"))
        datetime.fromisoformat(re.sub(r"\.(\d{6})\d+", r".\1", plain))
        # `fromisoformat` also accepts dates without dashes, which are `year first`.
        return "-" in value
    except ValueError:
        return False


def _clocks(day: str) -> tuple[str, ...]:
    times = ("", " %H:%M", " %H:%M:%S", " %I:%M:%S %p", " %I:%M %p", " %I:%M:%S%p", " %I:%M%p")
    return tuple(f"{each}{time}" for each in (day, day.replace("/", "."), day.replace("/", "-")) for time in times)


def _between(low: int, high: int) -> Callable[[str], bool]:
    return lambda value: value.isdecimal() and value[0] != "0" and low <= int(value) <= high


# The formats of `dates` in a shape, each with a function that tests a value.
DATES: dict[str, Callable[[str], bool]] = {
    "iso": _is_iso,
    "year first": _parses(*_clocks("%Y/%m/%d"), "%Y%m%d", "%Y-%m-%d-%H.%M.%S", "%Y-%m-%d-%H.%M.%S.%f"),
    "month first": _parses(*_clocks("%m/%d/%Y"), *_clocks("%m/%d/%y")),
    "day first": _parses(*_clocks("%d/%m/%Y"), *_clocks("%d/%m/%y")),
    "epoch": _between(10**8, 10**10),
    "epoch ms": _between(10**11, 10**13),
    "windows": _between(10**16, 10**18),
    "ldap": lambda value: bool(re.fullmatch(r"\d{14}(?:\.\d+)?Z", value)),
}


# Excel serial dates. Only the header distinguishes them from other numbers.
EXCEL = "excel"
_is_serial = _between(30_000, 60_000)


def is_serial(column: Profile) -> bool:
    """Return whether all values could be Excel serial dates; words for no date (`NO_DATE`) are ignored."""
    values = [value for value in column.distinct if fold(value) not in NO_DATE][:_MOST_LISTED]
    return bool(values) and all(_is_serial(value.partition(".")[0]) for value in values)


def profiles_of(
    headers: Sequence[str], rows: Sequence[Sequence[str]], lists: Sequence[str] = (), addresses: Sequence[str] = ()
) -> list[Profile]:
    columns = [[row[i] if i < len(row) else "" for row in rows] for i in range(len(headers))]
    return [
        Profile(header, i, cells, is_list=header in lists, is_of_address=header in addresses)
        for i, (header, cells) in enumerate(zip(headers, columns, strict=True))
    ]


def most_common_width(rows: Sequence[Sequence[str]]) -> int:
    return Counter(len(row) for row in rows).most_common(1)[0][0]
