from typing import Any

import msgspec

from rolecall.applications.model import Content
from rolecall.core.checking import Body


class ColumnProposal(msgspec.Struct, rename="camel"):
    """A column, the field that it is read as, and why. Without a field it is kept as metadata, or ignored."""

    header: str
    field: str | None
    confidence: float
    evidence: str
    is_ignored: bool
    # Different values of the first rows.
    examples: list[str]


class ProposedChoice(msgspec.Struct, frozen=True):
    """An answer; `key` is the path in the shape that gets `value`, or Username for a column."""

    label: str
    key: str
    value: str


class OpenQuestion(msgspec.Struct, frozen=True):
    """A question that the file does not answer; an import may fail without an answer."""

    text: str
    choices: list[ProposedChoice]


class ContentProposal(msgspec.Struct, rename="camel"):
    """What a file says about one content, with the first rows as they would be imported."""

    content: Content
    confidence: float
    evidence: list[str]
    columns: list[ColumnProposal]
    shape: dict[str, Any]
    questions: list[OpenQuestion]
    understood: list[dict[str, str]]


class FileProposal(msgspec.Struct, rename="camel"):
    """How a file is read. A `problem` says why it cannot be."""

    name: str
    size: int
    problem: str | None
    format: str | None
    encoding: str | None
    # Of CSV; null for other formats.
    delimiter: str | None
    # Null: the file has no header.
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
