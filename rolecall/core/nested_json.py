"""Decode untrusted JSON, with two safeguards.

JSON that is nested so deeply that recursive functions would exceed the recursion limit is rejected, and all values of a
repeated name are kept.
"""

import json
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


def decode_json(text: str) -> Any:
    """Decode JSON. If an object repeats a name, return its values as a list, so that none of them is lost."""
    # A hook that merges members is slow, so only check for repeated names first, and merge only if there are any.
    value = msgspec.json.decode(text)
    try:
        json.loads(text, strict=False, object_pairs_hook=_require_distinct, parse_int=str, parse_float=str)
    except _RepeatedNameError:
        number = msgspec.json.decode
        return json.loads(text, strict=False, object_pairs_hook=_merged, parse_int=number, parse_float=number)
    return value


class _RepeatedNameError(Exception):
    """A JSON object has two members with the same name."""


def _require_distinct(members: list[tuple[str, Any]]) -> None:
    if len(dict(members)) < len(members):
        raise _RepeatedNameError


def _merged(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for name, value in members:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}
