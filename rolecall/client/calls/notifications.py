"""Calls about notifications."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id


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
    """Show your channel and rhythm for each kind of notification."""
    return describe.get(answers.NotificationPreferences, "/api/notification-preferences")


def change_notification_preferences(
    **fields: Unpack[NotificationPreferenceChanges],
) -> Call[answers.NotificationPreferences]:
    """Change your channels and rhythms; a kind without channel and rhythm follows the default again."""
    return describe.call("PATCH", answers.NotificationPreferences, "/api/notification-preferences", body=fields)


def get_notification_settings() -> Call[answers.NotificationSettings]:
    """Show the settings of notifications and the health of each channel."""
    return describe.get(answers.NotificationSettings, "/api/notification-settings")


def change_notification_settings(
    **fields: Unpack[NotificationSettingsChanges],
) -> Call[answers.NotificationSettings]:
    """Change the given settings of notifications."""
    return describe.call("PATCH", answers.NotificationSettings, "/api/notification-settings", body=fields)


def preview_notification_template(kind: str, *, subject: str, body: str) -> Call[answers.NotificationPreview]:
    """Show a template with example facts, or what is wrong with it."""
    return describe.post(
        answers.NotificationPreview, "/api/notification-settings/preview", kind=kind, subject=subject, body=body
    )


def try_notifications(address: str = "", *, channel: str = "Email") -> Call[answers.NotificationTest]:
    """Send a test message at once and show the response of the server."""
    return describe.post(answers.NotificationTest, "/api/notification-settings/test", address=address, channel=channel)


def list_notification_messages(*, outcome: str | None = None) -> Call[Page[answers.NotificationMessageItem]]:
    """List the messages that were sent, newest first."""
    return describe.get(Page[answers.NotificationMessageItem], "/api/notification-messages", outcome=outcome)


def get_notification_message(message_id: Id) -> Call[answers.NotificationMessage]:
    """Show one message as it was sent."""
    return describe.get(answers.NotificationMessage, "/api/notification-messages/{}", message_id)
