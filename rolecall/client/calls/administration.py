"""Describe the calls about webhooks, notifications, tokens, settings, audit, exports and reports."""

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.describe import Call, Id, When


class WebhookChanges(TypedDict, total=False):
    name: str
    url: str
    events: Sequence[str]
    application_id: Id | None
    enabled: bool


def list_webhooks() -> Call[Page[answers.Webhook]]:
    """List webhooks, ordered by name."""
    return describe.get(Page[answers.Webhook], "/api/webhooks")


def get_webhook(webhook_id: Id) -> Call[answers.Webhook]:
    """Get a webhook."""
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
    """Change the given fields of a webhook; disabling it parks its waiting deliveries."""
    return describe.call("PATCH", answers.Webhook, "/api/webhooks/{}", webhook_id, body=fields)


def delete_webhook(webhook_id: Id) -> Call[None]:
    """Delete a webhook; its deliveries can still be read."""
    return describe.call("DELETE", type(None), "/api/webhooks/{}", webhook_id)


def test_webhook(webhook_id: Id) -> Call[answers.WebhookDelivery]:
    """Send a test delivery, without retries."""
    return describe.post(answers.WebhookDelivery, "/api/webhooks/{}/test", webhook_id)


def rotate_secret(webhook_id: Id) -> Call[answers.WebhookWithSecret]:
    """Replace the secret. For 24 hours deliveries are signed with both secrets."""
    return describe.post(answers.WebhookWithSecret, "/api/webhooks/{}/rotate-secret", webhook_id)


def recover_webhook(webhook_id: Id, since: When) -> Call[answers.Webhook]:
    """Resend the undelivered deliveries that were created since the given time, except tests."""
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
    """Get a delivery with its body, attempts and callbacks."""
    return describe.get(answers.WebhookDelivery, "/api/webhook-deliveries/{}", delivery_id)


def resend_delivery(delivery_id: Id) -> Call[answers.WebhookDelivery]:
    """Send a delivery again under the same id."""
    return describe.post(answers.WebhookDelivery, "/api/webhook-deliveries/{}/resend", delivery_id)


class NotificationSettingsChanges(TypedDict, total=False):
    email: Json
    slack_url: str
    teams_url: str
    kinds: Sequence[Json]
    templates: Sequence[Json]
    reminders: Json


class NotificationPreferenceChanges(TypedDict, total=False):
    zone: str
    kinds: Sequence[Json]


def list_notifications(*, is_read: str | None = None) -> Call[Page[answers.Notification]]:
    """List your notifications, newest first."""
    return describe.get(Page[answers.Notification], "/api/notifications", is_read=is_read)


def mark_notification(notification_id: Id, *, is_read: bool = True) -> Call[None]:
    """Mark one of your notifications as read or unread."""
    return describe.call("PATCH", type(None), "/api/notifications/{}", notification_id, body={"is_read": is_read})


def mark_all_notifications() -> Call[None]:
    """Mark all your notifications as read."""
    return describe.post(type(None), "/api/notifications/read")


def get_notification_preferences() -> Call[answers.NotificationPreferences]:
    """Get your preferences for notifications: the time zone, and the channel and rhythm for each kind."""
    return describe.get(answers.NotificationPreferences, "/api/notification-preferences")


def change_notification_preferences(
    **fields: Unpack[NotificationPreferenceChanges],
) -> Call[answers.NotificationPreferences]:
    """Change the given preferences. Without channel and rhythm, a kind of notification follows the default again."""
    return describe.call("PATCH", answers.NotificationPreferences, "/api/notification-preferences", body=fields)


def get_notification_settings() -> Call[answers.NotificationSettings]:
    """Get the settings of notifications and the health of each channel."""
    return describe.get(answers.NotificationSettings, "/api/notification-settings")


def change_notification_settings(
    **fields: Unpack[NotificationSettingsChanges],
) -> Call[answers.NotificationSettings]:
    """Change the given settings of notifications."""
    return describe.call("PATCH", answers.NotificationSettings, "/api/notification-settings", body=fields)


def preview_notification_template(kind: str, *, subject: str, body: str) -> Call[answers.NotificationPreview]:
    """Preview a template filled with examples, or get the reason why it is invalid."""
    return describe.post(
        answers.NotificationPreview, "/api/notification-settings/preview", kind=kind, subject=subject, body=body
    )


def try_notifications(address: str = "", *, channel: str = "Email") -> Call[answers.NotificationTest]:
    """Send a test message at once and get the response of the server."""
    return describe.post(answers.NotificationTest, "/api/notification-settings/test", address=address, channel=channel)


def list_notification_messages(*, outcome: str | None = None) -> Call[Page[answers.NotificationMessageItem]]:
    """List messages with their outcomes, newest first."""
    return describe.get(Page[answers.NotificationMessageItem], "/api/notification-messages", outcome=outcome)


def get_notification_message(message_id: Id) -> Call[answers.NotificationMessage]:
    """Get one message with its text."""
    return describe.get(answers.NotificationMessage, "/api/notification-messages/{}", message_id)


def report_bounced_message(mail: str) -> Call[answers.BounceResult]:
    """Mark a message as bounced. `mail` is the delivery report of its permanent failure, including the headers."""
    return describe.post(answers.BounceResult, "/api/notification-messages/bounce", mail=mail)


