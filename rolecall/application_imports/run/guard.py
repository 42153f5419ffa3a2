"""The guard: hold an import that would change too much until a person continues it."""

from collections.abc import Iterable

from rolecall.application_imports.apply.count import PLURALS, RecordTotals
from rolecall.application_imports.model import RecordKind, Tallies
from rolecall.settings.model import Guard

_GUARDED = (RecordKind.ACCOUNT, RecordKind.GROUP, RecordKind.ASSIGNMENT, RecordKind.IDENTITY)


def reasons_to_hold(guard: Guard, before: RecordTotals, tallies: Tallies) -> list[str]:
    reasons = []
    for kind in _GUARDED:
        total, removed = before.of(kind), tallies[kind].removed
        if total >= guard.min_count and removed * 100 > guard.max_removed_percent * total:
            share = f"more than {guard.max_removed_percent:g} %"
            reasons.append(f"it would remove {removed:,} of {total:,} {PLURALS[kind]}, {share}")
    total, new = before.accounts, tallies[RecordKind.ACCOUNT].new
    if total >= guard.min_count and new * 100 > guard.max_new_percent * total:
        reasons.append(f"it would add {new:,} accounts to {total:,}, more than {guard.max_new_percent:g} %")
    return reasons


def reasons_of_missing_pages(missing: Iterable[str], tallies: Tallies) -> list[str]:
    """Hold every import that would remove records because its files are only a part of a list."""
    removed = [f"{tallies[kind].removed:,} {PLURALS[kind]}" for kind in _GUARDED if tallies[kind].removed]
    return [f"it would remove {', '.join(removed)}, and {each}" for each in missing] if removed else []
