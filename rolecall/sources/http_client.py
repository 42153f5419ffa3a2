"""Send HTTP requests for live sources and carriers. No other HTTP client is used for them.

The client checks every address when it opens the socket. For reads, it follows redirects to the same scheme, host and
port, and retries temporary failures after a pause or after the time that the server asks for. It sends a change only
once.
"""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp
import msgspec
from yarl import URL

from rolecall.core.dialing import Blocked, guarded_connector, retry_after
from rolecall.core.nested_json import decode_nested
from rolecall.sources.model import Authentication, SourceAccess, SourceFailed
from rolecall.sources.peers import blocked, listing_problem

PORTS = {"https": 443, "http": 80}
MOST_PAGE_BYTES = 64 * 1024 * 1024
# Pauses in seconds before a failed page is requested again.
RETRY_PAUSES = (0.5, 2.0)
_MOST_WAIT = 300.0
_MOST_HOPS = 5
_KEPT_OPEN = 15.0
_LOOKUP_THREADS = 2
_REDIRECTS = (301, 302, 303, 307, 308)
_WAIT = (429, 503)
_CREDENTIALS = (401, 403)
_NOT_FOUND = 404
_HEADERS = {
    "Accept": "application/scim+json, application/json",
    # Request no compression, because a small compressed response could expand beyond MOST_PAGE_BYTES.
    "Accept-Encoding": "identity",
    "User-Agent": "Rolecall-Sources/1",
}
_SENT = {"Content-Type": "application/scim+json"}


class JsonAnswer(NamedTuple):
    value: Any
    # The values of the Link header.
    links: list[str]
    url: URL


class SentAnswer(NamedTuple):
    """The response to a change; `value` is its decoded JSON, or None if it has no body."""

    status: int
    value: Any