class SettingsChanges(TypedDict, total=False):
    custom_fields: Sequence[Json]
    approval_lead_days: int
    approval_policy: Sequence[Json]
    webhook_retention_days: int
    guard: Json
    single_handed: bool


def list_tokens() -> Call[Page[answers.Token]]:
    """List tokens, newest first."""
    return describe.get(Page[answers.Token], "/api/tokens")


def create_token(
    name: str, *, scopes: Sequence[str] | None = None, expires_in_days: int | None = 90
) -> Call[answers.TokenWithSecret]:
    """Create a token; it never expires if `expires_in_days` is None.

    The response contains its secret, which is never shown again.
    """
    # Send null too: an omitted field would mean the default of 90 days.
    body: Json = {"name": name, "expires_in_days": expires_in_days} | ({"scopes": scopes} if scopes else {})
    return describe.call("POST", answers.TokenWithSecret, "/api/tokens", body=body)


def revoke_token(token_id: Id) -> Call[None]:
    """Revoke a token, with effect on the next request."""
    return describe.call("DELETE", type(None), "/api/tokens/{}", token_id)


def get_settings() -> Call[Json]:
    """Get the settings of the service, such as custom fields, approval policy, limits and retention."""
    return describe.get(dict[str, Any], "/api/settings")


def change_settings(**fields: Unpack[SettingsChanges]) -> Call[Json]:
    """Change the given settings."""
    return describe.call("PATCH", dict[str, Any], "/api/settings", body=fields)


def get_configuration() -> Call[Json]:
    """Get the configuration of the service, without secrets. A section is null if you lack the scope to read it."""
    return describe.get(dict[str, Any], "/api/configuration")


def plan_configuration(configuration: Json) -> Call[answers.ConfigurationChanges]:
    """Get the changes that applying a configuration would make."""
    return Call(method="POST", path="/api/configuration/plan", answer=answers.ConfigurationChanges, body=configuration)


def apply_configuration(configuration: Json) -> Call[answers.ConfigurationChanges]:
    """Apply a configuration, all or nothing."""
    return Call(method="PUT", path="/api/configuration", answer=answers.ConfigurationChanges, body=configuration)


def list_audit_events(
    *,
    entity_id: Id | None = None,
    caller_id: Id | None = None,
    action: str | None = None,
    from_: str | None = None,
    until: str | None = None,
) -> Call[Page[answers.AuditEvent]]:
    """List audit entries (who changed what), newest first."""
    filters = {"entity_id": entity_id, "caller_id": caller_id, "action": action, "from": from_, "until": until}
    return describe.get(Page[answers.AuditEvent], "/api/audit-events", **filters)


def verify_audit_events() -> Call[answers.AuditVerdict]:
    """Verify the audit hash chains, entry by entry."""
    return describe.get(answers.AuditVerdict, "/api/audit-events/verify")


def list_exports() -> Call[Page[answers.Export]]:
    """List exports, newest first: all of them with the scope `audit:read`, otherwise only your own."""
    return describe.get(Page[answers.Export], "/api/exports")


def get_export(export_id: Id) -> Call[answers.Export]:
    """Get the manifest of an export: who, when, filters, row count and SHA-256."""
    return describe.get(answers.Export, "/api/exports/{}", export_id)


class ReportFields(TypedDict, total=False):
    description: str
    filters: Json
    columns: Sequence[str]
    period: str
    format: str
    schedule: Json | None
    owner_id: Id | None


class ReportChanges(ReportFields, total=False):
    name: str
    list: str


def list_reports() -> Call[Page[answers.Report]]:
    """List reports, ordered by name, each with its last run."""
    return describe.get(Page[answers.Report], "/api/reports")


def get_report(report_id: Id) -> Call[answers.Report]:
    """Get a report."""
    return describe.get(answers.Report, "/api/reports/{}", report_id)


def create_report(name: str, list: str, **fields: Unpack[ReportFields]) -> Call[answers.Report]:
    """Save a report: a list with filters, columns, a period, a format and perhaps a schedule."""
    return describe.call("POST", answers.Report, "/api/reports", body={"name": name, "list": list, **fields})


def change_report(report_id: Id, **fields: Unpack[ReportChanges]) -> Call[answers.Report]:
    """Change the given fields of a report."""
    return describe.call("PATCH", answers.Report, "/api/reports/{}", report_id, body=fields)


def delete_report(report_id: Id) -> Call[None]:
    """Delete a report; its runs can still be read."""
    return describe.call("DELETE", type(None), "/api/reports/{}", report_id)


def run_report(report_id: Id, *, format: str | None = None, filters: Json | None = None) -> Call[bytes]:
    """Run a report and get the file; `filters` replace the filters of the same names in the report."""
    given = {"format": format, "filters": filters}
    body = {name: value for name, value in given.items() if value is not None}
    return describe.call("POST", bytes, "/api/reports/{}/run", report_id, body=body)


def write_report(report_id: Id) -> Call[answers.Export]:
    """Start a run of a scheduled report now; a worker writes the file to its location."""
    return describe.post(answers.Export, "/api/reports/{}/write", report_id)


def list_report_runs(report_id: Id) -> Call[Page[answers.Export]]:
    """List the runs of a report, newest first."""
    return describe.get(Page[answers.Export], "/api/reports/{}/runs", report_id)
