"""Recognize columns of passwords and password hashes by their values, where no header says so."""

import re
from collections.abc import Iterable, Sequence

_MOST_LOOKED_AT = 200
_LEAST_SHARE = 1 / 3
# The prefix of a hash names its method, as in $2b$12$…, {SSHA}… and pbkdf2_sha256$….
_HASH = re.compile(
    r"\$(?:\d|2[abxy]|y|gy|7|P|H|S|apr1|md5|sha\d+|argon2\w{0,2}|scrypt|bcrypt[\w-]*|pbkdf2[\w-]*)\$\S+"
    r"|\{(?:S?SHA(?:\d{3})?|S?MD5|CRYPT|PBKDF2[\w-]*|ARGON2\w{0,2}|BCRYPT|x-issha[\w, -]*)\}\S+"
    r"|(?:pbkdf2_sha\d+|bcrypt(?:_sha256)?|argon2\w{0,2}|scrypt(?::[\d:]+)?|pbkdf2:[\w:]+|sha\d+|md5)\$\S+"
    r"|SCRAM-SHA-\d+\$\S+|md5[0-9a-f]{32}|\*[0-9A-F]{40}|0x0[12]00[0-9A-Fa-f]{48,}|[0-9A-Fa-f]{32}:[0-9A-Fa-f]{32}",
    re.IGNORECASE,
)
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
    """Return whether the values of a column without a header look like passwords or password hashes.

    The first column of a table names its rows: only hashes with a prefix are not names.
    """
    distinct = list(dict.fromkeys(text for value in values if (text := value.strip())))[:_MOST_LOOKED_AT]
    if not distinct or any(re.search(r"\s", text) or _EMAIL.fullmatch(text) for text in distinct):
        return False
    patterns = [_HASH] if is_first else [_HASH, _DIGEST, _STRONG]
    fitting = sum(any(pattern.fullmatch(text) for pattern in patterns) for text in distinct)
    return fitting >= _LEAST_SHARE * len(distinct)


def _name_of(position: int, values: Iterable[str]) -> str:
    name = f"Column {position + 1}"
    return f"{name} (password)" if are_secret(values, is_first=position == 0) else name
