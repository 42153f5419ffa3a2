"""Verify deliveries signed by the standardwebhooks library."""

from datetime import UTC, datetime
from typing import Any

import httpx2
import msgspec
import pytest
from standardwebhooks.webhooks import Webhook

from rolecall.client import NotVerified, answers, verify
from rolecall.core.db import Db, fetch_rows
from rolecall.reviews.model import ReviewEvent
from rolecall.webhooks.sample import sample_request
from tests.reviews.company import a_reviewed_company
from tests.reviews.reviewing import an_open_review, decide, items_of, post, submit_all

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
    assert delivery.event.request
    assert delivery.event.request.target.application.name
    assert delivery.event.subject is None


async def test_delivery_about_a_review_or_an_item_has_it_as_the_subject(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    hook = {"name": "Tickets", "url": "https://hooks.example.com/", "events": [*ReviewEvent]}
    await post(client, "/api/webhooks", hook, 201)
    review = await an_open_review(client, "Application")
    for item in await items_of(client, review):
        await decide(client, item, "Revoke")
    await submit_all(client, review)

    bodies = [bytes(body) for (body,) in await fetch_rows(db, "SELECT body FROM webhook_deliveries ORDER BY number")]
    deliveries = [verify(body, signed_now(body), SECRET) for body in bodies]

    subjects = {each.event.name: each.event.subject for each in deliveries}
    opened, flagged = subjects["ReviewOpened"], subjects["ReviewItemFlagged"]
    assert isinstance(opened, answers.Review)
    assert (str(opened.id), opened.status) == (review, "Open")
    assert isinstance(flagged, answers.ReviewItem)
    assert (str(flagged.review_id), flagged.decision) == (review, "Revoke")
    assert {each.event.request for each in deliveries} == {None}


@pytest.mark.parametrize(
    ("about", "subject"),
    [
        ({"subject": {"kind": "Duty", "name": "Approve payments"}}, {"kind": "Duty", "name": "Approve payments"}),
        ({"duty": {"name": "Approve payments"}}, None),
    ],
)
def test_event_of_a_newer_service_keeps_its_name(about: dict[str, Any], subject: Any) -> None:
    event = {"name": "DutyChanged", "display": "Duty Changed", "description": "It changes", **about}
    body = msgspec.json.encode({**msgspec.json.decode(BODY), "event": event})

    delivery = verify(body, headers(body=body), SECRET, now=NOW.timestamp())

    assert (delivery.event.name, delivery.event.request, delivery.event.subject) == ("DutyChanged", None, subject)


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
