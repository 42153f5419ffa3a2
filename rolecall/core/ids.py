"""Create time-ordered identifiers and parse incoming ones strictly."""

import os
import re
import time
from uuid import UUID

from rolecall.core.errors import NotFound

_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


def new_id() -> UUID:
    """Return a UUIDv7, so that new rows are adjacent in the index."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    # Set the version and the variant of RFC 9562.
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=value)


def guid(text: object) -> UUID | None:
    """Parse a GUID in its hyphenated form; return None for anything else."""
    return UUID(text) if isinstance(text, str) and _GUID.fullmatch(text) else None


def known_guid(resource: str, text: str) -> UUID:
    """Parse an id; raise NotFound if it is not a GUID."""
    if found := guid(text):
        return found
    raise NotFound(resource, text)
