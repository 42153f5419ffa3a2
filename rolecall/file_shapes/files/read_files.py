"""Define the state of a file during a proposal, and name the sheet or list that is read."""

import msgspec

from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.tables.sample import Sample


class ReadFile(msgspec.Struct):
    """The working state of one file while a connector is proposed."""

    sample: Sample
    view: View | None = None
    parts: list[Part] = []
    problem: str | None = None
    group: str | None = None
    # Other sheets or lists of the same file: `others` are read, and `left` are not.
    others: list["ReadFile"] = []
    left: list["ReadFile"] = []


def place_of(file: ReadFile) -> str:
    """Return the name of the sheet or list that is read, as people see it."""
    assert file.view
    found = file.view.table
    return found.name or (f"sheet {found.sheet}" if found.sheet else f"list {found.records or 'of the file'}")
