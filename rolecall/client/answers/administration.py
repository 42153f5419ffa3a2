"""Define the responses about webhooks, notifications, tokens, configuration, audit, exports and reports."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

from rolecall.client.answers.common import Answer, Json, Person, WithoutData
from rolecall.client.answers.requests import AccessRequest
from rolecall.client.answers.reviews import Review, ReviewItem


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
    """An event of an access request (`request`), or of a review or one of its items (`subject`).

    An event of a newer service may be about a record of another kind. Then `subject` is a dict, or both are None.
    """

    name: str
    display: str
    description: str
    request: AccessRequest | None = None
    subject: Review | ReviewItem | Json | None = None


class Delivery(Answer):
    """The body of a webhook delivery. Text posted to `callback` is stored and, for a request, added to its activity."""

    id: UUID
    created_date: datetime
    callback: str
    event: DeliveredEvent


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
    is_chat_allowed: bool


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


class BounceResult(Answer):
    message_id: UUID | None
    said: str


class TokenOwner(Answer):
    id: UUID
    name: str


class Token(Answer):
    id: UUID
    kind: str
    name: str
    scopes: list[str]
    created_date: datetime
    expires_on: datetime | None
    last_used_on: datetime | None
    revoked_on: datetime | None
    owner: TokenOwner | None
    refused_scopes: list[str]


class TokenWithSecret(Token):
    secret: str


class FieldChange(Answer):
    field: str
    before: Any
    after: Any


class EntryChange(Answer):
    section: str
    name: str
    change: str
    fields: list[FieldChange]


class ConfigurationChanges(Answer):
    changes: list[EntryChange]


class AuditCaller(Answer):
    id: UUID | None
    kind: str
    name: str


class AuditEntity(Answer):
    id: UUID
    kind: str
    name: str | None


class AuditEvent(Answer):
    number: int
    created_date: datetime
    caller: AuditCaller
    action: str
    entity: AuditEntity
    before: Json | None
    after: Json | None
    correlation_id: str | None
    chain: int
    previous_hash: str
    hash: str


class AuditHead(Answer):
    chain: int
    number: int
    count: int
    hash: str


class AuditBreak(Answer):
    number: int
    chain: int
    reason: str


class AuditVerdict(Answer):
    ok: bool
    count: int
    head: str
    heads: list[AuditHead]
    broken: AuditBreak | None


class ExportCaller(Answer):
    id: UUID
    kind: str
    name: str


class Export(Answer):
    id: UUID
    kind: str
    list: str
    filters: Json
    # Do not write `list[str]`: in this class, `list` is the field.
    columns: Sequence[str]
    format: str
    status: str
    created_by: ExportCaller
    reason: str | None
    started_on: datetime
    finished_on: datetime | None
    row_count: int | None
    byte_count: int | None
    sha256: str | None
    report_id: UUID | None
    location: str | None
    no_data_before: Sequence[WithoutData]


class ReportSchedule(Answer):
    cron: str
    location: str


class Report(Answer):
    id: UUID
    kind: str
    name: str
    description: str
    list: str
    filters: dict[str, str]
    columns: Sequence[str]
    period: str
    format: str
    schedule: ReportSchedule | None
    owner: Person | None
    recipients: Sequence[Person]
    created_date: datetime
    last_run: Export | None
