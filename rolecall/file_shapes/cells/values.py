"""Propose how to read values: formats of dates, and words for statuses and types."""

import re
from collections import Counter
from collections.abc import Mapping

import msgspec

from rolecall.applications.field_words import ACTIVE, DATE_FIELDS, NO_DATE, WORDS, YES_NO
from rolecall.applications.file_shape import ANY_OTHER, RowCondition
from rolecall.applications.model import Content, same_header
from rolecall.core.text import counted, fold, without_accents
from rolecall.file_shapes.columns.header_names import is_inverted, names_of
from rolecall.file_shapes.columns.profiles import DATES, EXCEL, Profile, is_serial
from rolecall.file_shapes.parts import Part, View, fallback_in
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

# Abbreviations and informal words for statuses, proposed as guesses.
_GUESSED = {
    "loa": "Yes", "leaveofabsence": "Yes", "expiredgrace": "Yes", "lockedtimed": "Yes",
    "joined": "Yes", "fulltime": "Yes", "parttime": "Yes", "permanent": "Yes", "regular": "Yes",
    "a": "Yes", "e": "Yes", "act": "Yes", "ok": "Yes", "open": "Yes", "valid": "Yes", "onleave": "Yes", "leave": "Yes",
    "longtermleave": "Yes", "i": "No", "d": "No", "t": "No", "l": "No", "s": "No", "x": "No", "inact": "No",
    "term": "No", "susp": "No", "dis": "No", "quit": "No", "ended": "No", "offboarded": "No", "locked": "No",
    "invited": "No", "invitedmember": "No", "invitationsent": "No", "activationsent": "No",
}  # fmt: skip
_KINDS = {
    **dict.fromkeys(("fte", "fulltime", "parttime", "permanent", "regular", "staff", "internal"), "Employee"),
    **dict.fromkeys(("contractor", "consultant", "external", "contingent", "supplier", "partner"), "Vendor"),
    **dict.fromkeys(("intern", "temp", "trainee", "apprentice", "seasonal"), "Temporary"),
}
# Words that may reverse the meaning of a status.
_NOT = {"not", "never", "un", "re", "non", "to", "be", "will"}
_MOST_DATES = 200
_LOCKED = re.compile(r"(?<!un)(?<!b)lock|gesperrt|verrouill", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:status|state|flag)$")
_STATUS = re.compile(r"stat|sts$|activ|ativo|situac|estado|etat")
_TICKS = {"x", "✓", "✔", "☑", "✅"}
_IDENTITY_WORDS = {"Yes": "Active", "No": "Disabled"}


def add_dates(view: View, part: Part) -> None:
    for field in DATE_FIELDS:
        if (meaning := part.fields.get(field)) is None:
            continue
        column = view.by_header[meaning.header]
        formats = column.date_formats
        words = [word for word in column.distinct if fold(word) in NO_DATE]
        if words:
            part.evidence.append(f"{meaning.header} has words for no date: {', '.join(words[:3])}")
            _blank_words(view, part, column, words)
        if all("." in value for value in column.values if fold(value) not in NO_DATE):
            # In dates with dots, the day comes first.
            formats = [each for each in formats if each != "month first"]
        is_open = {"day first", "month first"} <= set(formats) and "iso" not in formats
        if is_open and (like := _same_order(view, column)):
            part.shape.setdefault("dates", {})[meaning.header] = like[1]
            part.evidence.append(f"Dates of {meaning.header}: {like[1]}, as in {like[0]} of the same file")
        elif is_open:
            example = next(iter(view.by_header[meaning.header].values), "")
            _ask_for_order(part, meaning.header, f"is the day or the month first in {example}?")
        elif not formats and (mixed := _mixed_orders(column)):
            _ask_for_order(
                part, meaning.header, f"{mixed}. Which order is right? Dates in the other order are not converted"
            )
        elif is_serial(column):
            part.shape.setdefault("dates", {})[meaning.header] = EXCEL
            part.evidence.append(f"{meaning.header} has Excel serial dates, such as {column.distinct[0]}")
        elif formats and (words or "iso" not in formats):
            part.shape.setdefault("dates", {})[meaning.header] = formats[0]
            part.evidence.append(f"Dates of {meaning.header}: {formats[0]}")


