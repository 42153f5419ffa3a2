from typing import Any

import msgspec

from rolecall.application_imports.read.access_signs import Sign
from rolecall.application_imports.read.column_uses import Fate
from rolecall.applications.model import Content
from rolecall.core.checking import Body


class ColumnProposal(msgspec.Struct, rename="camel"):
    """A column, the field that it is read as, and the evidence.

    A column without a field is part of a pattern, is read together with other columns, is kept as metadata, or is
    ignored.
    """

    header: str
    field: str | None
    confidence: float
    evidence: str
    is_ignored: bool
    # The first distinct values of the sample; empty for a secret.
    examples: list[str]


class ProposedChoice(msgspec.Struct, frozen=True):
    """An answer to an open question.

    Most answers set the path `key` of the shape to `value`, or read the column `value` as the field `key`.
    """

    label: str
    key: str
    value: str


class OpenQuestion(msgspec.Struct, frozen=True):
    """A question that the file does not answer. Imports are held until it is answered."""

    text: str
    choices: list[ProposedChoice]


class ColumnAccount(msgspec.Struct, rename="camel"):
    """What becomes of a column, sheet or list of a file. Each of them is listed once, in the order of the file.

    `how` names the fields that are read from it, or says why it is not read. `mayBeAccess` says why a column that is
    not read as groups or permissions may contain them; a person can decide that it does not.
    """

    header: str
    # The sheet or list, if it is not the first one that is read; `accounting.BESIDE` for what is outside the tables.
    place: str | None
    becomes: Fate
    how: str
    may_be_access: Sign | None
    # The separator of several values in a cell.
    separator: str | None
    # The number of distinct values of the column in the sample.
    values: int
    # The first distinct values of the sample; empty for a secret.
    examples: list[str]


class ContentProposal(msgspec.Struct, rename="camel"):
    """The proposal for one content of a file, with the first rows as they would be imported."""

    content: Content
    confidence: float
    evidence: list[str]
    columns: list[ColumnProposal]
    shape: dict[str, Any]
    questions: list[OpenQuestion]
    understood: list[dict[str, str]]
    # The sheet or list that the content is read from, if it is not the first one.
    place: str | None = None
    # How the rows of the sample are read, with counts.
    statements: list[str] = []


class FileProposal(msgspec.Struct, rename="camel"):
    """How a file is read. If it cannot be read, `problem` says why."""

    name: str
    size: int
    problem: str | None
    format: str | None
    encoding: str | None
    # Set for CSV only.
    delimiter: str | None
    # Null if no single line is the header.
    header_line: int | None
    evidence: list[str]
    file_group: str | None
    contents: list[ContentProposal]
    # The first lines or records of the file, each truncated and without secrets.
    raw: list[str]
    # The sheet of a workbook that is read, if several sheets have data, and the names of all sheets with data.
    sheet: str | None = None
    sheets: list[str] = []
    # The path to the records of JSON, and the paths of all lists in the file.
    records: str | None = None
    lists: list[str] = []
    # Every column, sheet and list of the file, with what becomes of it.
    columns: list[ColumnAccount] = []


class Understood(msgspec.Struct):
    """The first rows as an import would store them, and statements about all rows of the sample."""

    rows: list[dict[str, str]] = []
    statements: list[str] = []
    # Details in which rows of one account differ. They are not kept, because an import would reject such rows.
    differing: list[str] = []
    # The usernames with the number of their rows; None if there are none, or if the file was read only in part.
    usernames: dict[str, int] | None = None


class ProposalDetail(msgspec.Struct, rename="camel"):
    """A proposed connector, in the format of the body of an application, and the evidence for it."""

    connector: dict[str, Any]
    is_identity_source: bool
    files: list[FileProposal]


class ProposeBody(Body):
    """The files to read."""
