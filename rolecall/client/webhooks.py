"""Verify and parse deliveries, for webhook receivers."""

import base64
import binascii
import hmac
import time
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.client.answers import AccessRequest, Answer, DeliveredEvent, Delivery, Json, Review, ReviewItem
from rolecall.client.errors import NotVerified

# The libraries of Standard Webhooks use the same tolerance. It limits how long a captured delivery can be replayed.
TOLERANCE_SECONDS = 300


class _EventBody(Answer):
    name: str
    display: str
    description: str
    request: AccessRequest | None = None
    subject: Json | None = None


class _DeliveryBody(Answer):
    id: UUID
    created_date: datetime
    callback: str
    event: _EventBody


_DECODE = msgspec.json.Decoder(_DeliveryBody).decode
# The types of subjects by `kind`, which cannot be the tag of a msgspec union, because it is also a field of the types.
_SUBJECTS: dict[object, type[Review | ReviewItem]] = {"Review": Review, "Review Item": ReviewItem}


def verify(body: bytes, headers: Mapping[str, str], secret: str, *, now: float | None = None) -> Delivery:
    """Return the delivery if `secret` (`whsec_…`) signed it within five minutes of now; otherwise raise NotVerified.

    Pass the raw bytes as `body`. A delivery can arrive more than once with the same `id`: handle it idempotently.
    """
    # Frameworks spell header names in different cases.
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id, timestamp, signatures = (given[f"webhook-{part}"] for part in ("id", "timestamp", "signature"))
        key = base64.b64decode(secret.removeprefix("whsec_"))
        age = (time.time() if now is None else now) - int(timestamp)
    except (KeyError, ValueError, binascii.Error):
        raise NotVerified(
            "A header (webhook-id, webhook-timestamp or webhook-signature) is missing, the timestamp is not a number,"
            " or the secret is not valid Base64"
        ) from None
    if abs(age) > TOLERANCE_SECONDS:
        raise NotVerified("The timestamp differs from the clock of this machine by more than five minutes")
    expected = base64.b64encode(hmac.digest(key, f"{id}.{timestamp}.".encode() + body, "sha256"))
    # During a secret rotation, a delivery has two signatures.
    versions = (signature.partition(",") for signature in signatures.split())
    # Encode the signatures: `compare_digest` raises TypeError for text that is not ASCII.
    if not any(version == "v1" and hmac.compare_digest(expected, given.encode()) for version, _, given in versions):
        raise NotVerified("The signature does not match the secret")
    return _delivery(_DECODE(body))


def _delivery(body: _DeliveryBody) -> Delivery:
    event, subject = body.event, body.event.subject
    type = _SUBJECTS.get(subject.get("kind")) if subject else None
    typed = msgspec.convert(subject, type) if type else subject
    about = DeliveredEvent(event.name, event.display, event.description, event.request, typed)
    return Delivery(body.id, body.created_date, body.callback, about)