def _same_order(view: View, column: Profile) -> tuple[str, str] | None:
    """Find the order of day and month in other columns with the same notation; return such a column and the order.

    Use only columns whose dates fit exactly one order. Return None if there are none, or if their orders differ.
    """
    orders = {"day first", "month first"}
    alike = [each for each in view.profiles if _signs(each) == _signs(column)]
    sure = [(each.header, found.pop()) for each in alike if len(found := orders & set(each.date_formats)) == 1]
    return sure[0] if sure and len({order for _, order in sure}) == 1 else None


def _signs(column: Profile) -> set[str]:
    """Return the notations of the dates in a column: the dates with each number replaced by 0."""
    return {re.sub(r"\d+", "0", value) for value in column.distinct[:_MOST_DATES] if fold(value) not in NO_DATE}


def _ask_for_order(part: Part, header: str, text: str) -> None:
    choices = [ProposedChoice(each.title(), f"dates.{header}", each) for each in ("day first", "month first")]
    part.ask(f"{header}: {text}", *choices)


def _mixed_orders(column: Profile) -> str | None:
    """Describe two dates with different orders of day and month; None if there are no such dates."""
    dates = [(each, DATES["day first"](each), DATES["month first"](each)) for each in column.distinct[:_MOST_DATES]]
    by_day = next((each for each, day, month in dates if day and not month), None)
    by_month = next((each for each, day, month in dates if month and not day), None)
    return f"{by_day} has the day first and {by_month} the month first" if by_day and by_month else None


def _blank_words(view: View, part: Part, column: Profile, words: list[str]) -> None:
    """Add the words that mean "no date", such as Never, to `blank`, if the other values have no known date format.

    If they have a format, the import reads these words as blank anyway. Leave out words without letters, and
    words that other columns contain, because `blank` applies to all columns.
    """
    if column.date_formats:
        return
    others = {fold(value) for each in view.profiles if each is not column for value in each.distinct}
    if only_here := [word for word in words if re.search(r"[^\W\d]", word) and fold(word) not in others]:
        part.shape["blank"] = sorted({*part.shape.get("blank", []), *only_here})


def proposed_meaning(word: str) -> str | None:
    """Return Yes or No if a word of a status probably means active or not active."""
    return _GUESSED.get(_letters(word)) or _guess_phrase(word)


def add_words(view: View, part: Part) -> None:
    """Propose meanings for the words in type, lock and status columns, and ask about unknown status words."""
    if kind := part.fields.get("Type"):
        known = {word: _KINDS.get(_letters(word)) for word in view.by_header[kind.header].distinct[:50]}
        if proposed := {word: value for word, value in known.items() if value and fold(word) not in WORDS["Type"]}:
            part.shape.setdefault("values", {})["Type"] = proposed
    _add_locks(view, part)
    for field in ("Active", "Status"):
        is_known = ANY_OTHER in part.shape.get("values", {}).get(field, {})
        if (source := part.source(field)) is not None and not is_known:
            _ask_for_words(part, field, read_rows(view, part, source))
            _ask_for_words_of_others(view, part, field, source)


def read_rows(view: View, part: Part, header: str) -> Profile:
    """Return a column without the rows that the shape leaves out, so that no question is about such a row.

    Ignore conditions on lists and on past dates.
    """
    column = view.by_header[header]
    kept = set(range(len(column.cells)))
    for each in part.shape.get("skipRowsWhere", []):
        condition = msgspec.convert(each, RowCondition)
        if (other := view.by_header.get(condition.column)) and not other.is_list and not condition.is_past:
            kept -= {n for n, cell in enumerate(other.cells) if condition.matches(cell)}
    if len(kept) == len(column.cells):
        return column
    cells = [column.cells[n] for n in sorted(kept)]
    return Profile(column.header, column.position, cells, is_list=column.is_list)


