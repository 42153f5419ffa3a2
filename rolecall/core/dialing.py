"""Open connections only to addresses that the address check allows, to prevent SSRF.

HTTP clients use `guarded_connector` for addresses that callers set, such as those of webhooks and live sources. It
checks the address of each socket when the socket is created, which defeats DNS rebinding.
"""

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from rolecall.core import address_check, clock

_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV

# Tests replace this to record which addresses are contacted.
make_socket = socket.socket


class Blocked(OSError):
    """The address check refuses the address."""


def guarded_connector(
    scheme: str,
    allowed: tuple[address_check.Network, ...],
    threads: ThreadPoolExecutor,
    *,
    keepalive: float,
    tls: ssl.SSLContext | None = None,
) -> aiohttp.TCPConnector:
    """Return a connector for one scheme; plain HTTP goes only to addresses in `allowed`."""

    def open_socket(info: aiohttp.AddrInfoType) -> socket.socket:
        check_address(str(info[4][0]), allowed, encrypted=scheme == "https")
        return make_socket(*info[:3])

    return aiohttp.TCPConnector(
        socket_factory=open_socket,
        resolver=_Resolver(threads),
        limit=0,
        keepalive_timeout=keepalive,
        ssl=tls or True,
    )


def check_address(address: str, allowed: tuple[address_check.Network, ...], *, encrypted: bool) -> None:
    """Raise Blocked if an address must not be contacted. Without encryption, block all addresses outside `allowed`."""
    refused = (
        address_check.is_refused(address, allowed) if encrypted else not address_check.is_allowed(address, allowed)
    )
    if refused:
        raise Blocked("blocked")


def retry_after(text: str) -> timedelta:
    """Return the delay in a Retry-After header, given as seconds or a date; zero for any other value."""
    if text.isascii() and text.isdecimal():
        # More digits could overflow the timedelta.
        return timedelta(seconds=int(text[:9]))
    try:
        return max(parsedate_to_datetime(text).astimezone(UTC) - clock.now(), timedelta(0))
    except (ValueError, OverflowError):
        return timedelta(0)


class _Resolver(AbstractResolver):
    """Resolve names in separate threads, so that a slow lookup delays only its own connection."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        try:
            found = await address_check.look_up(host, family, self._threads)
        except UnicodeError as error:
            raise OSError(str(error)) from error
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=_NUMERIC)
            for kind, address in found
        ]

    async def close(self) -> None:
        pass
