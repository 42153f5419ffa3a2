"""Define the stored configuration of a source, the interface of its connections, and pages of records."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.config import Config
from rolecall.core.db import Pool
from rolecall.core.nested_json import decode_nested
from rolecall.core.text import in_one_line

LONGEST_REASON = 500


class SourceFailed(Exception):
    """Raised if a source or a carrier fails, with the reason on one line.

    The reason may quote text from the server, so it is cut to LONGEST_REASON characters.
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
    """How requests to an HTTP source authenticate."""

    NONE = "None"
    BEARER = "Bearer"
    BASIC = "Basic"
    HEADER = "Header"


class Paging(StrEnum):
    """How the next page is requested. A list ends at an empty page, at its total, or if there is no next page."""

    NONE = "None"
    PAGE = "Page"
    OFFSET = "Offset"
    CURSOR = "Cursor"
    NEXT = "Next"
    LINK = "Link"


# Paging by page number or offset: a record that is added or removed during the read shifts the following pages.
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
    """The source of an application. `secret_ref` refers to the secret, which is not stored here."""

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
    """A page of records in the order of the source; `total` is the number of all records, if the source reports it."""

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
        """Return the records as JSON lines."""
        return _LINES(self.records)


class EncodedPage(RecordPage):
    """A page whose records are written without decoding them; they are decoded only if `records` is read."""

    def __init__(self, encoded: list[msgspec.Raw], ids: list[object], total: int | None) -> None:
        super().__init__([], total)
        self._encoded, self._ids = encoded, ids

    def __len__(self) -> int:
        return len(self._encoded)

    @property
    def records(self) -> list[FetchedRecord]:
        if not self._records:
            try:
                self._records = [decode_nested(each) for each in self._encoded]
            except msgspec.DecodeError as error:
                raise SourceFailed(f"a record is not valid JSON: {error}") from None
        return self._records

    def ids(self) -> list[object]:
        return self._ids

    def lines(self) -> bytes:
        joined = b"\n".join(self._encoded) + b"\n" if self._encoded else b""
        # Encode the records again if the server formatted them over several lines.
        return joined if joined.count(b"\n") == len(self._encoded) else super().lines()


_LINES = msgspec.json.Encoder().encode_lines


class SourceConnection(ABC):
    """An open connection to a source.

    If `is_snapshot`, the list cannot change while it is read. If `is_scim`, attribute names are case-insensitive, and
    the source may leave out empty lists.
    """

    is_snapshot = False
    is_scim = False

    @property
    def notes(self) -> Sequence[str]:
        """Return notes about the content that was read last, for the log of the import."""
        return ()

    @abstractmethod
    def pages(self, content: SourceContent) -> AsyncIterator[RecordPage]: ...

    async def login(self) -> str:
        """Return a description of the login and its rights, as the source reports them; empty if it reports none."""
        return ""


class SourceAccess(msgspec.Struct, frozen=True):
    """The parameters of a connection: the source, its secret and the limits of this service."""

    source: Source
    secret: str
    config: Config
    # The maximum total time that the client spends waiting before retries.
    max_wait_seconds: float
    # Used only for SCIM Push, whose records are in the database of the service.
    pool: Pool | None = None
    application_id: UUID | None = None

    def __repr__(self) -> str:
        """Leave out the secret, because this text may be logged."""
        return f"SourceAccess({self.source.kind})"


Connect = Callable[[SourceAccess], AbstractAsyncContextManager[SourceConnection]]


class SourceChanged(SourceFailed):
    """Raised if the list changed while it was read, so it must be read again."""
