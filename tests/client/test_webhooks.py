"""Verify deliveries signed by the standardwebhooks library."""

from datetime import UTC, datetime

import msgspec
import pytest
from standardwebhooks.webhooks import Webhook

from rolecall.client import NotVerified, verify
from rolecall.webhooks.sample import sample_request

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
ID = "0192e4a0-7c1e-4000-8000-000000000205"
EVENT = {"name": "AccessRequestCreated", "display": "Access Request Created", "description": "It is created"}
BODY = msgspec.json.encode(
    {
        "id": ID,
        "createdDate": NOW,
        "callback": f"https://rolecall.example/webhooks/callback/{ID}",
        "event": {**EVENT, "request": msgspec.Raw(sample_request(NOW))},
    }
)


def headers(secret: str = SECRET, body: bytes = BODY) -> dict[str, str]:
    return {
        "Webhook-Id": ID,
        "Webhook-Timestamp": str(int(NOW.timestamp())),
        "Webhook-Signature": Webhook(secret).sign(ID, NOW, body.decode()),
    }


def signed_now(body: bytes) -> dict[str, str]:
    now = datetime.now(UTC)
    signature = Webhook(SECRET).sign(ID, now, body.decode())
    return {"webhook-id": ID, "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signature}


def test_valid_signature_returns_a_typed_delivery() -> None:
    delivery = verify(BODY, headers(), SECRET, now=NOW.timestamp())

    assert str(delivery.id) == ID
    assert delivery.event.name == "AccessRequestCreated"
    assert delivery.event.request.target.application.name


def test_either_signature_is_accepted_during_rotation() -> None:
    both = {**headers(), "Webhook-Signature": f"v1,c29tZXRoaW5nIGVsc2U= {headers()['Webhook-Signature']}"}

    assert verify(BODY, both, SECRET, now=NOW.timestamp())


@pytest.mark.parametrize(
    ("body", "given", "seconds"),
    [
        (BODY + b" ", headers(), 0),
        (BODY, headers(secret="whsec_c29tZXRoaW5nIGVsc2U="), 0),
        (BODY, headers(), 301),
        (BODY, headers(), -301),
        (BODY, {**headers(), "Webhook-Timestamp": "soon"}, 0),
        (BODY, {}, 0),
    ],
    ids=["another body", "another secret", "too old", "too early", "no time", "no headers"],
)
def test_invalid_signatures_are_rejected(body: bytes, given: dict[str, str], seconds: int) -> None:
    with pytest.raises(NotVerified):
        verify(body, given, SECRET, now=NOW.timestamp() + seconds)
