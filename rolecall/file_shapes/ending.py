"""Find end dates of accounts, people and grants, and treat those in the past as ended."""

import re

import polars as pl

from rolecall.application_imports.read.dates import NAMED_DATES, are_past
from rolecall.applications.file_shape import ANY_OTHER
from rolecall.file_shapes.meanings import is_feature
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.profiles import Profile, is_date
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

_LAST_DAY = re.compile(
    r"(?:end|terminat[a-z]*|expir[a-z]*|leav[a-z]*|exit|separation)[ _-]*(?:date|day|on)(?![a-z])"
    r"|valid[ _-]*(?:to|until|through)(?![a-z])|account[ _-]*expir[a-z]*|^(?:gltgb|to_dat|enddt|austrittsdatum)$",
    re.IGNORECASE,
)
_INACTIVE = {"Active": "No", "Status": "Disabled"}
# The key of a choice that leaves out rows, and the separator of the column and the format in its value.
SKIP_PAST, SEPARATOR = "skipRowsWhere", "\x1f"


def end_after(view: View, part: Part, field: str) -> None:
    """Read accounts or people as inactive whose last day has passed; only where no column says who is active."""
    if (column := _last_day(view)) is not None and (format := _format(column)):
        part.shape.setdefault("join", {})[field] = f"{{{column.header}|past({format})}}"
        part.shape.setdefault("values", {})[field] = {ANY_OTHER: _INACTIVE[field]}
        part.evidence.append(f"{column.header} is the last day: rows with a date before today are not active")
    elif column is not None:
        part.evidence.append(f"{column.header} may be the last day, in a form that is not clear; it is kept as it is")


def ask_for_ended(view: View, part: Part) -> None:
    """Ask whether grants whose last day has passed are left out."""
    column = _last_day(view)
    format = _format(column) if column else None
    if column is None or format is None or not are_past(pl.Series(column.distinct), format).any():
        return
    text = f"{column.header} has dates before today. Are these rows still held?"
    ended = ProposedChoice("No, leave them out", SKIP_PAST, f"{column.header}{SEPARATOR}{format}")
    part.questions = [*part.questions, OpenQuestion(text, [ended, ProposedChoice("Yes, read all rows", SKIP_PAST, "")])]


def _last_day(view: View) -> Profile | None:
    fits = (each for each in view.profiles if _LAST_DAY.search(each.header) and not is_feature(each.header))
    return next((each for each in fits if each.values), None)


def _format(column: Profile) -> str | None:
    """Return the format of the dates, or None if there is none or the order of day and month is not clear."""
    formats = column.date_formats
    if formats:
        return None if {"day first", "month first"} <= set(formats) else formats[0]
    named = (each for each in NAMED_DATES if all(is_date(value, each) for value in column.distinct))
    return next(named, None)
