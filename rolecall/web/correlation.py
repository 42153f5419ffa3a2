"""Give every request a correlation id for its response, errors and log lines."""

import random
import re
from contextvars import ContextVar

_IDS = rb"-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
# A later version may have more parts; ff is invalid.
_TRACEPARENT = re.compile(rb"00" + _IDS + rb"|(?!00|ff)[0-9a-f]{2}" + _IDS + rb"(?:-.*)?")

correlation_id: ContextVar[str] = ContextVar("correlation_id", default="0" * 32)


def choose(traceparent: bytes) -> str:
    """Return the trace id of a valid W3C traceparent, or a new one; free text is never echoed."""
    if traceparent and (match := _TRACEPARENT.fullmatch(traceparent)):
        return (match[1] or match[2]).decode()
    # Not a secret, so the fast generator is enough.
    return f"{random.getrandbits(128):032x}"
