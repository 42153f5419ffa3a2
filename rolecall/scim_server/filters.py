"""Parse the filter language of SCIM (RFC 7644, section 3.4.2.2) and apply filters to values.

Filters come from other systems. To prevent denial of service, their length, depth and number of terms are limited, and
no part of a filter becomes a regular expression.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from rolecall.scim_server.model import ScimError, ScimErrorType
from rolecall.scim_server.schema import LONGEST_PATH

LONGEST_FILTER = 10_000
DEEPEST_FILTER = 20
MOST_TERMS = 100
# The alternatives begin with different characters, so that matching takes linear time.
_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[()\[\]]|[^\s()\[\]"]+)', re.DOTALL)


class CompareOperator(StrEnum):
    EQ = "eq"
    NE = "ne"
    CO = "co"
    SW = "sw"
    EW = "ew"
    GT = "gt"
    GE = "ge"
    LT = "lt"
    LE = "le"


ScalarValue = str | int | float | bool | None


class Comparison(msgspec.Struct, frozen=True):
    path: str
    operator: CompareOperator
    value: ScalarValue


class Presence(msgspec.Struct, frozen=True):
    path: str


class AllOf(msgspec.Struct, frozen=True):
    terms: tuple["Filter", ...]


class AnyOf(msgspec.Struct, frozen=True):
    terms: tuple["Filter", ...]


class Negation(msgspec.Struct, frozen=True):
    term: "Filter"


class ValueFilter(msgspec.Struct, frozen=True):
    """A filter such as `emails[type eq "work"].value pr`: one element must match `term` and, if given, `then`."""

    path: str
    term: "Filter"
    then: Comparison | Presence | None = None


Filter = Comparison | Presence | AllOf | AnyOf | Negation | ValueFilter


def invalid_filter(detail: str) -> ScimError:
    return ScimError(detail, ScimErrorType.INVALID_FILTER)


def tokens_of(text: str) -> list[str]:
    if len(text) > LONGEST_FILTER:
        raise invalid_filter(f"The filter is longer than {LONGEST_FILTER:,} characters")
    found, at = [], 0
    # White space at the end would match no token.
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise invalid_filter(f"The quotation mark after character {at} of the filter is not closed")
        found.append(match[1])
        at = match.end()
    return found


def parse_filter(text: str) -> Filter:
    parser = FilterParser(tokens_of(text))
    found = parser.either(0)
    parser.end()
    return found


class FilterParser:
    """Parse tokens by recursive descent: `not` binds more closely than `and`, and `and` more closely than `or`."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens, self._at, self._terms = tokens, 0, 0

    def either(self, depth: int) -> Filter:
        terms = [self._both(depth)]
        while self._takes("or"):
            terms.append(self._both(depth))
        return terms[0] if len(terms) == 1 else AnyOf(tuple(terms))

    def value_path(self) -> tuple[str, Filter | None, str]:
        """Parse the path of a PATCH operation: an attribute, optionally with a value filter and a sub-attribute."""
        path, inner, part = self._attribute(), None, ""
        if self._peek() == "[":
            inner = self._enclosed("[", "]", 0)
            part = self._part() if self._peek().startswith(".") else ""
        self.end()
        return path, inner, part

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise invalid_filter(f"The filter has {self._tokens[self._at]!r} after its end")

    def _both(self, depth: int) -> Filter:
        terms = [self._term(depth)]
        while self._takes("and"):
            terms.append(self._term(depth))
        return terms[0] if len(terms) == 1 else AllOf(tuple(terms))

    def _term(self, depth: int) -> Filter:
        self._terms += 1
        if depth > DEEPEST_FILTER or self._terms > MOST_TERMS:
            raise invalid_filter(f"A filter may have at most {MOST_TERMS} terms and {DEEPEST_FILTER} levels")
        if self._takes("not"):
            return Negation(self._enclosed("(", ")", depth))
        if self._peek() == "(":
            return self._enclosed("(", ")", depth)
        path = self._attribute()
        if self._peek() != "[":
            return self._comparison(path)
        inner = self._enclosed("[", "]", depth)
        if not self._peek().startswith("."):
            return ValueFilter(path, inner)
        return ValueFilter(path, inner, self._comparison(self._part()))

    def _enclosed(self, opening: str, closing: str, depth: int) -> Filter:
        if self._next(opening) != opening:
            raise invalid_filter(f"The filter has no {opening!r} where it is expected")
        found = self.either(depth + 1)
        if self._next(closing) != closing:
            raise invalid_filter(f"The filter has no {closing!r} where it is expected")
        return found

    def _comparison(self, path: str) -> Comparison | Presence:
        word = self._next("an operator").lower()
        if word == "pr":
            return Presence(path)
        if word not in set(CompareOperator):
            raise invalid_filter(f"{word!r} is not an operator; use {', '.join(CompareOperator)} or pr")
        return Comparison(path, CompareOperator(word), _value(self._next("a value")))

    def _attribute(self) -> str:
        """Take the name of an attribute, or a path such as `name.familyName`."""
        name = self._next("an attribute")
        if name[0] in '"()[]' or not name.isprintable() or len(name) > LONGEST_PATH:
            raise invalid_filter(f"The filter has {name[:50]!r} where an attribute is expected")
        return name

    def _part(self) -> str:
        """Take the sub-attribute after a value filter, such as `.value`."""
        name = self._attribute()[1:]
        if not name or "." in name:
            raise invalid_filter(f"The filter has {name[:50]!r} where a sub-attribute is expected")
        return name

    def _takes(self, word: str) -> bool:
        if self._peek().lower() != word:
            return False
        self._at += 1
        return True

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self, what: str) -> str:
        token = self._peek()
        if not token:
            raise invalid_filter(f"The filter ends where {what} is expected")
        self._at += 1
        return token


