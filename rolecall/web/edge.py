"""The outermost layer: correlation id, safe headers and one log line for every answer, unknown routes included."""

import time
from typing import Any

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from rolecall.web import correlation

log = structlog.get_logger("rolecall.http")

_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
_API_HEADERS = [*_HEADERS, (b"cache-control", b"no-store")]
_HSTS = (b"strict-transport-security", b"max-age=31536000")


class Edge:
    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self.app = app
        self.always = [_HSTS] if https else []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        id = correlation.choose(_header(scope, b"traceparent"))
        token = correlation.correlation_id.set(id)
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = [(b"x-correlation-id", id.encode()), *self.always]
                present = {name for name, _ in message["headers"]}
                own += [header for header in _API_HEADERS if header[0] not in present]
                message["headers"] = [*message["headers"], *own]
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        finally:
            correlation.correlation_id.reset(token)
            took = round((time.perf_counter() - started) * 1000, 1)
            log.info("request", method=scope["method"], path=scope["path"], status=status, ms=took, correlation_id=id)


def _header(scope: Any, name: bytes) -> bytes | None:
    return next((value for key, value in scope["headers"] if key == name), None)
