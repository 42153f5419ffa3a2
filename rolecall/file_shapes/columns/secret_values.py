"""Recognize columns of passwords and password hashes by their values, where no header says so."""

import re
from collections.abc import Iterable, Sequence

from rolecall.core.secret_names import is_password_hash

_MOST_LOOKED_AT = 200
_LEAST_SHARE = 1 / 3
# A hash without a prefix, in hexadecimal digits or base64. Identifiers may look like it too.
_DIGEST = re.compile(
    r"[0-9A-Fa-f]{32}|[0-9A-Fa-f]{40}|[0-9A-Fa-f]{56}|[0-9A-Fa-f]{64}|[0-9A-Fa-f]{96}|[0-9A-Fa-f]{128}"
    r"|[A-Za-z0-9+/]{27}=|[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}=="
)
_STRONG = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*(?:[!@#%^&*?]|\$.))[^\s/\\:|;,]{6,64}")
_EMAIL = re.compile(r"[^@]+@[^@]+\.[A-Za-z]{2,}")


def name_columns(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the headers with a name for each blank one. Columns of passwords get a name that says so."""
    return [header or _name_of(n, [row[n] for row in rows if n < len(row)]) for n, header in enumerate(headers)]


def are_secret(values: Iterable[str], *, is_first: bool = False) -> bool:
    """Return whether at least a third of the values of a column without a header look like passwords or their hashes.

    Return False if any has white space or is an e-mail address. The first column of a table names its rows, so only
    hashes with a prefix count there.
    """
    distinct = list(dict.fromkeys(text for value in values if (text := value.strip())))[:_MOST_LOOKED_AT]
    if not distinct or any(re.search(r"\s", text) or _EMAIL.fullmatch(text) for text in distinct):
        return False
    patterns = [] if is_first else [_DIGEST, _STRONG]
    fitting = sum(is_password_hash(text) or any(each.fullmatch(text) for each in patterns) for text in distinct)
    return fitting >= _LEAST_SHARE * len(distinct)


def _name_of(position: int, values: Iterable[str]) -> str:
    name = f"Column {position + 1}"
    return f"{name} (password)" if are_secret(values, is_first=position == 0) else name


def are_hashes(values: Iterable[str]) -> bool:
    """Return whether all values of a column are password hashes that name their method."""
    distinct = list(dict.fromkeys(text for value in values if (text := value.strip())))[:_MOST_LOOKED_AT]
    return bool(distinct) and all(map(is_password_hash, distinct))