def _value(token: str) -> ScalarValue:
    # Entra sends the booleans as True and False.
    word = token if token.startswith('"') else token.lower()
    try:
        found: ScalarValue = msgspec.json.decode(word, type=str | int | float | bool | None)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise invalid_filter(f"{token[:50]} is not a value; strings need quotation marks") from None
    # PostgreSQL accepts no NUL characters in text.
    if isinstance(found, str) and "\x00" in found:
        raise invalid_filter("A value must not contain NUL characters")
    return found


def comparisons(term: Filter) -> int:
    """Return the cost of applying a filter to one value: the number of names in the paths of its comparisons."""
    match term:
        case AllOf(terms=terms) | AnyOf(terms=terms):
            return sum(map(comparisons, terms))
        case Negation(term=inner):
            return comparisons(inner)
        case Presence(path=path) | Comparison(path=path):
            return path.count(".") + 1
        case ValueFilter():
            return comparisons(term.term)


def matches(term: Filter, value: object) -> bool:
    """Return whether an element of a list matches the filter. Attribute names and strings are case-insensitive."""
    match term:
        case AllOf(terms=terms):
            return all(matches(each, value) for each in terms)
        case AnyOf(terms=terms):
            return any(matches(each, value) for each in terms)
        case Negation(term=inner):
            return not matches(inner, value)
        case Presence(path=path):
            return any(found not in (None, "", [], {}) for found in _values(value, path))
        case Comparison():
            return any(compares(term, found) for found in _values(value, term.path)) or _is_absent(term, value)
        case ValueFilter():
            raise invalid_filter("A value filter cannot contain another one")


def _is_absent(term: Comparison, value: object) -> bool:
    """Return whether the value is missing and the comparison matches missing ones: `eq null`, or `ne` with a value."""
    wanted = (term.operator is CompareOperator.NE) != (term.value is None)
    return wanted and term.operator in (CompareOperator.EQ, CompareOperator.NE) and not [*_values(value, term.path)]


def _values(value: object, path: str) -> Iterator[object]:
    name, _, rest = path.partition(".")
    if not isinstance(value, dict):
        # In a list of plain values, `value` means the element itself.
        if name.lower() == "value" and not rest:
            yield value
        return
    for key, found in value.items():
        if key.lower() == name.lower():
            yield from _values(found, rest) if rest else [found]


_ORDERS: dict[CompareOperator, Callable[[Any, Any], bool]] = {
    CompareOperator.EQ: lambda found, wanted: found == wanted,
    CompareOperator.NE: lambda found, wanted: found != wanted,
    CompareOperator.CO: lambda found, wanted: wanted in found,
    CompareOperator.SW: lambda found, wanted: found.startswith(wanted),
    CompareOperator.EW: lambda found, wanted: found.endswith(wanted),
    CompareOperator.GT: lambda found, wanted: found > wanted,
    CompareOperator.GE: lambda found, wanted: found >= wanted,
    CompareOperator.LT: lambda found, wanted: found < wanted,
    CompareOperator.LE: lambda found, wanted: found <= wanted,
}
EQUALITIES = (CompareOperator.EQ, CompareOperator.NE)
OF_TEXTS = (CompareOperator.CO, CompareOperator.SW, CompareOperator.EW)


def compares(term: Comparison, found: object) -> bool:
    """Compare as `SqlFilter` does: a string with the text of any value, other values only with values of their type."""
    wanted = term.value
    if isinstance(wanted, str):
        # Entra writes roles[primary eq "True"].
        text = found if isinstance(found, str) else msgspec.json.encode(found).decode()
        return _ORDERS[term.operator](text.lower(), wanted.lower())
    if _is_number(found) and _is_number(wanted):
        return term.operator not in OF_TEXTS and _ORDERS[term.operator](found, wanted)
    is_equal = type(found) is type(wanted) and found == wanted
    return term.operator in EQUALITIES and is_equal == (term.operator is CompareOperator.EQ)


def _is_number(value: object) -> bool:
    # Python counts booleans as integers.
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_flag(value: object) -> object:
    """Convert the strings true and false to booleans, ignoring case; return other values unchanged."""
    words = {"true": True, "false": False}
    return words.get(value.lower(), value) if isinstance(value, str) else value


def as_moment(value: object) -> datetime:
    """Parse a date-time; without an offset it is in UTC."""
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        raise invalid_filter(f"{value!r} is not a date-time such as 2026-05-01T08:00:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
