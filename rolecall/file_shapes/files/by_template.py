"""Read files with a connector template: choose the file group that fits each file."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from rolecall.application_imports.read.shaping import columns_named
from rolecall.applications.field_words import ACTIVE
from rolecall.applications.file_shape import ANY_OTHER, FileShape, columns_in, separated_by
from rolecall.applications.model import Content, same_header
from rolecall.core.text import fold
from rolecall.file_shapes.cells.values import question_about, read_rows
from rolecall.file_shapes.choices import SKIP_ROWS
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_LEAST = 0.5
_MOST_ASKED = 12
_LONGEST = 60


def choose_group(view: View, groups: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the file group with the largest share of its columns in the file; None if that share is less than half."""
    shares = [_share(view, group) for group in groups]
    best = max(range(len(groups)), key=shares.__getitem__, default=None)
    return groups[best] if best is not None and shares[best] >= _LEAST else None


def fits(view: View, groups: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the file has all columns of the group that fits best."""
    group = choose_group(view, groups)
    return group is not None and all(_share(view, section) == 1 for section in _sections(group))


def parts_by(view: View, group: Mapping[str, Any], template: str) -> list[Part]:
    """Return the contents that a file group reads from a file, for display."""
    return [_part(view, section, template) for section in _sections(group)]


def with_questions(group: Mapping[str, Any], parts: Sequence[Part]) -> dict[str, Any]:
    """Return a file group whose shapes list the open questions of its contents.

    Imports are held until these questions are answered.
    """
    asking = deepcopy(dict(group))
    for section, part in zip(_sections(asking), parts, strict=True):
        if part.questions:
            section["shape"] = {**(section["shape"] or {}), "openQuestions": [each.text for each in part.questions]}
    return asking


def _sections(group: Mapping[str, Any]) -> list[Any]:
    return [group, *(group["shape"] or {}).get("contents", [])]


def _part(view: View, section: Mapping[str, Any], template: str) -> Part:
    headers = {same_header(profile.header): profile.header for profile in view.profiles}
    why = f"the template {template} says so"
    fields = {
        field: Meaning(headers[same_header(header)], field, 1.0, why)
        for header, field in section["columns"].items()
        if same_header(header) in headers
    }
    evidence = [f"Template {template}: {len(fields)} of {len(section['columns'])} columns found"]
    part = Part(Content(section["content"]), fields, dict(section.get("shape") or {}), _share(view, section), evidence)
    _ask_for_new_words(view, part)
    _ask_for_lists(view, part)
    return part


def _ask_for_lists(view: View, part: Part) -> None:
    """Ask about cells with several groups, permissions or usernames that the template reads as one name."""
    if part.content not in (Content.MEMBERSHIPS, Content.PERMISSIONS):
        return
    split = {same_header(header) for header in part.shape.get("split", {})}
    patterns = filter(None, map(part.origin, ("Group", "Permission", "Username")))
    named = {column for pattern in patterns for column in columns_in(pattern)}
    read = {*map(same_header, named), *map(same_header, part.shape.get("unpivot", {}).get("columns") or ())} - split
    for column in [each for each in view.profiles if same_header(each.header) in read]:
        if separator := read_rows(view, part, column.header).separator:
            example = next((value for value in column.values if separator in value), column.values[0])[:_LONGEST]
            how = separated_by(separator)
            text = (
                f"{column.header} may have several values in a cell, {how}: {example}. "
                "Split these cells into separate values?"
            )
            yes = ProposedChoice("Yes, split the cells", f"split.{column.header}", separator)
            no = ProposedChoice("No, each cell is one value", SKIP_ROWS, column.header)
            part.ask(text, yes, no)


def _ask_for_new_words(view: View, part: Part) -> None:
    """Ask about status words that neither the service nor the template knows."""
    if part.content != Content.USERS or "Active" not in part.fields:
        return
    shape = msgspec.convert(part.shape, FileShape)
    given = {word for field, words in shape.values.items() if same_header(field) == "active" for word in words}
    if ANY_OTHER in given:
        return
    is_opposite = "active" in map(same_header, shape.invert)
    values = {"Yes": "No", "No": "Yes"} if is_opposite else {"Yes": "Yes", "No": "No"}
    column = read_rows(view, part, part.fields["Active"].header)
    known = {*ACTIVE, *map(fold, given), *map(fold, shape.blank)}
    new = [word for word in column.distinct if fold(word) not in known]
    part.questions = [question_about(column.header, word, "Active", values) for word in new[:_MOST_ASKED]]


def _share(view: View, section: Mapping[str, Any]) -> float:
    """Return the share of a section's columns that the file has."""
    shape = msgspec.convert(section.get("shape") or {}, FileShape)
    wanted = {same_header(name) for name in columns_named(shape, section["columns"])}
    present = {same_header(profile.header) for profile in view.profiles}
    for field, pattern in shape.join.items():
        columns = {*map(same_header, columns_in(pattern))}
        if same_header(field) in present and not columns & present:
            # If the columns of the pattern are missing, the reader uses the column that is named like the field.
            wanted = (wanted - columns) | {same_header(field)}
    # Of several headers for a field, a file has only one.
    mapped = {same_header(header): field for header, field in section["columns"].items()}
    found = {mapped[name] for name in wanted & present if name in mapped}
    wanted -= {name for name in wanted - present if mapped.get(name) in found}
    return len(wanted & present) / len(wanted) if wanted else 0.0
