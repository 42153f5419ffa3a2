"""Define the only HTTP client for webhooks and chat messages. It checks each address when it creates the socket."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Self

import aiohttp
from yarl import URL

from rolecall.core import address_check
from rolecall.core.dialing import Blocked, guarded_connector, retry_after
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


class Outgoing:
    def __init__(self, allowed: tuple[address_check.Network, ...]) -> None:
        self._allowed = allowed
        self._threads = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="lookup")
        self._sessions: dict[str, aiohttp.ClientSession] = {}
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        # One session for each scheme: the sockets for plain HTTP connect only to addresses in `allowed`.
        for scheme in ("https", "http"):
            self._sessions[scheme] = await self._closing.enter_async_context(self._session(scheme))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _session(self, scheme: str) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=guarded_connector(scheme, self._allowed, self._threads, keepalive=_KEPT_OPEN),
            headers=_HEADERS,
            # aiohttp rounds timeouts above `ceil_threshold` up to whole seconds, so set it above this timeout.
            timeout=aiohttp.ClientTimeout(total=ATTEMPT_TAKES.total_seconds(), ceil_threshold=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            # With a proxy from the environment, the checked address would be that of the proxy.
            trust_env=False,
        )

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AttemptResult:
        target = address_check.parse(url)
        if target is None:
            return AttemptResult(AttemptOutcome.BLOCKED)
        try:
            return await self._post(target, headers, body)
        except TimeoutError:
            return AttemptResult(AttemptOutcome.TIMEOUT)
        # Certificate and DNS errors are also connector errors, so catch them first.
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
    """Return the start of the response body. The status decided the outcome, so a failure here changes nothing."""
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
