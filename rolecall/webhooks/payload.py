"""Describe the bodies of deliveries for the OpenAPI document; functions in `schema/webhooks.sql` write the bytes.

`make schema` copies the display names and the descriptions of the events from here into `schema/constants.sql`.
"""

import re
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from rolecall.access_requests.model import CONDITIONS, RequestEvent
from rolecall.access_requests.shapes import AccessRequestDetail, DetailTarget
from rolecall.identities.shapes import IdentityDetail
from rolecall.reviews.model import REVIEW_CONDITIONS, ReviewEvent
from rolecall.reviews.shapes import ReviewDetail, ReviewItem
from rolecall.web.openapi import WebhookEvent
from rolecall.webhooks.model import TEST_CONDITION, TEST_EVENT


class DeliveredIdentity(IdentityDetail):
    """An identity in a webhook payload, where `type` has different values than in the API."""

    type: Literal["Employee", "ServiceAccount", "Bot", "VendorAccount"]  # type: ignore[assignment]


class DeliveredTarget(DetailTarget):
    affected_identity: DeliveredIdentity | None


class DeliveredRequest(AccessRequestDetail):
    target: DeliveredTarget


class DeliveredEvent(msgspec.Struct):
    name: RequestEvent
    display: str
    description: str
    request: DeliveredRequest


class Payload(msgspec.Struct, rename="camel"):
    id: UUID
    created_date: datetime
    callback: str
    event: DeliveredEvent


def _described(event: str, condition: str) -> WebhookEvent:
    return WebhookEvent(event, re.sub(r"(?<=[a-z])(?=[A-Z])", " ", event), condition)


class DeliveredReviewEvent(msgspec.Struct):
    name: ReviewEvent
    display: str
    description: str
    subject: ReviewDetail


class DeliveredReviewItemEvent(msgspec.Struct):
    name: ReviewEvent
    display: str
    description: str
    subject: ReviewItem


class ReviewPayload(msgspec.Struct, rename="camel"):
    """The body of a delivery about a review."""

    id: UUID
    created_date: datetime
    callback: str
    event: DeliveredReviewEvent


class ReviewItemPayload(msgspec.Struct, rename="camel"):
    """The body of a delivery about an item of a review."""

    id: UUID
    created_date: datetime
    callback: str
    event: DeliveredReviewItemEvent


EVENTS = [_described(event, condition) for event, condition in CONDITIONS.items()]
REVIEW_EVENTS = [_described(event, condition) for event, condition in REVIEW_CONDITIONS.items()]
TEST = _described(TEST_EVENT, TEST_CONDITION)
# Every event that a webhook can select, with the type of its payload.
DESCRIBED: list[tuple[WebhookEvent, Any]] = [
    *((event, Payload) for event in EVENTS),
    *((event, ReviewItemPayload if "Item" in event.name else ReviewPayload) for event in REVIEW_EVENTS),
]
