"""Decide which columns say who is active: one or several status columns, and the end dates of accounts."""

import re
from collections.abc import Mapping, Sequence
from itertools import product

import msgspec
import polars as pl

from rolecall.application_imports.read.dates import are_past
from rolecall.applications.field_words import ACTIVE, NO_DATE, YES_NO
from rolecall.applications.file_shape import ANY_OTHER
from rolecall.applications.model import Content
from rolecall.core.text import counted, fold
from rolecall.file_shapes.accounts.addresses import ask_for_addresses
from rolecall.file_shapes.accounts.ending import end_after, ended_beside, ended_if, format_of, last_day_beside
from rolecall.file_shapes.cells.values import proposed_meaning
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.header_languages import TRANSLATED_INACTIVE
from rolecall.file_shapes.columns.header_names import is_inverted, is_known_header, words_of
from rolecall.file_shapes.columns.header_words import DATED
from rolecall.file_shapes.columns.meanings import Meaning, meanings
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_ENDED = re.compile(
    r"(?:deactivat|disabl|delet|revok|lock|suspend|archiv|block)\w{0,40}[ _-]*(?:date|on|at|time)\b", re.IGNORECASE
)
# Headers that say when an account was deactivated or deleted. Unlike in `_ENDED`, locks, blocks and revocations are
# not included: a locked account may have been unlocked again.
_REMOVED = re.compile(r"(?:deactivat|delet|suspend|archiv|disabl)\w{0,40}[ _-]*(?:date|on|at|time)\b", re.IGNORECASE)
_HAS_DIGIT = re.compile(r"\d")
# The maximum score of a column that is recognized as a status only by its values.
_WEAK = 0.5
# A lower score means that the header has further words.
_KNOWN = 0.7
_MOST_COMBINED = 200
_YES_AND_NO = 2
# Programs that replace a login shell to prevent logins.
_NO_SHELLS = {"nologin", "false"}
# Words in headers of the status of a person, rather than of an account.
_OF_EMPLOYMENT = {"employment", "employee", "emp", "hr", "worker", "contract", "personnel", "hris"}
# The key of an answer that reads a column as the opposite of active.
OPPOSITE = "invert.Active"
# English words for yes and no. Below an ASCII header they do not suggest a status, because a status column of an
# English file has a known header.
_ENGLISH = {"true", "false", "yes", "no", "y", "n", "t", "f", "1", "0", "on", "off"}
# Replaces a blank cell when the words of several columns are joined.
_BLANK = "-"
# Words that come in pairs: a column that has one of them may have the other in later rows.
_PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("1", "0"), ("t", "f"), ("enabled", "disabled"))


def decide_active(view: View, part: Part) -> None:
    """Propose which accounts of a file are read as active, with evidence."""
    _find_codes(view, part)
    read_statuses(view, part)
    active = part.fields.get("Active")
    if "Active" in part.shape.get("join", {}):
        _end_combined(view, part)
    elif active is None or (active.score <= _WEAK and not is_inverted(active.header)):
        _end_by_date(view, part)
    else:
        _end_beside_status(view, part, active)
    if not part.origin("Active") and "Locked" not in part.fields:
        _ask_for_state(view, part)
        _ask_for_shells(view, part)
        ask_for_addresses(view, part, "Active")


def _ask_for_state(view: View, part: Part) -> None:
    """Ask whether a yes/no column in another language says who is active."""
    taken = {meaning.header for meaning in part.fields.values()}
    for column in view.profiles:
        words = [fold(word) for word in column.distinct]
        is_unknown = column.header not in taken and not is_known_header(column.header)
        # A header with non-ASCII letters is not English, so the column may be a status even if its values are Y and N.
        known = YES_NO.keys() - (_ENGLISH if column.header.isascii() else ())
        if not is_unknown or len(words) != _YES_AND_NO or not {*words} <= known:
            continue
        yes = next((word for word in column.distinct if YES_NO[fold(word)]), column.distinct[0])
        text = f"Does the column {column.header} say who is active? No other column does."
        choices = [
            ProposedChoice(f"Yes, {yes} means active", "Active", column.header),
            ProposedChoice(f"Yes, {yes} means not active", OPPOSITE, column.header),
            ProposedChoice("No, all accounts are active", "Active", AS_PROPOSED),
        ]
        part.ask(text, *choices)
        return


