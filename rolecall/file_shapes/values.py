"""Propose how values are read: formats of dates, and words for statuses and types."""

import re

from rolecall.applications.field_words import DATE_FIELDS, NO_DATE, WORDS
from rolecall.applications.file_shape import ANY_OTHER
from rolecall.core.text import fold
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.profiles import Profile
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

# One-letter and local words for statuses; proposed with little confidence.
_GUESSED = {
    "loa": "Yes", "leaveofabsence": "Yes", "expiredgrace": "Yes", "lockedtimed": "Yes",
    "a": "Yes", "e": "Yes", "act": "Yes", "ok": "Yes", "open": "Yes", "valid": "Yes", "onleave": "Yes", "leave": "Yes",
    "longtermleave": "Yes", "i": "No", "d": "No", "t": "No", "l": "No", "s": "No", "x": "No", "inact": "No",
    "term": "No", "susp": "No", "dis": "No", "quit": "No", "ended": "No", "offboarded": "No", "locked": "No",
}  # fmt: skip
_KINDS = {
    **dict.fromkeys(("fte", "fulltime", "parttime", "permanent", "regular", "staff", "internal"), "Employee"),
    **dict.fromkeys(("contractor", "consultant", "external", "contingent", "supplier", "partner"), "Vendor"),
    **dict.fromkeys(("intern", "temp", "trainee", "apprentice", "seasonal"), "Temporary"),
}
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
        if {"day first", "month first"} <= set(formats) and "iso" not in formats:
            example = next(iter(view.by_header[meaning.header].values), "")
            text = f"{meaning.header}: is the day or the month first in {example}?"
            choices = [
                ProposedChoice(f"{each.title()}", f"dates.{meaning.header}", each)
                for each in ("day first", "month first")
            ]
            part.questions = [*part.questions, OpenQuestion(text, choices)]
        elif formats and (words or "iso" not in formats):
            part.shape.setdefault("dates", {})[meaning.header] = formats[0]
            part.evidence.append(f"{meaning.header} has dates: {formats[0]}")


def _blank_words(view: View, part: Part, column: Profile, words: list[str]) -> None:
    """Name words for no date that the format of the column does not cover; `blank` is for all columns."""
    if column.date_formats:
        return
    others = {fold(value) for each in view.profiles if each is not column for value in each.distinct}
    if only_here := [word for word in words if re.search(r"[^\W\d]", word) and fold(word) not in others]:
        part.shape["blank"] = sorted({*part.shape.get("blank", []), *only_here})


def add_words(view: View, part: Part) -> None:
    """Propose values for unknown words, and add a question for each."""
    if kind := part.fields.get("Type"):
        known = {word: _KINDS.get(_letters(word)) for word in view.by_header[kind.header].distinct[:50]}
        if proposed := {word: value for word, value in known.items() if value and fold(word) not in WORDS["Type"]}:
            part.shape.setdefault("values", {})["Type"] = proposed
    locked = view.by_header[part.fields["Locked"].header] if "Locked" in part.fields else None
    if locked and locked.numbers == 1 and any(fold(word) not in WORDS["Locked"] for word in locked.distinct):
        # SAP writes the reasons of a lock as a number.
        part.shape.setdefault("values", {})["Locked"] = {"0": "No", ANY_OTHER: "Yes"}
    for field in ("Active", "Status"):
        if (meaning := part.fields.get(field)) is None:
            continue
        if ANY_OTHER in part.shape.get("values", {}).get(field, {}):
            continue
        words = view.by_header[meaning.header].distinct
        codes = {fold(word) for word in words}
        # T beside other codes is terminated rather than true.
        doubtful = {"t"} if "t" in codes and "f" not in codes and len(codes) > 1 else set()
        unknown = [word for word in words if fold(word) not in WORDS[field].keys() - doubtful]
        for word in unknown[:12]:
            guess = _GUESSED.get(_letters(word))
            values = {"Yes": "Yes", "No": "No"} if field == "Active" else _IDENTITY_WORDS
            if guess:
                part.shape.setdefault("values", {}).setdefault(field, {})[word] = values[guess]
            said = f" Proposed: {values[guess]}." if guess else ""
            text = f"{meaning.header}: what does {word} mean?{said}"
            names = {"Yes": f"{word} means active", "No": f"{word} means not active"}
            choices = [ProposedChoice(names[each], f"values.{field}.{word}", values[each]) for each in ("Yes", "No")]
            part.questions = [*part.questions, OpenQuestion(text, choices)]


def _letters(word: str) -> str:
    return re.sub(r"[^a-z]", "", word.lower())
