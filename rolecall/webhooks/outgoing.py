"""The only HTTP client that sends to receivers. It checks every address again when the socket is created."""

import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from rolecall.core import clock
from rolecall.webhooks import guard
from rolecall.webhooks.model import ATTEMPT_TAKES, AttemptOutcome, AttemptResult

READ_BYTES = 64 * 1024
KEPT_BYTES = 16 * 1024
# Receivers close idle connections at any time; reusing an old one risks a failed attempt.
_KEPT_OPEN = 1.0
_LOOKUP_THREADS = 32
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "User-Agent": "Rolecall-Webhooks/1",
}
_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV

# Tests replace this to block every address but loopback.
make_socket = socket.socket


class Blocked(OSError):
    """The SSRF guard refuses the address."""


class Outgoing:
    def __init__(self, allowed: tuple[guard.Network, ...]) -> None:
        self._allowed = allowed
        self._threads = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="lookup")
        self._sessions: dict[str, aiohttp.ClientSession] = {}
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for scheme in ("https", "http"):
            session = self._session(self._secure_socket if scheme == "https" else self._plain_socket)
            self._sessions[scheme] = await self._closing.enter_async_context(session)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _session(self, socket_factory: Any) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            socket_factory=socket_factory,
            resolver=_Resolver(self._threads),
            limit=0,
            keepalive_timeout=_KEPT_OPEN,
        )
        return aiohttp.ClientSession(
            connector=connector,
            headers=_HEADERS,
            # aiohttp rounds timeouts above this threshold up to whole seconds.
            timeout=aiohttp.ClientTimeout(total=ATTEMPT_TAKES.total_seconds(), ceil_threshold=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )

    def _secure_socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        return self._socket(info, refused=guard.is_refused(str(info[4][0]), self._allowed))

    def _plain_socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        """Allow plain HTTP only to addresses in ROLECALL_WEBHOOK_ALLOW."""
        return self._socket(info, refused=not guard.is_allowed(str(info[4][0]), self._allowed))

    @staticmethod
    def _socket(info: aiohttp.AddrInfoType, *, refused: bool) -> socket.socket:
        if refused:
            raise Blocked("blocked")
        return make_socket(*info[:3])

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AttemptResult:
        target = guard.parse(url)
        if target is None:
            return AttemptResult(AttemptOutcome.BLOCKED)
        try:
            return await self._post(target, headers, body)
        except TimeoutError:
            return AttemptResult(AttemptOutcome.TIMEOUT)
        except (aiohttp.ClientConnectorSSLError, aiohttp.ClientConnectorCertificateError):
            return AttemptResult(AttemptOutcome.TLS)
        except aiohttp.ClientConnectorDNSError:
            return AttemptResult(AttemptOutcome.DNS)
        except aiohttp.ClientConnectorError as error:
            return AttemptResult(
                AttemptOutcome.BLOCKED if isinstance(error.os_error, Blocked) else AttemptOutcome.CONNECT
            )
        except (aiohttp.ClientError, OSError, ValueError):
            return AttemptResult(AttemptOutcome.CONNECT)

    async def _post(self, url: URL, headers: Mapping[str, str], body: bytes) -> AttemptResult:
        session = self._sessions[url.scheme]
        async with session.post(url, data=body, headers=headers, allow_redirects=False) as answer:
            delivered = 200 <= answer.status < 300
            return AttemptResult(
                AttemptOutcome.DELIVERED if delivered else AttemptOutcome.STATUS,
                answer.status,
                await _head_of(answer),
                timedelta(0) if delivered else retry_after(answer.headers.get("Retry-After", "")),
            )


async def _head_of(answer: aiohttp.ClientResponse) -> str:
    """Read the start of the response body. The status decided the outcome, so a failure here changes nothing."""
    content = bytearray()
    try:
        async for chunk in answer.content.iter_any():
            content += chunk
            if len(content) >= READ_BYTES:
                answer.close()
                break
    except (TimeoutError, aiohttp.ClientError, OSError):
        answer.close()
    # PostgreSQL text cannot hold NUL.
    return content[:KEPT_BYTES].decode(errors="replace").replace("\x00", "\ufffd")


def retry_after(text: str) -> timedelta:
    """Parse Retry-After as seconds or a date; ignore any other value."""
    if text.isascii() and text.isdecimal():
        return timedelta(seconds=int(text[:9]))
    try:
        return max(parsedate_to_datetime(text).astimezone(UTC) - clock.now(), timedelta(0))
    except (ValueError, OverflowError):
        return timedelta(0)


class _Resolver(AbstractResolver):
    """Resolve names in separate threads, so that a slow lookup delays only its own delivery."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        try:
            found = await guard.look_up(host, family, self._threads)
        except UnicodeError as error:
            raise OSError(str(error)) from error
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=_NUMERIC)
            for kind, address in found
        ]

    async def close(self) -> None:
        pass
