"""Describe the calls about live sources."""

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
    """Get the live source of an application."""
    return describe.get(answers.Source, _PATH, application_id)


def put_source(
    application_id: Id, kind: str, url: str | None = None, *, contents: Json, **fields: Unpack[SourceFields]
) -> Call[answers.Source]:
    """Set the live source of an application, from which imports fetch records. `SCIM Push` has no URL."""
    body: Mapping[str, object] = {"kind": kind, "contents": contents, **({"url": url} if url else {}), **fields}
    return describe.call("PUT", answers.Source, _PATH, application_id, body=body)


def delete_source(application_id: Id) -> Call[None]:
    """Remove the live source of an application and its stored secret; imported data stays.

    If it is a SCIM Push source, its tokens are revoked and the pushed records are deleted.
    """
    return describe.call("DELETE", type(None), _PATH, application_id)


def test_source(application_id: Id, *, source: Json | None = None) -> Call[answers.SourceTest]:  # noqa: PT028
    """Connect to the saved or the given live source; return its first records as an import would read them."""
    return describe.post(answers.SourceTest, f"{_PATH}/test", application_id, source=source)


def get_push(application_id: Id) -> Call[answers.Push]:
    """Get the SCIM push into an application: its URL, counts, next import and tokens."""
    return describe.get(answers.Push, "/api/applications/{}/scim", application_id)


def create_push_token(
    application_id: Id, name: str, *, expires_in_days: int | None = 365
) -> Call[answers.PushTokenWithSecret]:
    """Create a token for an identity provider; it never expires if `expires_in_days` is None.

    The response contains its secret, which is never shown again.
    """
    # Send null too: an omitted field would mean the default.
    body: Json = {"name": name, "expires_in_days": expires_in_days}
    return describe.call(
        "POST", answers.PushTokenWithSecret, "/api/applications/{}/scim/tokens", application_id, body=body
    )


def revoke_push_token(scim_token_id: Id) -> Call[None]:
    """Revoke a SCIM token. The next request with it is refused."""
    return describe.call("DELETE", type(None), "/api/scim-tokens/{}", scim_token_id)
