from typing import Any

import msgspec

from rolecall.applications.model import Content
from rolecall.core.checking import Body


class ColumnProposal(msgspec.Struct, rename="camel"):
    """A column, the field that it is read as, and the evidence. Without a field it is metadata, or ignored."""

    header: str
    field: str | None
    confidence: float
    evidence: str
    is_ignored: bool
    # Distinct values of the first rows.
    examples: list[str]


class ProposedChoice(msgspec.Struct, frozen=True):
    """An answer: it sets the path `key` of the shape to `value`, or reads the column `value` as the field `key`."""

    label: str
    key: str
    value: str


class OpenQuestion(msgspec.Struct, frozen=True):
    """A question that the file does not answer. Imports are held until it is answered."""

    text: str
    choices: list[ProposedChoice]


class ContentProposal(msgspec.Struct, rename="camel"):
    """The proposal for one content of a file, with the first rows as they would be imported."""

    content: Content
    confidence: float
    evidence: list[str]
    columns: list[ColumnProposal]
    shape: dict[str, Any]
    questions: list[OpenQuestion]
    understood: list[dict[str, str]]


class FileProposal(msgspec.Struct, rename="camel"):
    """How a file is read, or the `problem` why it cannot be read."""

    name: str
    size: int
    problem: str | None
    format: str | None
    encoding: str | None
    # Set for CSV only.
    delimiter: str | None
    # Null if the file has no header.
    header_line: int | None
    evidence: list[str]
    file_group: str | None
    contents: list[ContentProposal]
    # The first lines as they are in the file.
    raw: list[str]
    # The sheet that is read, if a workbook has several with data, and the names of all of them.
    sheet: str | None = None
    sheets: list[str] = []
    # The path to the records of JSON, and the paths of all lists in the file.
    records: str | None = None
    lists: list[str] = []


class ProposalDetail(msgspec.Struct, rename="camel"):
    """A proposed connector, for the body of an application, and the evidence for it."""

    connector: dict[str, Any]
    is_identity_source: bool
    files: list[FileProposal]


class ProposeBody(Body):
    """The files to read."""
