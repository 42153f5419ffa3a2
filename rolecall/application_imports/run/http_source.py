"""Read scheduled files over HTTP(S), only from inside an import root.

Redirects are checked and followed here, only by their `Location` header: the client library might also follow `URI` or
`Refresh`. The IP address is checked when the socket is created.
"""

import asyncio
import fnmatch
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import aiohttp
from yarl import URL

from rolecall.core.roots import is_plain

OUTSIDE = "it is outside of ROLECALL_IMPORT_ROOTS"
NOT_THERE = "there is no such file"
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_HOPS = 10
_MOST_MATCHES = 100
_MOST_LISTING_BYTES = 4 * 1024 * 1024
_PATTERN = re.compile(r"[*\[]")
# A match ends at the next `<` at the latest: otherwise the rest of the page could be read again for each tag.
_LINK = re.compile(r"""<a\s(?:[^<>]*?\s)?href=["']([^"'<>]+)["']""", re.IGNORECASE)
# The total timeout also ends a read from a source that sends one byte per minute.
_TIMEOUT = aiohttp.ClientTimeout(total=3600, sock_connect=30, sock_read=60)
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "Rolecall-Imports/1"}
# Addresses of cloud metadata services, which give credentials to any process on the machine. Link-local addresses such
# as 169.254.169.254 are forbidden without being listed here.
_METADATA = [IPv4Address("168.63.129.16"), IPv4Address("100.100.100.200"), IPv6Address("fd00:ec2::254")]
_NAT64 = IPv6Network("64:ff9b::/96")


class HttpSource:
    """A file on an HTTP server, opened for reading."""

    def __init__(self, name: str, answer: aiohttp.ClientResponse) -> None:
        self.name, self._answer = name, answer

    @property
    def size(self) -> int | None:
        return self._answer.content_length

    async def read(self, most: int) -> bytes:
        return await self._answer.content.read(most)


def is_http(url: str) -> bool:
    return url.startswith(("http://", "https://"))


@asynccontextmanager
async def open_http(root: str, location: str) -> AsyncIterator[HttpSource]:
    """Open the file at `location`. If several files match a pattern, open the one that was modified last."""
    inside = URL(root)
    async with _session(inside) as session:
        address, mark, query = location.partition("?")
        folder, _, name = address.rpartition("/")
        if _PATTERN.search(folder.partition("://")[2].partition("/")[2]):
            raise ValueError("only the name of the file may contain a pattern, not the folders before it")
        url = URL(location)
        if _PATTERN.search(name):
            url = await _newest(session, inside, URL(f"{folder}/{mark}{query}"), name)
        async with _answer(session, "GET", inside, url) as answer:
            yield HttpSource(str(url.with_query(None)), answer)


def _session(root: URL) -> aiohttp.ClientSession:
    def make_socket(info: aiohttp.AddrInfoType) -> socket.socket:
        address = str(info[4][0])
        # A forbidden address is allowed if the operator wrote it in the root, but a host name must not resolve to one.
        if address != root.host and is_never_a_source(address):
            raise PermissionError(OUTSIDE)
        return socket.socket(*info[:3])

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(socket_factory=make_socket),
        timeout=_TIMEOUT,
        headers=_HEADERS,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
    )


def is_never_a_source(address: str) -> bool:
    """Return whether an address is forbidden as a source: link-local, multicast, unspecified or cloud metadata."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        embedded = IPv4Address(int(found) & 0xFFFFFFFF) if found in _NAT64 else found.sixtofour
        found = found.ipv4_mapped or embedded or found
    return found.is_link_local or found.is_multicast or found.is_unspecified or found in _METADATA


@asynccontextmanager
async def _answer(
    session: aiohttp.ClientSession, method: str, root: URL, url: URL
) -> AsyncIterator[aiohttp.ClientResponse]:
    """Follow redirects and yield the final response.

    If a URL is outside `root`, do not request it; raise PermissionError.
    """
    for _ in range(_MOST_HOPS):
        if not _is_inside(root, url):
            raise PermissionError(OUTSIDE)
        async with session.request(method, url, allow_redirects=False) as answer:
            if answer.status not in _REDIRECTS:
                _check_status(answer.status)
                yield answer
                return
            target = answer.headers.get("Location")
        if not target:
            raise OSError(f"the server responded with {answer.status} without a Location header")
        url = url.join(URL(target))
    raise OSError(f"the server redirects more than {_MOST_HOPS} times")


def _check_status(status: int) -> None:
    if status == 404:
        raise FileNotFoundError(NOT_THERE)
    if status != 200:
        raise OSError(f"the server responded with {status}")


def _is_inside(root: URL, url: URL) -> bool:
    same = (url.origin(), url.user, url.password) == (root.origin(), root.user, root.password)
    return same and url.raw_path.startswith(root.raw_path) and is_plain(str(url))


async def _newest(session: aiohttp.ClientSession, root: URL, folder: URL, pattern: str) -> URL:
    """Return the URL of the newest matching file among the links on the page of the folder."""
    async with _answer(session, "GET", root, folder) as answer:
        page = bytearray()
        async for chunk in answer.content.iter_any():
            page += chunk
            if len(page) > _MOST_LISTING_BYTES:
                raise OSError(
                    f"the list of files is larger than {_MOST_LISTING_BYTES >> 20} MiB; use a folder with fewer files"
                )
    # Read the links in a thread: a page can have hundreds of thousands, and other work of the worker must continue.
    found = await asyncio.to_thread(matching_links, page.decode(errors="replace"), root, folder, pattern)
    if not found:
        raise FileNotFoundError(NOT_THERE)
    if len(found) > _MOST_MATCHES:
        raise OSError(f"more than {_MOST_MATCHES} files match; use a pattern that matches fewer files")
    if len(found) == 1:
        return found.pop()
    ages = {url: await _modified(session, root, url) for url in found}
    return max(found, key=lambda url: (ages[url], url.name))


def matching_links(page: str, root: URL, folder: URL, pattern: str) -> set[URL]:
    """Return the links of a page that match the pattern and are inside the folder."""
    links = {link.partition("#")[0] for link in _LINK.findall(page)}
    return {url for url in map(folder.with_query(None).join, map(URL, links)) if _fits(root, folder, pattern, url)}


def _fits(root: URL, folder: URL, pattern: str, url: URL) -> bool:
    is_in_folder = url.raw_path.rpartition("/")[0] == folder.raw_path.rstrip("/")
    return is_in_folder and _is_inside(root, url) and fnmatch.fnmatchcase(url.name, pattern)


async def _modified(session: aiohttp.ClientSession, root: URL, url: URL) -> float:
    async with _answer(session, "HEAD", root, url) as answer:
        try:
            return parsedate_to_datetime(answer.headers.get("Last-Modified", "")).timestamp()
        except ValueError:
            raise OSError(
                "several files match, and the server does not say which is the newest; name one file"
            ) from None
