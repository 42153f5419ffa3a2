"""The configuration of a source, as it is stored, and what a connection to one yields."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

import msgspec

from rolecall.core.config import Config
from rolecall.core.db import Pool
from rolecall.core.text import in_one_line

LONGEST_REASON = 500


class SourceFailed(Exception):
    """The source did not deliver what was asked; the message says what went wrong, in one line.

    It may repeat what the source sent, which can be of any length.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(in_one_line(reason[:LONGEST_REASON]))


class SourceKind(StrEnum):
    SCIM = "SCIM"
    REST = "REST"
    LDAP = "LDAP"
    SQL = "SQL"
    SCIM_PUSH = "SCIM Push"


class Authentication(StrEnum):
    """How requests to an HTTP source are authenticated."""

    NONE = "None"
    BEARER = "Bearer"
    BASIC = "Basic"
    HEADER = "Header"


class Paging(StrEnum):
    """How the next page is found; a list ends with an empty page, at its total, or without a next page."""

    NONE = "None"
    PAGE = "Page"
    OFFSET = "Offset"
    CURSOR = "Cursor"
    NEXT = "Next"
    LINK = "Link"


# Styles that count pages or records, so that a change during the read shifts what follows.
BY_NUMBER = (Paging.PAGE, Paging.OFFSET)


class SearchScope(StrEnum):
    SUBTREE = "Subtree"
    ONE_LEVEL = "One Level"
    BASE = "Base"


class SourceContent(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where the records of one file group come from. `docs/sources.md` describes every key."""

    path: str = ""
    filter: str = ""
    query: str = ""
    parameters: dict[str, str] = {}
    records: str = ""
    paging: Paging = Paging.NONE
    page_size: int = 0
    first_page: int = 1
    page_parameter: str = ""
    size_parameter: str = ""
    next: str = ""
    total: str = ""
    key: str = ""
    each: str = ""
    attributes: list[str] = []
    scope: SearchScope = SearchScope.SUBTREE
    resolve: dict[str, str] = {}
    nested: bool = False


class Source(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The source of an application. `secret_ref` names a secret; the secret itself is never part of this."""

    kind: SourceKind
    url: str = ""
    contents: dict[str, SourceContent] = {}
    username: str = ""
    secret_ref: str = ""
    authentication: Authentication = Authentication.NONE
    header: str = ""
    headers: dict[str, str] = {}
    start_tls: bool = False
    timeout_seconds: int = 60


FetchedRecord = dict[str, Any]


class RecordPage:
    """Records in the order of the source, and how many it says there are in all."""

    def __init__(self, records: list[FetchedRecord], total: int | None = None) -> None:
        self._records, self.total = records, total

    def __len__(self) -> int:
        return len(self._records)

    @property
    def records(self) -> list[FetchedRecord]:
        return self._records

    def ids(self) -> list[object]:
        return [record.get("id") for record in self._records]

    def lines(self) -> bytes:
        """Return the records as lines of JSON."""
        return _LINES(self.records)


class EncodedPage(RecordPage):
    """A page whose records are written as they came, one a line, and decoded only if something needs them."""

    def __init__(self, encoded: list[msgspec.Raw], ids: list[object], total: int | None) -> None:
        super().__init__([], total)
        self._encoded, self._ids = encoded, ids

    def __len__(self) -> int:
        return len(self._encoded)

    @property
    def records(self) -> list[FetchedRecord]:
        if not self._records:
            try:
                self._records = [msgspec.json.decode(each) for each in self._encoded]
            except (msgspec.DecodeError, RecursionError) as error:
                raise SourceFailed(f"a record is not JSON that can be read: {error}") from None
        return self._records

    def ids(self) -> list[object]:
        return self._ids

    def lines(self) -> bytes:
        joined = b"\n".join(self._encoded) + b"\n" if self._encoded else b""
        # A server may write its JSON over several lines.
        return joined if joined.count(b"\n") == len(self._encoded) else super().lines()


_LINES = msgspec.json.Encoder().encode_lines


class SourceConnection(Protocol):
    """An open connection to a source.

    `is_snapshot`: a list cannot change while it is read. `is_scim`: names have no case, and empty lists are left out.
    """

    @property
    def is_snapshot(self) -> bool: ...

    @property
    def is_scim(self) -> bool: ...

    # What the log should say about the content that was read last.
    @property
    def notes(self) -> Sequence[str]: ...

    def pages(self, content: SourceContent) -> AsyncIterator[RecordPage]: ...

    async def login(self) -> str:
        """Describe the login that the source reports and what it may do; empty if it does not report one."""
        ...


class SourceAccess(msgspec.Struct, frozen=True):
    """What a connection needs: the source, its secret and the limits of this service."""

    source: Source
    secret: str
    config: Config
    # The total time that a server may ask us to wait.
    max_wait_seconds: float
    # Where pushed records are.
    pool: Pool | None = None
    application_id: UUID | None = None

    def __repr__(self) -> str:
        """Leave out the secret: this may reach a log."""
        return f"SourceAccess({self.source.kind})"


Connect = Callable[[SourceAccess], AbstractAsyncContextManager[SourceConnection]]


class SourceChanged(SourceFailed):
    """The list changed while it was read, so that the snapshot is not complete."""
