"""Ask about columns that may say who is locked out, but are not read."""

from rolecall.applications.field_words import LOCKED, NO_DATE, NOTHING_HELD
from rolecall.applications.file_shape import fits_filters
from rolecall.core.text import counted, fold
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.header_names import is_feature, words_of
from rolecall.file_shapes.columns.header_words import LOCKS
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

# Header words for counts and policies, such as the duration of a lock.
_ABOUT_LOCKS = {"count", "counter", "attempts", "number", "threshold", "duration", "policy", "days", "minutes", "max"}
_NOTHING = {fold(word) for word in NOTHING_HELD} | {"0"}
_MOST_WORDS, _MOST_SHOWN, _MOST_ASKED = 8, 3, 8
_LONGEST_WORD = 40


def ask_for_unread_locks(view: View, part: Part) -> None:
    """Ask about columns of locks that are not read.

    If Locked is read from a column, or from a pattern with a fallback, skip columns of reasons or times. If it is built
    from any other pattern, skip all columns.
    """
    origin, asked = part.origin("Locked"), 0
    for column in _unread(view, part):
        is_state = all(fold(word) in LOCKED for word in column.distinct)
        if origin is not None and (not is_state or part.source("Locked") is None):
            continue
        open = {word for word in column.distinct if _is_open(word) or (column.is_dated and fold(word) in NO_DATE)}
        locked = [word for word in column.distinct if word not in open]
        if not locked or len(open) > _MOST_WORDS or not all(map(fits_filters, open)):
            continue
        if asked == _MOST_ASKED:
            part.evidence.append(f"More columns that are not read may say who is locked out, such as {column.header}")
            return
        unread = [word for word in column.distinct if word in open]
        _ask(part, column, locked, unread, "" if is_state else "|as(Yes)")
        asked += 1


def _unread(view: View, part: Part) -> list[Profile]:
    """Return the columns of locks, except those that are read, ignored, or offered by a question."""
    patterns = " ".join(part.shape.get("join", {}).values())
    asked = [choice.value for question in part.questions for choice in question.choices]
    used = {*part.columns, *part.shape.get("ignore", []), *asked}
    columns = [each for each in view.profiles if each.header not in used and _may_lock(each)]
    return [each for each in columns if not any(f"{sign}{each.header}{end}" in patterns for sign, end in _PLACES)]


def _may_lock(column: Profile) -> bool:
    words = words_of(column.header)
    is_about = bool(words & LOCKS) and not words & _ABOUT_LOCKS and not is_feature(column.header)
    return is_about and bool(column.values) and not column.is_secret


_PLACES = (("{", "|"), ("{", "}"), ("|or(", ")"))


def _is_open(word: str) -> bool:
    return LOCKED.get(fold(word)) is False or fold(word) in _NOTHING


def _ask(part: Part, column: Profile, locked: list[str], open: list[str], filters: str) -> None:
    header, other = column.header, part.source("Locked")
    words, cells = set(locked), column.cells
    count = counted(sum(cell.strip() in words for cell in cells), "account")
    shown = ", ".join(word[:_LONGEST_WORD] for word in locked[:_MOST_SHOWN])
    text = f"{header} is {shown} for {count}, but is not read. Does this mean locked?"
    unless = "".join(f"|unless({header}={word})" for word in open)
    pattern = f"{{{header}{unless}{filters}{f'|or({other})' if other else ''}}}"
    yes = f"Yes, read {header} and {other}" if other else f"Yes, read {header}"
    choices = [ProposedChoice(yes, "join.Locked", pattern), ProposedChoice("No", "Locked", AS_PROPOSED)]
    part.ask(text, *choices)
