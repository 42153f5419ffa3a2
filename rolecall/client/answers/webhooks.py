"""Responses about webhooks."""

from datetime import datetime
from uuid import UUID

from rolecall.client.answers.access_requests import AccessRequest
from rolecall.client.answers.common import Answer, Json


class Webhook(Answer):
    id: UUID
    kind: str
    name: str
    url: str
    events: list[str]
    application_id: UUID | None
    enabled: bool
    disabled_reason: str | None
    failing_since: datetime | None
    created_date: datetime
    previous_secret_expires_on: datetime | None


class WebhookWithSecret(Webhook):
    secret: str


class WebhookDeliveryItem(Answer):
    id: UUID
    webhook_id: UUID
    access_request_id: UUID | None
    event: str
    status: str
    attempt_count: int
    created_date: datetime
    next_attempt_on: datetime | None


class Attempt(Answer):
    number: int
    started_on: datetime
    ended_on: datetime | None
    outcome: str | None
    status_code: int | None
    response: str | None


class Callback(Answer):
    received_on: datetime
    content: str


class WebhookDelivery(WebhookDeliveryItem):
    body: Json
    attempts: list[Attempt]
    callbacks: list[Callback]


class DeliveredEvent(Answer):
    name: str
    display: str
    description: str
    request: AccessRequest


class Delivery(Answer):
    """The body of a webhook delivery; plain text posted to `callback` becomes an activity entry of the request."""

    id: UUID
    created_date: datetime
    callback: str
    event: DeliveredEvent
