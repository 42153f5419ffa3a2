"""Hold an import that would change too much, or whose files are doubtful, until a person decides (the guard)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rolecall.application_imports.apply.count import PLURALS, RecordTotals
from rolecall.application_imports.model import RecordKind, Tallies
from rolecall.core.text import counted
from rolecall.settings.model import Guard


class OpenPoints(NamedTuple):
    """Reasons to doubt the files of an import: missing pages of a list, and open questions in the connector."""

    missing: Sequence[str] = ()
    questions: Sequence[str] = ()


_GUARDED = (
    RecordKind.ACCOUNT,
    RecordKind.GROUP,
    RecordKind.MEMBERSHIP,
    RecordKind.ASSIGNMENT,
    RecordKind.IDENTITY,
)


def reasons_to_hold(guard: Guard, before: RecordTotals, tallies: Tallies) -> list[str]:
    reasons = []
    for kind in _GUARDED:
        total, removed = before.of(kind), tallies[kind].removed
        if total >= guard.min_count and removed * 100 > guard.max_removed_percent * total:
            share = f"more than {guard.max_removed_percent:g} %"
            reasons.append(f"it would remove {removed:,} of {total:,} {PLURALS[kind]}, {share}")
    total, new = before.accounts, tallies[RecordKind.ACCOUNT].new
    if total >= guard.min_count and new * 100 > guard.max_new_percent * total:
        reasons.append(f"it would add {counted(new, 'account')} to {total:,}, more than {guard.max_new_percent:g} %")
    return reasons


def reasons_of_open_questions(questions: Sequence[str], tallies: Tallies) -> list[str]:
    """Return a reason to hold an import that would change something, if its connector has open questions."""
    if not questions or not any(tally.total for tally in tallies.values()):
        return []
    listed = " ".join(questions)
    return [f"its connector has open questions: {listed} (answer them, then remove shape.openQuestions)"]


def reasons_of_more_rejects(rejected: int, earlier: int, tallies: Tallies) -> list[str]:
    """Return a reason to hold an import that would remove records, if it rejects more rows than the previous import."""
    if rejected <= earlier or not (removed := _removed(tallies)):
        return []
    return [f"it would remove {removed}, and it rejects {counted(rejected, 'row')} (previous import: {earlier:,})"]


def reasons_of_missing_pages(missing: Iterable[str], tallies: Tallies) -> list[str]:
    """Return the reasons to hold an import that would remove records, if pages of a list seem to be missing."""
    removed = _removed(tallies)
    return [f"it would remove {removed}, and {each}" for each in missing] if removed else []


def _removed(tallies: Tallies) -> str:
    return ", ".join(
        counted(tallies[kind].removed, kind.lower(), PLURALS[kind]) for kind in PLURALS if tallies[kind].removed
    )
