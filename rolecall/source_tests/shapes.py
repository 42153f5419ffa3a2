from datetime import datetime

import msgspec

from rolecall.applications.model import Content
from rolecall.core.checking import Body
from rolecall.sources.shapes import SourceBody


class SourceTestBody(Body):
    """A source to test before it is saved. Without one, the saved source is tested."""

    source: SourceBody | None = None


class UnderstoodContent(msgspec.Struct, rename="camel"):
    """The rows of one content that an import would read from the first records, or why they cannot be read."""

    content: Content
    rows: list[dict[str, str]]
    problem: str | None


class TestedContent(msgspec.Struct, rename="camel"):
    """The test of a file group: `found` of `total` records were fetched. `total` is null if it is unknown."""

    file_group: str
    found: int
    total: int | None
    # Whether all records were fetched.
    is_complete: bool
    # The names of the fields that occur in the records, at most 100.
    fields: list[str]
    understood: list[UnderstoodContent]
    problem: str | None


class SourceTest(msgspec.Struct, rename="camel"):
    """The result of a test. `login` is the login as the source reports it; `secretDate` is when the secret was set."""

    is_working: bool
    problem: str | None
    login: str | None
    secret_date: datetime | None
    contents: list[TestedContent]