def _ask_for_shells(view: View, part: Part) -> None:
    """Ask whether accounts with a shell that refuses logins, as in passwd files, are active."""
    shell = view.named(["shell", "loginshell"])
    closed = [value for value in shell.distinct if value.rpartition("/")[2] in _NO_SHELLS] if shell else []
    if shell is None or not closed:
        return
    # These meanings apply only if the person chooses to read the status from the login shells.
    part.shape.setdefault("values", {})["Active"] = {**dict.fromkeys(closed, "No"), ANY_OTHER: "Yes"}
    count = sum(cell.strip() in closed for cell in shell.cells)
    text = f"{shell.header} is {', '.join(closed)} for {counted(count, 'account')}. Are they active?"
    choices = [
        ProposedChoice("No, they cannot log in", "Active", shell.header),
        ProposedChoice("Yes, all accounts are active", "Active", AS_PROPOSED),
    ]
    part.ask(text, *choices)


def read_statuses(view: View, part: Part) -> None:
    """Combine several status columns or choose one, and invert a status that means the opposite of active."""
    found = [each for each in meanings(Content.USERS, view.profiles) if each.field == "Active" and each.score > _WEAK]
    found = _without_features(view, part, found)
    if len(found) > 1 and "Active" in part.fields:
        _use_several(view, part, found)
    if (active := part.fields.get("Active")) and is_inverted(active.header):
        part.shape["invert"] = ["Active"]
        part.evidence.append(f"{active.header} means the opposite of active")


def _without_features(view: View, part: Part, found: Sequence[Meaning]) -> list[Meaning]:
    """Drop columns such as isNAREnabled, which are about a feature: according to them, no account is active."""
    rows = len(view.table.rows)
    kept = [each for each in found if each.score >= _KNOWN or len(inactive_rows(view.by_header[each.header])) < rows]
    if not kept or len(kept) == len(found):
        return [*found]
    left = ", ".join(each.header for each in found if each not in kept)
    part.evidence.append(f"No account would be active by {left}, which is kept unchanged")
    if part.fields.get("Active") in found:
        part.fields["Active"] = kept[0]
    return kept


def _use_several(view: View, part: Part, found: Sequence[Meaning]) -> None:
    """Combine several status columns, or else use the one with the most inactive accounts.

    Ask if they disagree, or if a column that is not read has doubtful words.
    """
    inactive = {each.header: inactive_rows(view.by_header[each.header]) for each in found}
    best = max(found, key=lambda each: (len(inactive[each.header]), each is part.fields["Active"]))
    contradicted = {each.header: _contradicted(each.header, best.header, inactive) for each in found}
    rest = [header for header, rows in contradicted.items() if rows]
    columns = [view.by_header[each.header] for each in found]
    together = columns if all(map(_is_yes_or_no, columns)) else [
        each for each in columns if each.header in (best.header, *rest)
    ]  # fmt: skip
    part.fields["Active"] = best
    others = [each.header for each in found if each is not best]
    is_combined = len(together) > 1 and _combine(part, together)
    if not is_combined:
        part.evidence.append(f"{best.header} says who is active; kept unchanged: {', '.join(others)}")
    if rest:
        rows = counted(len(set[int]().union(*contradicted.values())), "row")
        text = f"{best.header} and {', '.join(rest)} disagree about {rows}. Which column says who is active?"
        choices = [ProposedChoice(header, "Active", header) for header in (best.header, *rest)]
        all_of_them = ProposedChoice("Active only if all of them say so", "Active", AS_PROPOSED)
        part.ask(text, *([all_of_them] if is_combined else []), *choices)
    elif not is_combined:
        _ask_for_unread(part, best.header, [each for each in columns if each.header in others])


def _contradicted(other: str, best: str, inactive: Mapping[str, set[int]]) -> set[int]:
    """Return the rows in which another status says inactive and the best status does not.

    If the best status is that of a person and the other is that of the account, return all rows in which they differ:
    an account that is active after its owner has left is a finding.
    """
    if _OF_EMPLOYMENT & words_of(best) and not _OF_EMPLOYMENT & words_of(other):
        return inactive[other] ^ inactive[best]
    return inactive[other] - inactive[best]


