"""Every request has an id, in its answer, its errors and its log lines."""

import random
import re
from contextvars import ContextVar

_IDS = rb"-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
# A version after 00 may have more parts; ff is none.
_TRACEPARENT = re.compile(rb"00" + _IDS + rb"|(?!00|ff)[0-9a-f]{2}" + _IDS + rb"(?:-.*)?")

correlation_id: ContextVar[str] = ContextVar("correlation_id", default="0" * 32)


def choose(traceparent: bytes) -> str:
    """A valid incoming W3C trace id, or a new one; free text is never taken."""
    if traceparent and (match := _TRACEPARENT.fullmatch(traceparent)):
        return (match[1] or match[2]).decode()
    # An id, not a secret: no call to the system for it.
    return f"{random.getrandbits(128):032x}"
