"""Read files with a connector template: choose the file group that fits each file."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rolecall.application_imports.read.shaping import columns_named
from rolecall.applications.file_shape import FileShape, Placeholder, pattern_parts
from rolecall.applications.model import Content, same_header
from rolecall.file_shapes.meanings import Meaning
from rolecall.file_shapes.parts import Part, View

_LEAST = 0.5


def choose_group(view: View, groups: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the file group with the largest share of its columns in the file; None if that is less than half."""
    shares = [_share(view, group) for group in groups]
    best = max(range(len(groups)), key=shares.__getitem__, default=None)
    return groups[best] if best is not None and shares[best] >= _LEAST else None


def parts_by(view: View, group: Mapping[str, Any], template: str) -> list[Part]:
    """Return the contents that a file group reads from a file, for display."""
    sections = [group, *(group["shape"] or {}).get("contents", [])]
    return [_part(view, section, template) for section in sections]


def _part(view: View, section: Mapping[str, Any], template: str) -> Part:
    headers = {same_header(profile.header): profile.header for profile in view.profiles}
    why = f"the template {template} says so"
    fields = {
        field: Meaning(headers[same_header(header)], field, 1.0, why)
        for header, field in section["columns"].items()
        if same_header(header) in headers
    }
    evidence = [f"Template {template}: {len(fields)} of {len(section['columns'])} columns found"]
    return Part(Content(section["content"]), fields, dict(section.get("shape") or {}), _share(view, section), evidence)


def _share(view: View, section: Mapping[str, Any]) -> float:
    """Return the share of a section's columns that the file has."""
    shape = msgspec.convert(section.get("shape") or {}, FileShape)
    wanted = {same_header(name) for name in columns_named(shape, section["columns"])}
    present = {same_header(profile.header) for profile in view.profiles}
    for field, pattern in shape.join.items():
        columns = {same_header(part.column) for part in pattern_parts(pattern) if isinstance(part, Placeholder)}
        if same_header(field) in present and not columns & present:
            # If the columns of the pattern are missing, the reader uses the column that is named like the field.
            wanted = (wanted - columns) | {same_header(field)}
    return len(wanted & present) / len(wanted) if wanted else 0.0
