"""Define the responses about live sources."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.administration import TokenOwner
from rolecall.client.answers.common import Answer, Json


class Source(Answer):
    """The live source of an application. `contents` has the settings of each file group."""

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


class PushToken(Answer):
    id: UUID
    name: str
    created_date: datetime
    expires_on: datetime | None
    last_used_on: datetime | None
    revoked_on: datetime | None
    owner: TokenOwner | None
    has_owner_left: bool


class PushTokenWithSecret(PushToken):
    secret: str


class Push(Answer):
    """The SCIM push of an identity provider into an application."""

    address: str
    users: int
    active_users: int
    groups: int
    last_request: datetime | None
    last_change: datetime | None
    next_snapshot: datetime | None
    tokens: list[PushToken]


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
