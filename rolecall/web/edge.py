"""Wrap the application in the outermost ASGI layer: correlation id, security headers, request times and the log.

This layer also determines the client's address behind proxies, and serves HEAD and OPTIONS.
"""

import re
import time
from typing import Any

from litestar import Litestar
from litestar.enums import ScopeType
from litestar.types import Receive, Scope, Send

from rolecall.core.config import Config
from rolecall.core.logs import log_request
from rolecall.core.text import is_storable
from rolecall.web import correlation
from rolecall.web.proxies import sender
from rolecall.web.request_times import RequestTimes

# Default headers; a route may override them.
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
]
# The maximum length of a file name on common file systems; a longer name would cause an error instead of a 404.
_LONGEST_PART = 255
_PROBES = ("/healthz", "/readyz", "/metrics")
# Prefixes of paths that end with a secret, which must not be logged.
_CAPABILITIES = ("/sign-in/", "/webhooks/callback/")
_SLASHES = re.compile("/{2,}")
_HSTS = (b"strict-transport-security", b"max-age=31536000")


# Route HEAD like GET. Route OPTIONS as an unknown method, so that the 405 response lists the allowed methods.
_ASKED_AS: dict[str, Any] = {"HEAD": "GET", "OPTIONS": "-"}


_OPERATIONS = ("/api/", "/scim/", "/webhooks/callback/")


class Edge:
    def __init__(self, app: Litestar, config: Config, times: RequestTimes) -> None:
        self.app = app
        self.times = times
        self.proxies = config.trusted_proxies
        self.headers = [*_HEADERS, *([_HSTS] if config.base_url.startswith("https://") else [])]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        id = correlation.choose(header(scope, b"traceparent"))
        token = correlation.correlation_id.set(id)
        method, path = scope["method"], scope["path"]
        self._rewrite(scope)
        # The status for the log and the metrics if the application raises an error instead of responding.
        status = 500

        async def send_with_headers(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                message = self._with_headers(message, method, id)
                status = message["status"]
            # A response to HEAD has the headers of the response to GET, such as Content-Length, but no body.
            elif method in _ASKED_AS and message["type"] == "http.response.body":
                message["body"] = b""
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        finally:
            correlation.correlation_id.reset(token)
            seconds = time.perf_counter() - started
            # Count by path template: paths contain ids, and the rows that count a route are never deleted.
            self.times.add(method, scope.get("path_template", ""), status, seconds)
            # Do not log successful probes, which arrive every few seconds.
            if status != 200 or path not in _PROBES:
                ms = round(seconds * 1000, 1)
                log_request(method=method, path=redacted(path), status=status, ms=ms, correlation_id=id)

    def _rewrite(self, scope: Any) -> None:
        """Set the client's address, and the method and path that are used for routing."""
        if self.proxies and (peer := scope["client"]):
            # If the header is repeated, its values form one list (RFC 9110).
            forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
            scope["client"] = (sender(peer[0], forwarded.decode("latin-1"), self.proxies), peer[1])
        # Replace a path that no page or file can have with a path without a route, so that the response is a 404.
        # Operations respond to an invalid id with their own 404.
        if not scope["path"].startswith(_OPERATIONS) and not _can_match(scope["path"]):
            scope["path"], scope["raw_path"] = "/-", b"/-"
        scope["is_head"] = scope["method"] == "HEAD"
        scope["method"] = _ASKED_AS.get(scope["method"], scope["method"])

    def _with_headers(self, message: Any, method: str, id: str) -> Any:
        if method == "OPTIONS" and message["status"] == 405:
            message = {**message, "status": 204, "headers": _only(message["headers"], b"allow")}
        present = {name for name, _ in message["headers"]}
        own = [header for header in self.headers if header[0] not in present]
        message["headers"] = [*message["headers"], (b"x-correlation-id", id.encode()), *own]
        return message


def _can_match(path: str) -> bool:
    """Return whether a route could match: the path has no NUL, is valid UTF-8, and no segment exceeds 255 bytes."""
    if len(path) <= _LONGEST_PART and path.isascii() and path.isprintable():
        return True
    parts = path.split("/")
    return is_storable(path) and all(len(part.encode()) <= _LONGEST_PART for part in parts)


def redacted(path: str) -> str:
    """Return the path for the log, with a secret at its end redacted. Ignore repeated slashes, as routing does."""
    plain = _SLASHES.sub("/", path)
    return next((f"{start}…" for start in _CAPABILITIES if plain.startswith(start)), path)


def header(scope: Any, name: bytes) -> bytes:
    """Return a request header or an empty value, without parsing the other headers."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


def _only(headers: Any, name: bytes) -> list[tuple[bytes, bytes]]:
    return [header for header in headers if header[0] == name]
