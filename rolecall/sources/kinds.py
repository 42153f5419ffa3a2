"""Define the kinds of sources: how each connects, and which keys of the configuration it uses."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import msgspec

from rolecall.sources import http_client, ldap, push, rest, scim, sql
from rolecall.sources.model import Connect, Source, SourceAccess, SourceConnection, SourceKind
from rolecall.sources.peers import peer_of


class SourceAdapter(msgspec.Struct, frozen=True):
    """How a kind of source connects, and which keys it uses. `example` is a sample URL, empty if there is none."""

    connect: Connect
    is_url: Callable[[str], bool]
    example: str
    # The keys that the source may have.
    keys: frozenset[str]
    # The keys that each content of the source may have, and the keys that it must have.
    content_keys: frozenset[str]
    required: frozenset[str] = frozenset()


_HTTP_KEYS = frozenset({"username", "secretRef", "authentication", "header", "headers", "timeoutSeconds"})
_SHAPED = frozenset({"key", "each", "attributes"})


def _is_http_url(url: str) -> bool:
    return peer_of(url, http_client.PORTS) is not None


KINDS: dict[SourceKind, SourceAdapter] = {
    SourceKind.SCIM: SourceAdapter(
        scim.connect,
        _is_http_url,
        "https://idp.example.com/scim/v2",
        _HTTP_KEYS,
        _SHAPED | {"path", "parameters", "filter", "paging", "pageSize"},
        required=frozenset({"path"}),
    ),
    SourceKind.LDAP: SourceAdapter(
        ldap.connect,
        ldap.is_ldap_url,
        "ldaps://ldap.example.com",
        frozenset({"username", "secretRef", "startTls", "timeoutSeconds"}),
        _SHAPED | {"path", "filter", "scope", "pageSize", "resolve", "nested"},
        required=frozenset({"path"}),
    ),
    SourceKind.REST: SourceAdapter(
        rest.connect,
        _is_http_url,
        "https://api.example.com/v1",
        _HTTP_KEYS,
        _SHAPED
        | {"path", "parameters", "records", "paging", "pageSize", "firstPage", "pageParameter", "sizeParameter"}
        | {"next", "total"},
    ),
    SourceKind.SQL: SourceAdapter(
        sql.connect,
        sql.is_sql_url,
        "postgresql://db.example.com/hr or sqlite:///srv/exports/hr.db",
        frozenset({"username", "secretRef", "timeoutSeconds"}),
        _SHAPED | {"query"},
        required=frozenset({"query"}),
    ),
    SourceKind.SCIM_PUSH: SourceAdapter(
        push.connect,
        lambda url: not url,
        "",
        frozenset({"timeoutSeconds"}),
        frozenset({"path", "attributes", "each"}),
        required=frozenset({"path"}),
    ),
}


@asynccontextmanager
async def connect(access: SourceAccess) -> AsyncIterator[SourceConnection]:
    async with KINDS[access.source.kind].connect(access) as connection:
        yield connection


def place_of(source: Source) -> str:
    """Return a string with the scheme, host, port, encryption and login; empty for a source without a host.

    A stored secret is bound to this string.
    """
    parts = urlsplit(source.url)
    if not parts.hostname:
        return ""
    encryption = " with StartTLS" if source.start_tls else ""
    if parts.query == sql.UNENCRYPTED:
        encryption = " without encryption"
    login = f" as {source.username}" if source.username else ""
    return f"{parts.scheme}://{parts.netloc.lower()}{encryption}{login}"


def host_of(url: str) -> str:
    """Return the host of a URL, or an empty string if the URL is empty or refers to a file."""
    return urlsplit(url).hostname or ""
