"""Ask about columns that are not read, but may say that a grant is not held, such as Removed or Assigned."""

from collections.abc import Iterable, Sequence

from rolecall.applications.field_words import NO_ACCESS, YES_NO
from rolecall.core.text import fold
from rolecall.file_shapes.choices import SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import words_of
from rolecall.file_shapes.columns.header_words import WHEN
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

# Words in headers of yes/no columns that say whether a grant applies.
_VALID = {
    "valid", "effective", "current", "applied", "provisioned", "assigned", "authorized", "authorised", "permitted",
    "approved", "granted", "entitled", "held", "confirmed", "accepted",
}  # fmt: skip
# Words in headers of yes/no columns, or in cells, that say that a grant has ended or was never made.
_OVER = {
    "removed", "revoked", "deleted", "rejected", "denied", "expired", "withdrawn", "cancelled", "canceled", "ended",
    "terminated", "unassigned", "declined", "obsolete",
}  # fmt: skip
# Words in headers of states of accounts, not of grants.
_OF_ACCOUNTS = {"account", "user", "login", "principal", "assignee", "member", "employee", "person"}
_MOST_WORDS, _MOST_ASKED, _LONGEST = 12, 4, 3


def ask_for_ended_grants(view: View, part: Part, known: Iterable[str] = ()) -> None:
    """Ask whether people hold the access in rows that an unread column marks as ended. Skip the columns in `known`."""
    answers = [choice.value for question in part.questions for choice in question.choices]
    skipped = [each["column"] for each in part.shape.get("skipRowsWhere", [])]
    used = {*known, *part.columns, *skipped, *(answer.partition(SEPARATOR)[0] for answer in answers)}
    unread = [each for each in view.profiles if each.header not in used and len(each.distinct) <= _MOST_WORDS]
    found = [(each, ended) for each in unread if (ended := _ended_by_flag(each) or _ended_by_word(each))]
    for column, ended in found[:_MOST_ASKED]:
        ask_if_held(part, column.header, ended)


def _ended_by_flag(column: Profile) -> list[str]:
    """Return the cells of a yes/no column that may mean that a grant has ended.

    They mean yes in a column such as Removed, and no in a column such as Assigned. If Assigned has no cell that means
    no, its blank cells count instead.
    """
    words = words_of(column.header)
    if not column.ticks or words & WHEN or not words & (_VALID | _OVER):
        return []
    no = [word for word in column.distinct if fold(word) in NO_ACCESS or YES_NO.get(fold(word)) is False]
    if words & _OVER:
        return [word for word in column.distinct if word not in no]
    return no or ([] if column.is_filled else [""])


def _ended_by_word(column: Profile) -> list[str]:
    """Return the cells that say, in a few words, that a grant has ended, such as Revoked."""
    if words_of(column.header) & _OF_ACCOUNTS or column.is_list:
        return []
    return [word for word in column.distinct if words_of(word) & _OVER and len(word.split()) <= _LONGEST]


def ask_if_held(part: Part, header: str, words: Sequence[str]) -> None:
    """Ask whether people hold the access in rows with one of these words."""
    named = ", ".join(word or "a blank" for word in words)
    choices = [
        ProposedChoice(f"No, leave out rows with {named}", SKIP_ROWS, SEPARATOR.join((header, "is", *words))),
        ProposedChoice(f"Yes, read rows with {named}", SKIP_ROWS, header),
    ]
    part.ask(f"{header}: do rows with {named} give access?", *choices)
