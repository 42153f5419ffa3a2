"""Responses about live sources."""

from datetime import datetime

from rolecall.client.answers.common import Answer, Json


class Source(Answer):
    """The live source of an application; `contents` by file group has the keys that are set."""

    kind: str
    url: str
    contents: dict[str, Json]
    username: str
    secret_ref: str
    authentication: str
    header: str
    headers: dict[str, str]
    start_tls: bool
    timeout_seconds: int
    changed_date: datetime
    secret_date: datetime | None
    next_run: datetime | None
    last_failure: str | None


class UnderstoodContent(Answer):
    content: str
    rows: list[dict[str, str]]
    problem: str | None


class TestedContent(Answer):
    file_group: str
    found: int
    total: int | None
    is_complete: bool
    fields: list[str]
    understood: list[UnderstoodContent]
    problem: str | None


class SourceTest(Answer):
    is_working: bool
    problem: str | None
    login: str | None
    secret_date: datetime | None
    contents: list[TestedContent]