def _add_locks(view: View, part: Part) -> None:
    """Map the values that mean locked: those of the column of locks or, without such a column, those of the status."""
    values = part.shape.setdefault("values", {})
    if (locked := part.fields.get("Locked")) is not None:
        column = view.by_header[locked.header]
        if column.numbers == 1 and any(fold(word) not in WORDS["Locked"] for word in column.distinct):
            # SAP writes the reasons for a lock as a number; 0 means not locked.
            values["Locked"] = {"0": "No", ANY_OTHER: "Yes"}
        elif reasons := [word for word in column.distinct if fold(word) not in WORDS["Locked"]]:
            values["Locked"] = {**dict.fromkeys(reasons, "Yes"), **({} if column.is_filled else {ANY_OTHER: "Yes"})}
            part.evidence.append(f"{locked.header} says why accounts are locked: {', '.join(reasons)[:80]}")
    active = part.source("Active") if part.content == Content.USERS and locked is None else None
    states = list(dict.fromkeys([*([active] if active else []), *_asked_for(view, part, "Active")]))
    active = next((each for each in states if any(map(_LOCKED.search, view.by_header[each].distinct))), None)
    words = [word for word in view.by_header[active].distinct if _LOCKED.search(word)] if active else []
    if active and words and locked is None and part.content == Content.USERS:
        part.shape.setdefault("join", {})["Locked"] = f"{{{active}}}"
        values["Locked"] = {**dict.fromkeys(words, "Yes"), ANY_OTHER: "No"}
        part.evidence.append(f"{', '.join(words[:3])} in {active} is read as locked")
    if not values:
        del part.shape["values"]


def is_ticked(column: Profile) -> bool:
    """Return whether some cells of a column are ticked and all others are blank."""
    return bool(column.distinct) and not column.is_filled and {fold(word) for word in column.distinct} <= _TICKS


def _ask_for_words(part: Part, field: str, column: Profile) -> None:
    """Propose meanings for ticks, and for codes that are clear in combination, such as A and I.

    Ask about a few blank cells and about other unknown words.
    """
    codes = {fold(word) for word in column.distinct}
    if same_header(column.header).endswith("useraccountcontrol") and column.numbers == 1:
        # The reader decodes the bits of userAccountControl.
        return
    doubtful, guessed = _guesses(field, column)
    values = {"Yes": "Yes", "No": "No"} if field == "Active" else _IDENTITY_WORDS
    is_opposite = field in part.shape.get("invert", [])
    if is_opposite:
        # In a column that means the opposite, Yes means not active.
        values = {"Yes": "No", "No": "Yes"}
    if codes == {"o", "n"}:
        # O means oui, which is French for yes.
        guessed = {**guessed, "o": "No" if is_opposite else "Yes"}
    if is_ticked(column):
        # A tick means yes, and a blank cell means no. If the column means the opposite, `invert` swaps them later.
        yes, no = ("Yes", "No") if field == "Active" else (_IDENTITY_WORDS["Yes"], _IDENTITY_WORDS["No"])
        known = part.shape.setdefault("values", {}).get(field, {})
        part.shape["values"][field] = {**dict.fromkeys(column.distinct, yes), "": no, **known}
        part.evidence.append(f"{column.header} is ticked or blank")
        return
    blank = sum(not cell.strip() for cell in column.cells)
    if field == "Active" and blank and 3 * blank < len(column.cells) and len(codes) > 1:
        text = f"{column.header} is blank in {counted(blank, 'row')}. Does a blank cell mean active?"
        choices = [ProposedChoice(each, f"values.{field}.", values[each]) for each in ("Yes", "No")]
        part.ask(text, *choices)
    if clear := _known_codes(column, values):
        part.shape.setdefault("values", {}).setdefault(field, {}).update(clear)
        part.evidence.append(f"{column.header} has A for active and I for inactive")
    unknown = [word for word in column.distinct if fold(word) not in WORDS[field].keys() - doubtful]
    for word in [word for word in unknown if word not in clear][:12]:
        if guess := guessed.get(_letters(word) or word) or _guess_phrase(word):
            part.shape.setdefault("values", {}).setdefault(field, {})[word] = values[guess]
        part.questions = [*part.questions, question_about(column.header, word, field, values, guess)]


