"""Every request has an id, in its answer, its errors and its log lines."""

import re
import secrets
from contextvars import ContextVar

_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")

correlation_id: ContextVar[str] = ContextVar("correlation_id", default="0" * 32)


def choose(traceparent: bytes | None) -> str:
    """A valid incoming W3C trace id, or a new one; free text is never taken."""
    match = _TRACEPARENT.fullmatch(traceparent or b"")
    if match and match[1] != b"0" * 32 and not traceparent.startswith(b"ff"):  # type: ignore[union-attr]
        return match[1].decode()
    return secrets.token_hex(16)
