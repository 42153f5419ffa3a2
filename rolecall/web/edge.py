"""Outermost ASGI layer: correlation id, security headers and one log line for every response."""

import time
from typing import Any

from litestar import Litestar
from litestar.enums import ScopeType
from litestar.types import Message, Receive, Scope, Send

from rolecall.core.config import Config
from rolecall.core.logs import say_request
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
_LONGEST_PART = 255
_PROBES = ("/healthz", "/readyz", "/metrics")
# Paths whose remainder is a capability and must not be logged.
_CAPABILITIES = ("/sign-in/", "/webhooks/callback/")
_HSTS = (b"strict-transport-security", b"max-age=31536000")


# HEAD is GET without a body. OPTIONS becomes an unknown method, so that the 405 lists the allowed ones.
_ASKED_AS: dict[str, Any] = {"HEAD": "GET", "OPTIONS": "-"}


_OPERATIONS = ("/api/", "/webhooks/callback/")


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
        if self.proxies and (peer := scope["client"]):
            forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
            scope["client"] = (sender(peer[0], forwarded.decode("latin-1"), self.proxies), peer[1])
        method, path = scope["method"], scope["path"]
        # Operations answer such an id with their own 404; for pages and files use a path that no route has.
        if not path.startswith(_OPERATIONS) and not _can_be(path):
            scope["path"], scope["raw_path"] = "/-", b"/-"
        bodiless = method in _ASKED_AS
        if bodiless:
            scope["method"] = _ASKED_AS[method]
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                if method == "OPTIONS" and message["status"] == 405:
                    message = {**message, "status": 204, "headers": _only(message["headers"], b"allow")}
                status = message["status"]
                present = {name for name, _ in message["headers"]}
                own = [header for header in self.headers if header[0] not in present]
                message["headers"] = [*message["headers"], (b"x-correlation-id", id.encode()), *own]
            elif bodiless and message["type"] == "http.response.body":
                message["body"] = b""
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        finally:
            correlation.correlation_id.reset(token)
            seconds = time.perf_counter() - started
            self.times.add(method, scope.get("path_template", ""), status, seconds)
            # A probe that goes well is no event.
            if status != 200 or path not in _PROBES:
                say_request(
                    method=method,
                    path=_told(path),
                    status=status,
                    ms=round(seconds * 1000, 1),
                    correlation_id=id,
                )


def _can_be(path: str) -> bool:
    """Tell whether a route could match: the path is storable text and no segment is longer than a file name."""
    if len(path) <= _LONGEST_PART and path.isascii() and path.isprintable():
        return True
    parts = path.split("/")
    return is_storable(path) and all(len(part.encode()) <= _LONGEST_PART for part in parts)


def _told(path: str) -> str:
    """Redact the secret part of a path for the log."""
    return next((f"{start}…" for start in _CAPABILITIES if path.startswith(start)), path)


def header(scope: Any, name: bytes) -> bytes:
    """Return a request header or an empty value, without parsing the other headers."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


def _only(headers: Any, name: bytes) -> list[tuple[bytes, bytes]]:
    return [header for header in headers if header[0] == name]
