from datetime import datetime

import msgspec

from rolecall.applications.model import Content
from rolecall.core.checking import Body
from rolecall.sources.shapes import SourceBody


class SourceTestBody(Body):
    """A source to test before it is saved; without one the saved source is tested."""

    source: SourceBody | None = None


class UnderstoodContent(msgspec.Struct, rename="camel"):
    """The first records as rows of one content, or why they cannot be read."""

    content: Content
    rows: list[dict[str, str]]
    problem: str | None


class TestedContent(msgspec.Struct, rename="camel"):
    """What a file group would get: `found` records were read, of `total` if the source says how many there are."""

    file_group: str
    found: int
    total: int | None
    # Whether `found` is the whole list.
    is_complete: bool
    # The names of the members that the records have.
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