def _known_codes(column: Profile, values: Mapping[str, str]) -> dict[str, str]:
    """Return the meanings of A and I if a status column has both and only one-character codes, or else nothing."""
    codes = {fold(word) for word in column.distinct}
    is_coded = codes >= {"a", "i"} and max(map(len, codes)) == 1
    if not is_coded or not _STATUS.search(without_accents(same_header(column.header))):
        return {}
    return {word: values[_GUESSED[fold(word)]] for word in column.distinct if fold(word) in ("a", "i")}


def _asked_for(view: View, part: Part, field: str) -> list[str]:
    """Return the columns that a question offers for a field."""
    choices = [choice for question in part.questions for choice in question.choices]
    offered = [each.value for each in choices if each.key == field]
    offered += [fallback_in(each.value) or "" for each in choices if each.key == f"join.{field}"]
    return [header for header in offered if header in view.by_header]


def _ask_for_words_of_others(view: View, part: Part, field: str, source: str) -> None:
    """Ask what the unknown words mean in columns that a person may choose in place of `source`."""
    known = view.by_header[source].distinct
    for header in [each for each in dict.fromkeys(_asked_for(view, part, field)) if each != source]:
        column, yes = read_rows(view, part, header), not is_inverted(header)
        values = {"Yes": "Yes" if yes else "No", "No": "No" if yes else "Yes"}
        values = values if field == "Active" else {each: _IDENTITY_WORDS[value] for each, value in values.items()}
        doubtful, guessed = _guesses(field, column)
        unknown = [each for each in column.distinct if fold(each) not in WORDS[field].keys() - doubtful]
        for word in [each for each in unknown if each not in known][:12]:
            if guess := guessed.get(_letters(word) or word) or _guess_phrase(word):
                part.shape.setdefault("values", {}).setdefault(field, {}).setdefault(word, values[guess])
            asked = question_about(header, word, field, values, guess)
            text = asked.text.replace("mean?", "mean if this column says who is active?")
            part.ask(text, *asked.choices)


def question_about(
    header: str, word: str, field: str, values: Mapping[str, str], guess: str | None = None
) -> OpenQuestion:
    """Ask whether a word of a status means active; `values` has what to store for Yes and for No."""
    said = f" Proposed: {'active' if guess == 'Yes' else 'not active'}." if guess else ""
    names = {"Yes": f"{word} means active", "No": f"{word} means not active"}
    choices = [ProposedChoice(names[each], f"values.{field}.{word}", values[each]) for each in ("Yes", "No")]
    return OpenQuestion(f"{header}: what does {word} mean?{said}", choices)


def _guess_phrase(phrase: str) -> str | None:
    """Return No for a phrase with a word for inactive, unless it also has a word such as not, never or will."""
    words = {fold(word) for word in re.findall(r"[^\W\d_]+", phrase)}
    ended = {word for word in words if ACTIVE.get(word) is False and word not in YES_NO}
    return "No" if len(words) > 1 and ended and not words & _NOT else None


def _guesses(field: str, column: Profile) -> tuple[set[str], dict[str, str]]:
    """Return the known words that are doubtful in this column, and the meanings to propose for all unclear words."""
    codes = {fold(word) for word in column.distinct}
    # Without F beside it, T may mean terminated rather than true. J is certain to mean ja only if there is also an N.
    doubtful = {yes for yes, no in (("t", "f"), ("j", "n")) if yes in codes and no not in codes and len(codes) > 1}
    if column.numbers == 1 and "0" not in codes and not codes <= WORDS[field].keys():
        # Among codes such as 1, 2 and 3, the meaning of 1 is doubtful too.
        doubtful = codes
    if names_of(column.header)[:1] == ["login"]:
        # An account that cannot log in may still be used by others, for example with su.
        closed = {word for word in codes if YES_NO.get(word) is False}
        return doubtful | closed, {**_GUESSED, **dict.fromkeys(closed, "No")}
    if codes and codes <= {"0", "1"} and _NUMBERED.search(same_header(column.header)):
        # 0 means active in some systems and inactive in others. Guess that the most frequent value is active.
        often = Counter(map(fold, column.values)).most_common(1)[0][0]
        return codes, {**_GUESSED, **{code: "Yes" if often == code else "No" for code in ("0", "1")}}
    return doubtful, _GUESSED


def _letters(word: str) -> str:
    return re.sub(r"[^a-z]", "", word.lower())
