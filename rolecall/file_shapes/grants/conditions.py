"""Find the conditions under which grants apply, and ask about those whose dates are all in the past."""

import re

import polars as pl

from rolecall.application_imports.read.dates import are_past
from rolecall.file_shapes.choices import SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_NAMES = ("conditiontitle", "conditionexpression", "condition", "conditions", "conditionnum", "conditionid")
_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_LONGEST = 80


def read_conditions(view: View, part: Part) -> Part:
    """Read a column of conditions as the values of grants, so that conditional and unconditional grants differ.

    Do not read it if another column has the values. Ask about conditions whose dates are all past.
    """
    columns = [each for each in map(view.named, ([name] for name in _NAMES)) if each and each.values]
    taken = {each.header for each in part.fields.values()}
    free = [each for each in columns if each.header not in taken]
    if free and "Value" not in part.fields:
        column = free[0]
        part.fields["Value"] = Meaning(column.header, "Value", 0.8, "the grant applies only under this condition")
        part.evidence.append(f"Some grants apply only under a condition: {', '.join(column.distinct)[:_LONGEST]}")
    for column in dict.fromkeys(columns):
        _ask_for_past(part, column)
    return part


def _ask_for_past(part: Part, column: Profile) -> None:
    """Ask whether access is still held if all dates in the condition of its grant are past."""
    ended = [text for text in column.distinct if (dates := _DATE.findall(text)) and _are_past(dates)]
    if not ended:
        return
    shown = ", ".join(text[:_LONGEST] for text in ended[:3])
    text = f"{column.header} has conditions with dates before today: {shown}. Is the access in these rows still held?"
    leave_out = ProposedChoice("No, leave them out", SKIP_ROWS, SEPARATOR.join((column.header, "is", *ended)))
    keep = ProposedChoice("Yes, read all rows", SKIP_ROWS, column.header)
    part.ask(text, leave_out, keep)


def _are_past(dates: list[str]) -> bool:
    return bool(are_past(pl.Series(dates), "iso").all())
