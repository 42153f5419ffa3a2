"""Sign deliveries as specified by Standard Webhooks: a secret `whsec_…` and a signature over `id.timestamp.body`."""

import base64
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

_PREFIX = "whsec_"
# Standard Webhooks allows secrets of 24 to 64 bytes.
_BYTES = 32


def new_secret() -> bytes:
    return secrets.token_bytes(_BYTES)


def shown(secret: bytes) -> str:
    return _PREFIX + base64.b64encode(secret).decode()


def signed_headers(id: UUID, now: datetime, body: bytes, keys: Iterable[bytes]) -> dict[str, str]:
    """Return the headers with one signature per key, so that receivers can use either key during a rotation."""
    timestamp = str(int(now.timestamp()))
    content = f"{id}.{timestamp}.".encode() + body
    signatures = (base64.b64encode(hmac.digest(key, content, "sha256")).decode() for key in keys)
    return {
        "webhook-id": str(id),
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
