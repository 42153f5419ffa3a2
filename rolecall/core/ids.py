"""Identifiers: time-ordered for our records, strict about what comes in."""

import os
import re
import time
from uuid import UUID

from rolecall.core.errors import NotFound

_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


def new_id() -> UUID:
    """A UUIDv7: new rows land side by side in the index."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=value)


def guid(text: object) -> UUID | None:
    """The GUID in its usual form with hyphens, or None."""
    return UUID(text) if isinstance(text, str) and _GUID.fullmatch(text) else None


def known_guid(resource: str, text: str) -> UUID:
    """An id that is not a GUID cannot belong to a record."""
    if found := guid(text):
        return found
    raise NotFound(resource, text)
