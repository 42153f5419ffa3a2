"""Restrict live sources and carriers to the hosts in `ROLECALL_SOURCE_HOSTS`; an empty list allows none.

A host name must be listed, and must resolve to public addresses or to addresses in a listed network. An IP address in a
URL must be in a listed network. This prevents server-side request forgery (SSRF). Addresses are checked when the
connection is made.
"""

from concurrent.futures import Executor
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from rolecall.core import address_check
from rolecall.core.config import AllowedHosts
from rolecall.core.dialing import Blocked, check_address
from rolecall.sources.model import SourceFailed

NOT_LISTED = "{host} is not in ROLECALL_SOURCE_HOSTS; an operator must add it"
PRIVATE = "the address of {host} is private or special; an operator must add its network to ROLECALL_SOURCE_HOSTS"
UNENCRYPTED = (
    "the connection to {host} is not encrypted; use TLS, or an operator must add its network to ROLECALL_SOURCE_HOSTS"
)


class Peer(NamedTuple):
    host: str
    port: int


def peer_of(url: str, ports: dict[str, int]) -> Peer | None:
    """Return the host and port of a URL.

    Return None if it is malformed, contains a login or a fragment, or has a scheme that is not in `ports`.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = parts.hostname or ""
    plain = url.isprintable() and not set(url) & set(" \\") and "@" not in parts.netloc and "%" not in parts.netloc
    if parts.scheme not in ports or not plain or parts.fragment or port == 0 or not address_check.is_host(host):
        return None
    return Peer(host, port or ports[parts.scheme])


def listing_problem(host: str, hosts: AllowedHosts) -> str | None:
    """Return why a host is not allowed, without resolving its name."""
    listed = is_listed(host, hosts)
    return None if listed else NOT_LISTED.format(host=host)


def is_listed(host: str, hosts: AllowedHosts) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return host.rstrip(".").lower() in hosts.names
    return address_check.is_allowed(host, hosts.networks)


def blocked(host: str, *, encrypted: bool) -> SourceFailed:
    return SourceFailed((PRIVATE if encrypted else UNENCRYPTED).format(host=host))


async def checked_addresses(
    host: str, hosts: AllowedHosts, *, encrypted: bool, executor: Executor | None = None
) -> list[str]:
    """Resolve a host for a library that opens its own connections; require that every address is allowed."""
    if problem := listing_problem(host, hosts):
        raise SourceFailed(problem)
    try:
        found = [address for _, address in await address_check.look_up(host.rstrip("."), executor=executor)]
    except (OSError, UnicodeError):
        raise SourceFailed(f"the name {host} cannot be resolved; check the URL") from None
    try:
        # Check every address, because a library may connect to any of them.
        for address in found:
            check_address(address, hosts.networks, encrypted=encrypted)
    except Blocked:
        raise blocked(host, encrypted=encrypted) from None
    return list(dict.fromkeys(found))
