import re
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import parse_qsl

import msgspec
from pydantic import AfterValidator, Field

from rolecall.core.checking import (
    STRIPPED,
    Body,
    Flag,
    Maybe,
    Name256,
    Text,
    Text256,
    Text2048,
    broken,
    one_of,
)
from rolecall.core.secret_names import looks_secret
from rolecall.sources.model import Authentication, Paging, SearchScope, Source, SourceContent, SourceKind
from rolecall.sources.references import reference_problem

MOST_CONTENTS = 50
LONGEST_QUERY = 20_000
_SECRET_NAME = re.compile(
    r"passw|pwd|secret|token$|authori[sz]ation|cookie|credential|(api|access|subscription|account|function|shared).?key"
    r"|(^|[-_.])(auth|sig|signature)$|^(x[-_])?(key|code)$",
    re.IGNORECASE,
)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# Headers that the HTTP client sets itself.
_FIXED_HEADERS = ("host", "content-length", "transfer-encoding", "connection", "accept-encoding")


class SourceDetail(msgspec.Struct, rename="camel"):
    """The source of an application. `secretDate` is when its secret was set, if that is known."""

    kind: SourceKind
    url: str
    contents: dict[str, SourceContent]
    username: str
    secret_ref: str
    authentication: Authentication
    header: str
    headers: dict[str, str]
    start_tls: bool
    timeout_seconds: int
    changed_date: datetime
    secret_date: datetime | None
    # When the schedule starts the next fetch.
    next_run: datetime | None
    # Why the last import failed; null if it did not.
    last_failure: str | None


def _is_reference(text: str) -> str:
    if problem := reference_problem(text):
        raise broken(problem)
    return text


def names_secret(name: str) -> bool:
    """Return whether the name of a header, parameter or attribute suggests a secret."""
    return _SECRET_NAME.search(name) is not None or looks_secret(name)


def _without_secrets(given: dict[str, str]) -> dict[str, str]:
    for name in given:
        if names_secret(name):
            raise broken(f"{name} looks like a secret; use authentication Header, and refer to the secret in secretRef")
    return given


def _without_secret_query(text: str) -> str:
    """Reject a URL or path with a secret in its query, because URLs are shown."""
    _without_secrets(dict(parse_qsl(text.partition("?")[2], keep_blank_values=True)))
    return text


def _without_login(path: str) -> str:
    """Reject a path that is a full URL with a login, because paths are shown."""
    if "@" in path.partition("://")[2].partition("/")[0]:
        raise broken("{name} must not contain a username or password")
    return path


def _are_headers(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _FIXED_HEADERS or not value.isprintable():
            raise broken(f"{name} cannot be set: its name or value is not valid, or the HTTP client sets it")
    return given


def _is_header(name: str) -> str:
    if not _HEADER_NAME.fullmatch(name) or name.lower() in _FIXED_HEADERS:
        raise broken("{name} must be the name of a header such as X-API-Key")
    return name


_Texts = dict[Annotated[str, Field(max_length=256)], Text2048]
_PublicTexts = Annotated[_Texts, Field(max_length=50), AfterValidator(_without_secrets)]


class SourceContentBody(Body):
    """Where the records of one file group come from; which keys apply depends on the kind."""

    path: Annotated[Text2048, AfterValidator(_without_login), AfterValidator(_without_secret_query)] = ""
    filter: Text2048 = ""
    query: Annotated[Text, Field(max_length=LONGEST_QUERY)] = ""
    parameters: _PublicTexts = Field(default_factory=dict)
    records: Text256 = ""
    paging: Maybe[Annotated[Paging, one_of(Paging)]] = Paging.NONE
    page_size: Annotated[int, Field(ge=1, le=10_000)] | None = None
    first_page: Annotated[int, Field(ge=0, le=1)] = 1
    page_parameter: Text256 = ""
    size_parameter: Text256 = ""
    next: Text256 = ""
    total: Text256 = ""
    key: Text256 = ""
    each: Text256 = ""
    attributes: Annotated[list[Name256], Field(max_length=200)] = Field(default_factory=list)
    scope: Maybe[Annotated[SearchScope, one_of(SearchScope)]] = SearchScope.SUBTREE
    resolve: Annotated[dict[str, Name256], Field(max_length=10)] = Field(default_factory=dict)
    nested: Flag = False


class PeerBody(Body):
    """The connection settings of a source or a carrier."""

    url: Annotated[Text, STRIPPED, Field(max_length=2048), AfterValidator(_without_secret_query)] = ""
    username: Text256 = ""
    secret_ref: Annotated[Maybe[Text256], AfterValidator(_is_reference)] | None = None
    authentication: Maybe[Annotated[Authentication, one_of(Authentication)]] = Authentication.NONE
    header: Annotated[Maybe[Text256], AfterValidator(_is_header)] | None = None
    headers: Annotated[_PublicTexts, AfterValidator(_are_headers)] = Field(default_factory=dict)
    start_tls: Flag = False
    timeout_seconds: Annotated[int, Field(ge=1, le=3600)] = 60


class SourceDefinition(PeerBody):
    """The source of an application, with a reference to its secret instead of the secret."""

    kind: Annotated[SourceKind, one_of(SourceKind)]
    contents: Annotated[
        dict[Annotated[str, STRIPPED], SourceContentBody], Field(min_length=1, max_length=MOST_CONTENTS)
    ]


Secret = Annotated[Text, Field(max_length=10_000)]


class SourceBody(SourceDefinition):
    """The source of an application.

    `secret` is stored encrypted and never shown. If it is sent, `secretRef` must be `sealed` or omitted.
    """

    secret: Secret | None = None

    def as_source(self, secret_ref: str) -> Source:
        """Return the source to store, without the secret."""
        given: dict[str, Any] = self.model_dump(exclude={"secret", "contents", "secret_ref"}, exclude_none=True)
        contents = {
            name: SourceContent(**content.model_dump(exclude_none=True)) for name, content in self.contents.items()
        }
        return Source(contents=contents, secret_ref=secret_ref, **given)
