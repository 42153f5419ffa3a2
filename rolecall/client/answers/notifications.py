"""Responses about notifications."""

from datetime import date, datetime
from uuid import UUID

from rolecall.client.answers.common import Answer


class Notification(Answer):
    id: UUID
    kind: str
    subject: str
    why: str
    link: str
    created_date: datetime
    is_read: bool
    is_current: bool


class NotificationMessageItem(Answer):
    id: UUID
    channel: str
    kind: str
    recipient: str
    address: str
    subject: str
    attempt: int
    outcome: str
    response: str | None
    started_on: datetime
    ended_on: datetime | None


class NotificationMessage(NotificationMessageItem):
    text: str
    html: str


class NotificationEmail(Answer):
    transport: str
    host: str
    port: int
    security: str
    username: str
    sender: str
    has_password: bool


class NotificationChannel(Answer):
    is_configured: bool
    failing_since: datetime | None
    last_error: str | None


class NotificationKind(Answer):
    kind: str
    meaning: str
    channel: str
    rhythm: str
    is_locked: bool


class NotificationTemplate(Answer):
    kind: str
    subject: str
    body: str
    is_default: bool
    problem: str | None


class NotificationReminders(Answer):
    remind_after_days: int
    escalate_after_days: int
    escalate_to: str
    days: str
    holidays: list[date]


class NotificationSettings(Answer):
    email: NotificationEmail
    channels: dict[str, NotificationChannel]
    kinds: list[NotificationKind]
    templates: list[NotificationTemplate]
    reminders: NotificationReminders


class NotificationPreferences(Answer):
    zone: str
    kinds: list[NotificationKind]


class NotificationPreview(Answer):
    subject: str
    text: str
    html: str


class NotificationTest(Answer):
    channel: str
    outcome: str
    response: str
