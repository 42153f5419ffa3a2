"""Decode JSON that others wrote. Refuse JSON that is nested so deeply that recursive functions would fail."""

from typing import Any

import msgspec

DEEPEST_JSON = 64


class NestedTooDeeply(msgspec.DecodeError):
    """JSON has more levels of nesting than the service reads."""


def decode_nested(text: str | bytes | msgspec.Raw, type: Any = Any) -> Any:
    """Decode JSON; raise NestedTooDeeply if it has more than `DEEPEST_JSON` levels."""
    try:
        value = msgspec.json.decode(text, type=type)
    except RecursionError:
        raise NestedTooDeeply from None
    return require_nesting(value)


def require_nesting(value: Any) -> Any:
    """Return the decoded JSON; raise NestedTooDeeply if it has more than `DEEPEST_JSON` levels."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST_JSON):
        inside = (each.values() if isinstance(each, dict) else each for each in level)
        level = [inner for each in inside for inner in each if isinstance(inner, dict | list)]
        if not level:
            return value
    raise NestedTooDeeply
