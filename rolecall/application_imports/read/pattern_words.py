"""Describe a pattern of `join` in plain words, for people who do not know its syntax."""

from rolecall.applications.file_shape import Placeholder, pattern_parts

# What each filter does to the value of its column; {0} is the argument of the filter.
_FILTERS = {
    "lower": "in lowercase",
    "upper": "in uppercase",
    "initial": "the first letter",
    "first": "the first name",
    "last": "the last name",
    "rdn": "the first part of the distinguished name",
    "before": "the text before {0}",
    "after": "the text after {0}",
    "starting": "only if it starts with {0}",
    "state": "the state in parentheses",
    "stateless": "without a state in parentheses",
    "prefix": "with {0} before it",
    "suffix": "with {0} after it",
    "when": "only if {0}",
    "unless": "only if {0}",
    "past": "only if the date is before today",
    "or": "or else {0}",
    "as": "as {0}",
    "else": "or else {0}",
}


def pattern_in_words(pattern: str) -> str:
    """Return the columns and fixed strings of a pattern; parentheses after a column say what is done to its value."""
    parts = [part for part in pattern_parts(pattern) if isinstance(part, Placeholder) or part.strip()]
    *first, last = [_described(part) if isinstance(part, Placeholder) else f"“{part.strip()}”" for part in parts]
    return f"{', '.join(first)} and {last}" if first else last


def _described(placeholder: Placeholder) -> str:
    # Leave out a dash that only replaces a blank cell.
    filters = [(name, text) for name, text in placeholder.filters if (name, text) != ("else", "-")]
    done = [_FILTERS[name].format(_condition(name, text)) for name, text in filters]
    return f"{placeholder.column} ({', '.join(done)})" if done else placeholder.column


def _condition(name: str, text: str) -> str:
    verb = {"when": " is ", "unless": " is not "}.get(name)
    return (text.replace("=", verb, 1) + ("blank" if text.endswith("=") else "")) if verb else text
