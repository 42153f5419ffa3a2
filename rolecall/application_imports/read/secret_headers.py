"""Recognize columns that hold secrets by their headers: they are never kept unless a shape names them in `keep`."""

import re
from collections.abc import Iterable, Sequence

from rolecall.applications.model import same_header

_ANYWHERE = ("password", "passwd", "passphrase", "apikey", "privatekey", "secretkey", "accesstoken", "kennwort")
_WORDS = {
    "credential",
    "credentials",
    "pwd",
    "secret",
    "secrets",
    "token",
    "tokens",
    "hash",
    "ssn",
    "pass",
    "unicodepwd",
    "passwort",
    "otp",
}
# Headers about a password that do not hold it: when it was changed, whether it expires.
_ABOUT = (
    "lastset", "lastused", "change", "expir", "never", "notrequired", "policy", "attempt", "rotation", "reversible",
    "cannot", "enabled", "badpassword", "badpwd", "replicat", "strongpassword", "blockcredential",
)  # fmt: skip
_ABOUT_WORDS = {
    "has",
    "provider",
    "age",
    "set",
    "date",
    "time",
    "count",
    "last",
    "used",
    "status",
    "length",
    "strength",
}
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def looks_secret(header: str) -> bool:
    folded = same_header(header)
    words = {part.lower() for part in _PARTS.findall(header)}
    if not (words & _WORDS or any(part in folded for part in _ANYWHERE)):
        return False
    return not (words & _ABOUT_WORDS or any(part in folded for part in _ABOUT))


def secret_headers(headers: Sequence[str], keep: Iterable[str]) -> list[str]:
    kept = {same_header(header) for header in keep}
    return [header for header in headers if looks_secret(header) and same_header(header) not in kept]
