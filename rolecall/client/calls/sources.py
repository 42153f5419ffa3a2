"""Calls about live sources."""

from collections.abc import Mapping
from typing import TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Json
from rolecall.client.calls import describe
from rolecall.client.calls.describe import Call, Id

_PATH = "/api/applications/{}/source"


class SourceFields(TypedDict, total=False):
    username: str
    secret_ref: str
    secret: str
    authentication: str
    header: str
    headers: Json
    start_tls: bool
    timeout_seconds: int


def get_source(application_id: Id) -> Call[answers.Source]:
    """Show the live source of an application."""
    return describe.get(answers.Source, _PATH, application_id)


def put_source(
    application_id: Id, kind: str, url: str, *, contents: Json, **fields: Unpack[SourceFields]
) -> Call[answers.Source]:
    """Set the live source of an application; imports fetch its records instead of files."""
    body: Mapping[str, object] = {"kind": kind, "url": url, "contents": contents, **fields}
    return describe.call("PUT", answers.Source, _PATH, application_id, body=body)


def delete_source(application_id: Id) -> Call[None]:
    """Remove the live source of an application and its stored secret; imported data stays."""
    return describe.call("DELETE", type(None), _PATH, application_id)


def test_source(application_id: Id, *, source: Json | None = None) -> Call[answers.SourceTest]:  # noqa: PT028
    """Connect to the live source, or to a draft of one, and show its first records as understood."""
    return describe.post(answers.SourceTest, f"{_PATH}/test", application_id, source=source)
