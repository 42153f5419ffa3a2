"""Choose a correlation id for each request; responses, errors and log lines contain it."""

import random
import re
from contextvars import ContextVar

_IDS = rb"-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
# A version after 00 may have more parts; version ff is invalid.
_TRACEPARENT = re.compile(rb"00" + _IDS + rb"|(?!00|ff)[0-9a-f]{2}" + _IDS + rb"(?:-.*)?")

correlation_id: ContextVar[str] = ContextVar("correlation_id", default="0" * 32)


def choose(traceparent: bytes) -> str:
    """Return the trace id of a W3C traceparent header, or a new id if the header is not valid.

    Both have 32 hexadecimal digits, so the header cannot add other text to the log.
    """
    if traceparent and (match := _TRACEPARENT.fullmatch(traceparent)):
        return (match[1] or match[2]).decode()
    # The id is not a secret, so a fast generator suffices.
    return f"{random.getrandbits(128):032x}"
