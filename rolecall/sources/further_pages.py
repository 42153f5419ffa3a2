"""Detect members of a JSON response that indicate further pages.

Each sign is a pattern for the name and a test of the value. Names that some servers use to echo a parameter of the
request, such as `cursor`, are left out.
"""

import re
from collections.abc import Callable


def _refers(value: object, _: int | None) -> bool:
    """Return whether a value refers to a page: a non-empty string or object, a positive integer, or true."""
    return (isinstance(value, str | dict) and bool(value)) or value is True or (type(value) is int and value > 0)


def _is_true(value: object, _: int | None) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")


def _is_false(value: object, _: int | None) -> bool:
    return value is False


def _exceeds(value: object, read: int | None) -> bool:
    return read is not None and type(value) is int and value > read


_SIGNS: list[tuple[str, Callable[[object, int | None], bool]]] = [
    # Two patterns for names such as next, @odata.nextLink, next_cursor, nextRecordsUrl and nextPageToken.
    (r"(@odata\.|\$|_)?next[_-]?(records[_-]?)?(link|url|uri|href|cursor|token|marker|offset)?", _refers),
    (r"next[_-]?page([_-]?(token|cursor|url|link))?", _refers),
    (r"(has|is)[_-]?(more|next([_-]?page)?|truncated|partial)|truncated|incomplete[_-]?results", _is_true),
    (r"(is[_-]?)?last([_-]?page)?|done", _is_false),
    (r"(@odata\.)?count|total([_-]?(count|results|records|items|elements|size|hits|rows))?", _exceeds),
]
_PATTERNS = [(re.compile(pattern, re.IGNORECASE), means_more) for pattern, means_more in _SIGNS]
# Names that indicate more records only on the first page: on later pages, a server may echo values of the request.
_REPEATED = re.compile(r"(continuation|page)[_-]?token|offset|last[_-]?evaluated[_-]?key", re.IGNORECASE)


def says_more(name: str, value: object, read: int | None, *, is_first: bool) -> bool:
    """Return whether a member of a page indicates more records than were read.

    If `read` is None, counts are not compared.
    """
    if is_first and isinstance(value, str) and value and _REPEATED.fullmatch(name):
        return True
    return any(pattern.fullmatch(name) and means_more(value, read) for pattern, means_more in _PATTERNS)