class _Refused(Exception):
    """Raised if a request fails.

    It may be retried unless `is_final`: after `pause` seconds if the server set a pause, or else after a fixed one.
    """

    def __init__(self, reason: str, *, is_final: bool = True, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.is_final, self.pause = is_final, pause


# Decodes the body of a response. `decoded` is the default; its error says why a body is not JSON.
Decode = Callable[[bytes], Any]


class SourceHttp:
    """An HTTP client for one server that answers in JSON."""

    def __init__(self, access: SourceAccess, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._wait_left = access.max_wait_seconds
        self.root = URL(access.source.url)

    async def get(self, url: URL, query: Mapping[str, str] | None = None, decode: Decode | None = None) -> JsonAnswer:
        """Return the JSON at a URL of this server. Retry temporary failures after a pause, which the server may set."""
        target = url.update_query(dict(query)) if query else url
        pauses = list(RETRY_PAUSES)
        while True:
            try:
                return await self._follow(target, decode or decoded)
            except _Refused as refused:
                pause = refused.pause or (pauses.pop(0) if pauses else 0.0)
                if refused.is_final or not pause or not self._may_wait(pause):
                    raise SourceFailed(f"{target.path}: {refused}") from None
                await asyncio.sleep(pause)

    def _may_wait(self, seconds: float) -> bool:
        self._wait_left -= seconds
        return seconds <= _MOST_WAIT and self._wait_left >= 0

    async def _follow(self, url: URL, decode: Decode) -> JsonAnswer:
        for _ in range(_MOST_HOPS):
            if url.origin() != self.root.origin():
                raise _Refused(f"the server refers to {url.origin()}; only {self.root.origin()} is allowed")
            answer = await self._ask(url, decode)
            if not isinstance(answer, URL):
                return answer
            url = answer
        raise _Refused(f"the server redirects more than {_MOST_HOPS} times")

    async def _ask(self, url: URL, decode: Decode) -> JsonAnswer | URL:
        """Send one request; return the response, or the target of a redirect."""
        try:
            # `_follow` follows redirects itself, because it checks their targets.
            async with self._session.get(url, allow_redirects=False) as answer:
                if answer.status in _REDIRECTS and (target := answer.headers.get("Location")):
                    return url.join(URL(target))
                if answer.status != 200:
                    raise _refusal(answer)
                return JsonAnswer(decode(await _whole(answer)), answer.headers.getall("Link", []), url)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._unreachable(error) from error

    async def send(self, method: str, url: URL, body: object = None) -> SentAnswer:
        """Send a change once, without a retry, and return the response.

        Raise SourceFailed if the URL differs from the configured server in scheme, host or port, if the server
        redirects, refuses the credentials, is busy or fails, or if no readable response arrives.
        """
        if url.origin() != self.root.origin():
            raise SourceFailed(f"nothing is sent to {url.origin()}; only {self.root.origin()} is allowed")
        content = None if body is None else msgspec.json.encode(body)
        try:
            async with self._session.request(method, url, data=content, headers=_SENT, allow_redirects=False) as answer:
                if answer.status in (*_REDIRECTS, *_WAIT, *_CREDENTIALS) or answer.status >= 500:
                    raise _refusal(answer)
                said = await _whole(answer)
                return SentAnswer(answer.status, decoded(said) if said else None)
        except _Refused as refused:
            raise SourceFailed(f"{url.path}: {refused}") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise SourceFailed(f"{url.path}: {self._unreachable(error)}") from error

    def _unreachable(self, error: Exception) -> _Refused:
        host = self.root.host
        # The order matters: several of these errors are subclasses of a later one.
        match error:
            case aiohttp.ClientConnectorCertificateError():
                return _Refused(f"the certificate of {host} is not accepted: {_certificate_reason(error)}")
            case aiohttp.ClientConnectorSSLError():
                return _Refused(f"no encrypted connection to {host} can be made; check that the server offers TLS")
            case aiohttp.ClientConnectorDNSError():
                return _Refused(f"the name {host} cannot be resolved; check the URL", is_final=False)
            case aiohttp.ClientConnectorError() if isinstance(error.os_error, Blocked):
                return _Refused(str(blocked(host or "", encrypted=self.root.scheme == "https")))
            case TimeoutError():
                return _Refused("the server did not answer in time", is_final=False)
            case aiohttp.ClientConnectorError():
                return _Refused(f"{host} cannot be reached", is_final=False)
            case aiohttp.ClientError() | OSError():
                return _Refused("the server closed the connection before the response was complete", is_final=False)
        return _Refused("the server redirects to something that is not a URL")


def _certificate_reason(error: aiohttp.ClientConnectorCertificateError) -> str:
    inner = error.certificate_error
    return str(getattr(inner, "verify_message", "") or "it cannot be verified").rstrip(".")


def _refusal(answer: aiohttp.ClientResponse) -> _Refused:
    if answer.status in _WAIT:
        wait = retry_after(answer.headers.get("Retry-After", "")).total_seconds()
        told = f" and asks to wait {wait:,.0f} s" if wait else ""
        text = f"the server responded with {answer.status}: it is too busy{told}; try later, or ask for a higher limit"
        return _Refused(text, is_final=False, pause=wait)
    if answer.status in _CREDENTIALS:
        return _Refused(
            f"the server refuses the credentials ({answer.status}); "
            "check the secret, whether it has expired and what it allows"
        )
    advice = "; check the URL and the path" if answer.status == _NOT_FOUND else ""
    if answer.status >= 500:
        advice = "; see its log for the reason"
    return _Refused(f"the server responded with {answer.status}{advice}", is_final=answer.status < 500)


async def _whole(answer: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in answer.content.iter_any():
        content += chunk
        if len(content) > MOST_PAGE_BYTES:
            raise _Refused(f"a page is larger than {MOST_PAGE_BYTES:,} bytes; set a smaller page size")
    return bytes(content)


def decoded(content: bytes) -> Any:
    try:
        return decode_nested(content)
    except msgspec.DecodeError:
        if content.lstrip()[:1] == b"<":
            raise _Refused(
                "the server responded with a web page instead of JSON; check the URL, and whether it needs a login"
            ) from None
        raise _Refused("the response is not JSON; check the URL and the path") from None


@asynccontextmanager
async def open_http(access: SourceAccess) -> AsyncIterator[SourceHttp]:
    source, hosts = access.source, access.config.source_hosts
    url = URL(source.url)
    if problem := listing_problem(url.host or "", hosts):
        raise SourceFailed(problem)
    threads = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="source-lookup")
    tls = tls_context(access) if url.scheme == "https" else None
    session = aiohttp.ClientSession(
        connector=guarded_connector(url.scheme, hosts.networks, threads, keepalive=_KEPT_OPEN, tls=tls),
        headers={**_HEADERS, **source.headers, **_credentials(access)},
        # Prevent rounding: aiohttp extends a timeout above the threshold to the next whole second.
        timeout=aiohttp.ClientTimeout(total=source.timeout_seconds, ceil_threshold=source.timeout_seconds + 1),
        cookie_jar=aiohttp.DummyCookieJar(),
        # A proxy from the environment would bypass the address check.
        trust_env=False,
        auto_decompress=False,
    )
    try:
        async with session:
            yield SourceHttp(access, session)
    finally:
        # Do not wait for lookups that hang.
        threads.shutdown(wait=False, cancel_futures=True)


def tls_context(access: SourceAccess) -> ssl.SSLContext:
    """Trust the certificate authorities of the system and those in ROLECALL_SOURCE_CA."""
    context = ssl.create_default_context()
    if access.config.source_ca:
        context.load_verify_locations(access.config.source_ca)
    return context


def _credentials(access: SourceAccess) -> dict[str, str]:
    source, secret = access.source, access.secret
    if not secret.isprintable():
        raise SourceFailed("the secret contains characters that a header cannot have; save it without line breaks")
    match source.authentication:
        case Authentication.NONE:
            return {}
        case Authentication.BEARER:
            return {"Authorization": f"Bearer {secret}"}
        case Authentication.BASIC:
            both = base64.b64encode(f"{source.username}:{secret}".encode()).decode()
            return {"Authorization": f"Basic {both}"}
        case Authentication.HEADER:
            return {source.header: secret}
