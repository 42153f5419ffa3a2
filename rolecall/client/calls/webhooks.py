"""Calls about webhooks."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id, When


class WebhookChanges(TypedDict, total=False):
    name: str
    url: str
    events: Sequence[str]
    application_id: Id | None
    enabled: bool


def list_webhooks() -> Call[Page[answers.Webhook]]:
    """List webhooks by name."""
    return describe.get(Page[answers.Webhook], "/api/webhooks")


def get_webhook(webhook_id: Id) -> Call[answers.Webhook]:
    """Show a webhook."""
    return describe.get(answers.Webhook, "/api/webhooks/{}", webhook_id)


def create_webhook(
    name: str, url: str, *, events: Sequence[str], application_id: Id | None = None, enabled: bool = True
) -> Call[answers.WebhookWithSecret]:
    """Create a webhook. The response contains its secret, which is never shown again."""
    return describe.post(
        answers.WebhookWithSecret,
        "/api/webhooks",
        name=name,
        url=url,
        events=events,
        application_id=application_id,
        enabled=enabled,
    )


def change_webhook(webhook_id: Id, **fields: Unpack[WebhookChanges]) -> Call[answers.Webhook]:
    """Change the given fields; disabling a webhook parks its waiting deliveries."""
    return describe.call("PATCH", answers.Webhook, "/api/webhooks/{}", webhook_id, body=fields)


def delete_webhook(webhook_id: Id) -> Call[None]:
    """Delete a webhook; its deliveries can still be read."""
    return describe.call("DELETE", type(None), "/api/webhooks/{}", webhook_id)


def test_webhook(webhook_id: Id) -> Call[answers.WebhookDelivery]:
    """Send a sample delivery once."""
    return describe.post(answers.WebhookDelivery, "/api/webhooks/{}/test", webhook_id)


def rotate_secret(webhook_id: Id) -> Call[answers.WebhookWithSecret]:
    """Replace the secret; the old one also signs for 24 hours."""
    return describe.post(answers.WebhookWithSecret, "/api/webhooks/{}/rotate-secret", webhook_id)


def recover_webhook(webhook_id: Id, since: When) -> Call[answers.Webhook]:
    """Send again every undelivered delivery since a time."""
    return describe.post(answers.Webhook, "/api/webhooks/{}/recover", webhook_id, since=since)


def list_deliveries(
    *, webhook_id: Id | None = None, access_request_id: Id | None = None, status: str | None = None
) -> Call[Page[answers.WebhookDeliveryItem]]:
    """List deliveries, newest first."""
    return describe.get(
        Page[answers.WebhookDeliveryItem],
        "/api/webhook-deliveries",
        webhook_id=webhook_id,
        access_request_id=access_request_id,
        status=status,
    )


def get_delivery(delivery_id: Id) -> Call[answers.WebhookDelivery]:
    """Show a delivery with its body, attempts and callbacks."""
    return describe.get(answers.WebhookDelivery, "/api/webhook-deliveries/{}", delivery_id)


def resend_delivery(delivery_id: Id) -> Call[answers.WebhookDelivery]:
    """Send a delivery again under the same id."""
    return describe.post(answers.WebhookDelivery, "/api/webhook-deliveries/{}/resend", delivery_id)
