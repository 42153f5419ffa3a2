"""Prevent SSRF: decide to which addresses the service may connect, for example for webhooks and live sources.

The denied networks are listed here, because Python's `is_global` allows some of them, such as multicast addresses.
"""

import asyncio
import re
import socket
from collections.abc import Iterable
from concurrent.futures import Executor
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from yarl import URL

from rolecall.core.checking import Addresses

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

# 168.63.129.16 is a public address, but from virtual machines in Azure it leads to internal services.
_DENIED_4 = [
    IPv4Network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
    )
]  # fmt: skip
_GLOBAL_6 = IPv6Network("2000::/3")
_DENIED_6 = [IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")]
# Domains of the local machine or network.
_LOCAL_NAMES = ("localhost", "local", "localdomain", "internal", "home.arpa")

_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?", re.IGNORECASE | re.ASCII)
_QUAD = re.compile(r"(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}", re.ASCII)

LONGEST_URL = 2048
_LOOKUP_TAKES = 2.0

NOT_A_URL = "URL must be an absolute https URL"
NEEDS_HTTPS = "URL must start with https://"
HOLDS_CREDENTIALS = "URL must not contain a user name or password"
REFUSED = "URL must not point to a private, local or other special address"


def is_allowed(address: str, allowed: Iterable[Network]) -> bool:
    plain = _plain(address)
    return any(plain.version == network.version and plain in network for network in allowed)


def is_refused(address: str, allowed: Iterable[Network]) -> bool:
    plain = _plain(address)
    if is_allowed(address, allowed):
        return False
    if isinstance(plain, IPv4Address):
        return any(plain in network for network in _DENIED_4)
    return plain not in _GLOBAL_6 or any(plain in network for network in _DENIED_6)


def _plain(address: str) -> Address:
    """Parse an address. Ignore its zone, and unwrap an IPv4-mapped IPv6 address."""
    found = ip_address(address.partition("%")[0])
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


@lru_cache(maxsize=1024)
def parse(text: str) -> URL | None:
    """Parse a URL with yarl, as aiohttp does, so that check and connection agree; return None if it is invalid."""
    if len(text) > LONGEST_URL or not text.isprintable() or set(text) & set(" \\"):
        return None
    try:
        url = URL(text)
        sound = url.absolute and url.scheme in ("http", "https") and url.port and is_host(url.raw_host or "")
    except ValueError:
        return None
    return url if sound else None


def is_host(host: str) -> bool:
    """Return whether a host is a name or an address.

    The last label of a name must not be a number, because some parsers would read the name as an IPv4 address.
    """
    if ":" in host:
        return "%" not in host
    last = host.rstrip(".").rpartition(".")[2]
    if last.isdecimal() or last.startswith("0x"):
        return _QUAD.fullmatch(host) is not None
    return _NAME.fullmatch(host) is not None


async def looked_up(texts: Iterable[object]) -> Addresses:
    """Look up the hosts of these URLs; return the addresses of each host.

    DNS can take seconds, so the calling code should not have a transaction open.
    """
    urls = [url for text in texts if isinstance(text, str) and (url := parse(text))]
    hosts = {url.raw_host or "" for url in urls}
    return dict(zip(hosts, await asyncio.gather(*map(_addresses, hosts)), strict=True))


def problem(text: str, allowed: tuple[Network, ...], addresses_of: Addresses) -> str | None:
    """Return why a URL must be refused, before any connection is made; return None if no reason is known yet."""
    url = parse(text)
    if url is None:
        return NOT_A_URL
    if url.user is not None or url.password is not None:
        return HOLDS_CREDENTIALS
    host = url.raw_host or ""
    addresses = [host] if _is_address(host) else addresses_of.get(host, [])
    if addresses and all(is_allowed(address, allowed) for address in addresses):
        return None
    if any(is_refused(address, allowed) for address in addresses) or _is_local(host):
        return REFUSED
    return NEEDS_HTTPS if url.scheme == "http" else None


def _is_address(host: str) -> bool:
    """Return whether a host that `parse` accepted is a literal IP address."""
    return ":" in host or _QUAD.fullmatch(host) is not None


def _is_local(host: str) -> bool:
    name = host.rstrip(".").lower()
    return ":" not in name and ("." not in name or name.endswith(tuple(f".{local}" for local in _LOCAL_NAMES)))


async def _addresses(host: str) -> list[str]:
    """Return the addresses of the host; none if the lookup fails."""
    try:
        async with asyncio.timeout(_LOOKUP_TAKES):
            found = await look_up(host.rstrip("."))
    except (OSError, UnicodeError, TimeoutError):
        return []
    return [address for _, address in found]


async def look_up(
    host: str, family: int = socket.AF_UNSPEC, executor: Executor | None = None
) -> list[tuple[socket.AddressFamily, str]]:
    """Return the addresses of a host from the system resolver, so that spellings such as 127.1 are checked too."""
    loop = asyncio.get_running_loop()
    infos = await loop.run_in_executor(
        executor, lambda: socket.getaddrinfo(host, None, socket.AddressFamily(family), socket.SOCK_STREAM)
    )
    return [(kind, str(address[0])) for kind, _, _, _, address in infos]