def _ask_for_unread(part: Part, best: str, others: Sequence[Profile]) -> None:
    """If an unread status column has doubtful words, ask which column says who is active."""
    unknown = [(each.header, word) for each in others for word in _doubtful_words(each)[:1]]
    if unknown:
        header, word = unknown[0]
        text = f"{best} says who is active, and {header} is {word} in some rows. Which column says who is active?"
        choices = [ProposedChoice(each, "Active", each) for each in (best, header)]
        part.ask(text, *choices)


def _doubtful_words(column: Profile) -> list[str]:
    """Return the unknown words of a status. If no word is known, return only those that probably mean not active."""
    words = column.unknown_statuses
    return words if column.statuses else [word for word in words if proposed_meaning(word) == "No"]


def _combine(part: Part, columns: Sequence[Profile]) -> bool:
    """Join status columns and map each combination of words.

    Change nothing and return False if a word is unknown or there are too many combinations.
    """
    words = [_possible_words(each) for each in columns]
    count = 1
    for each in words:
        count *= len(each)
    if count > _MOST_COMBINED or any(fold(word) not in ACTIVE for each in words for word in each if word):
        return False
    values = {}
    for combination in product(*words):
        says = [
            bool(ACTIVE[fold(word)]) is not is_inverted(column.header)
            for word, column in zip(combination, columns, strict=True)
            if word
        ]
        values[" ".join(word or _BLANK for word in combination)] = "Yes" if all(says) else "No"
    del part.fields["Active"]
    # Remove `invert`, because the new values already take inverted columns into account.
    part.shape.pop("invert", None)
    names = [each.header for each in columns]
    part.shape.setdefault("join", {})["Active"] = " ".join(f"{{{name}|else({_BLANK})}}" for name in names)
    part.shape.setdefault("values", {})["Active"] = values
    if len(names) > 1:
        part.evidence.append(f"An account is active if {' and '.join(names)} say so")
    return True


def _end_combined(view: View, part: Part) -> None:
    """Add the last day to the joined status columns, so that accounts are read as inactive after it."""
    if (found := last_day_beside(view, part, "the status")) is None:
        return
    column, format = found
    _ask_for_past(view, part, column, format)
    _add_end(part, f"{column.header}|past({format})")
    part.evidence.append(f"{column.header} is the last day of an account")


def _add_end(part: Part, filled: str) -> None:
    """Read an account as inactive if the value of the placeholder `filled`, such as a past date, is not blank."""
    part.shape["join"]["Active"] += f" {{{filled}|as(ended)|else({_BLANK})}}"
    values = part.shape["values"]["Active"]
    part.shape["values"]["Active"] = {
        **{f"{words} {_BLANK}": value for words, value in values.items()},
        **{f"{words} ended": "No" for words in values},
    }


def _ask_for_past(view: View, part: Part, column: Profile, format: str) -> None:
    """Ask whether accounts whose last day has passed are still active.

    Do not ask if the status columns already say that all these accounts are inactive.
    """
    pattern: str = part.shape["join"]["Active"]
    columns = [each for each in view.profiles if f"{{{each.header}|else(" in pattern]
    inactive = set[int]().union(*map(inactive_rows, columns))
    past = are_past(pl.Series(column.cells), format).to_list()
    if any(is_past and n not in inactive for n, is_past in enumerate(past)):
        no = ProposedChoice("No", "Active", AS_PROPOSED)
        alone = [ProposedChoice(f"Yes, {each.header} alone counts", "Active", each.header) for each in columns]
        text = f"{column.header} has dates before today. Are these rows still active?"
        part.ask(text, no, *alone)


def _possible_words(profile: Profile) -> list[str]:
    """Return the words of a column in lower case, with their opposites and an empty string for a blank cell."""
    words = dict.fromkeys(value.lower() for value in profile.distinct)
    for pair in _PAIRS:
        if words.keys() & set(pair):
            words |= dict.fromkeys(pair)
    return [*words, ""]


def _is_yes_or_no(profile: Profile) -> bool:
    found = {value.lower() for value in profile.distinct}
    return any(found <= set(pair) for pair in _PAIRS)


