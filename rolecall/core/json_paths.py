"""Find values in nested JSON by paths such as `name.givenName` or `emails[type=work].value`."""

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

Record = Mapping[str, object]
_DEEPEST = 20


def flattened(
    record: Record, prefix: str = "", depth: int = _DEEPEST, whole: Collection[str] = ()
) -> Iterator[tuple[str, object]]:
    """Yield each value with its dotted name.

    Lists, objects nested deeper than `depth`, and objects at the paths `whole` are not flattened.
    """
    for name, value in record.items():
        if isinstance(value, dict) and value and depth and f"{prefix}{name}" not in whole:
            yield from flattened(value, f"{prefix}{name}.", depth - 1, whole)
        else:
            yield f"{prefix}{name}", value


def value_at(value: object, path: str) -> object:
    """Return the value at a path: `name.givenName`, `emails[type=work].value`, `emails[0].value` or `groups[].name`.

    Return None if there is no such value.
    """
    if not path:
        return value
    if isinstance(value, dict) and path in value:
        return value[path]
    parts = path.split(".")
    # A name may itself contain dots, so try the longest one first.
    for size in range(len(parts), 0, -1):
        name, brackets = _step(".".join(parts[:size]))
        if isinstance(value, dict) and name in value:
            return _selected(value[name], brackets, ".".join(parts[size:]))
    return None


@lru_cache(maxsize=10_000)
def _step(text: str) -> tuple[str, list[str]]:
    """Split `name[a][b]` into the name and the strings in the brackets at its end."""
    *before, end = text.split("]")
    brackets: list[str] = []
    while before and not end:
        name, opening, inside = before[-1].partition("[")
        if not opening:
            break
        before.pop()
        brackets.append(inside)
        end = name
    return "]".join([*before, end]), brackets[::-1]


def _selected(value: object, brackets: list[str], rest: str) -> object:
    if not brackets:
        return value_at(value, rest)
    first, *others = brackets
    if not isinstance(value, list):
        value = [] if value is None else [value]
    if first.isdecimal():
        return _selected(value[int(first)], others, rest) if int(first) < len(value) else None
    if not first:
        found = [_selected(each, others, rest) for each in value]
        return [each for each in found if each is not None]
    name, _, text = first.partition("=")
    fits = (each for each in value if isinstance(each, dict) and str(each.get(name)).casefold() == text.casefold())
    return _selected(next(fits, None), others, rest)