def inactive_rows(profile: Profile) -> set[int]:
    """Return the numbers of the rows in which a status column says inactive, judging by its header and known words."""
    is_opposite = is_inverted(profile.header)
    known = [ACTIVE.get(fold(cell.strip())) for cell in profile.cells]
    return {n for n, active in enumerate(known) if active is not None and bool(active) is is_opposite}


def _find_codes(view: View, part: Part) -> None:
    """If there is no header, read a column with a few codes such as A and I as the status, with a low score."""
    if view.table.header_line is not None or view.table.skip_lines or "Active" in part.fields:
        return
    taken = {meaning.header for meaning in part.fields.values()}
    for profile in view.profiles:
        codes = {value.lower() for value in profile.distinct}
        if profile.header not in taken and len(codes) > 1 and codes <= {*"aidltxse", "act", "inact", "term"}:
            part.fields["Active"] = Meaning(profile.header, "Active", 0.4, f"its values are {', '.join(sorted(codes))}")
            return


def _end_by_date(view: View, part: Part) -> None:
    """Derive the status from a deactivation date or, if no column may be the status, from a last day."""
    if (column := _dated(view, _ENDED)) is not None:
        part.fields["Active"] = Meaning(column.header, "Active", 0.6, "it says when an account was deactivated")
        # 0 means no date.
        never = dict.fromkeys(["0", *(word for word in column.distinct if fold(word) in NO_DATE)], "Yes")
        part.shape["values"] = {"Active": {**never, ANY_OTHER: "No"}}
        part.evidence.append(f"{column.header} is filled for accounts that are not active")
    elif "Active" not in part.fields:
        end_after(view, part, "Active")


def _end_beside_status(view: View, part: Part, active: Meaning) -> None:
    """Read accounts as inactive after their last day or deletion, even if their status is active."""
    asked = len(part.questions)
    column = _dated(view, _REMOVED)
    if column is None or column.header == active.header:
        ended_beside(view, part, "Active", active.header)
        # If no question was added, the end date agrees with this status and may only repeat it, so do not add the date
        # to other statuses.
        if len(part.questions) > asked:
            _end_beside_others(part, active.header, asked)
        return
    format = format_of(column)
    # Without a date format, every text in the column would count as a deletion, even a word for no date.
    if format is None and any(fold(word) in NO_DATE for word in column.distinct):
        return
    part.evidence.append(f"{active.header} says who is active; accounts with a {column.header} are not")
    if last_day_beside(view, part, active.header) and _combine(part, [view.by_header[active.header]]):
        # Accounts that have expired are not active, even if they were not deleted.
        _add_end(part, f"{column.header}|past({format})" if format else column.header)
        _end_combined(view, part)
        return
    ended_if(part, "Active", active.header, f"{column.header}|past({format})" if format else column.header)
    _end_beside_others(part, active.header, asked)


def _end_beside_others(part: Part, status: str, asked: int) -> None:
    """Add the end date to the other status columns that the first `asked` questions offer."""
    pattern, behind = part.shape.get("join", {}).get("Active", ""), f"|or({status})}}"
    if not pattern.endswith(behind):
        return
    for n, question in enumerate(part.questions[:asked]):
        choices = [
            msgspec.structs.replace(each, key="join.Active", value=f"{pattern.removesuffix(behind)}|or({each.value})}}")
            if each.key == "Active" and each.value != AS_PROPOSED and is_inverted(each.value) is is_inverted(status)
            else each
            for each in question.choices
        ]
        part.questions[n] = msgspec.structs.replace(question, choices=choices)


def removed_on(view: View) -> tuple[Profile, str] | None:
    """Return the column that says when an account was deleted or deactivated, and its date format, or None."""
    column = _dated(view, _REMOVED)
    format = format_of(column) if column else None
    return (column, format) if column and format else None


def _ends_on(words: set[str]) -> bool:
    return bool(words & TRANSLATED_INACTIVE and words & DATED)


def _dated(view: View, pattern: re.Pattern[str]) -> Profile | None:
    named = (each for each in view.profiles if pattern.search(each.header) or _ends_on(words_of(each.header)))
    fits = (each for each in named if each.values)
    return next((each for each in fits if all(map(_HAS_DIGIT.search, each.distinct))), None)
