from datetime import date, datetime
from functools import cache
from typing import Annotated
from uuid import UUID
from zoneinfo import available_timezones

import msgspec
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from rolecall.core.address_check import LONGEST_URL
from rolecall.core.checking import Body, Flag, Maybe, Name256, Text, Text256, broken, one_of
from rolecall.notifications.model import (
    Channel,
    CountedDays,
    EscalateTo,
    MessageOutcome,
    NotificationKind,
    Reminders,
    Rhythm,
    Security,
    Transport,
)

MOST_HOLIDAYS = 500
LONGEST_MAIL = 500_000


class NotificationItem(msgspec.Struct, rename="camel"):
    """A notification; `isCurrent` is false if it no longer concerns the recipient, for example after a response."""

    id: UUID
    kind: NotificationKind
    subject: str
    why: str
    link: str
    created_date: datetime
    is_read: bool
    is_current: bool


class MessageItem(msgspec.Struct, rename="camel"):
    id: UUID
    channel: Channel
    kind: str
    recipient: str
    address: str
    subject: str
    attempt: int
    outcome: MessageOutcome
    response: str | None
    started_on: datetime
    ended_on: datetime | None


class MessageDetail(MessageItem):
    text: str
    html: str


class ChannelHealth(msgspec.Struct, rename="camel"):
    is_configured: bool
    failing_since: datetime | None
    last_error: str | None


class EmailDetail(msgspec.Struct, rename="camel"):
    transport: Transport
    host: str
    port: int
    security: Security
    username: str
    sender: str
    has_password: bool


class KindDetail(msgspec.Struct, rename="camel"):
    kind: NotificationKind
    meaning: str
    channel: Channel
    rhythm: Rhythm
    is_locked: bool
    is_chat_allowed: bool


class TemplateDetail(msgspec.Struct, rename="camel"):
    """A template. `problem` is why it could not be used and the built-in template was sent instead, or null."""

    kind: NotificationKind
    subject: str
    body: str
    is_default: bool
    problem: str | None


class NotificationSettings(msgspec.Struct, rename="camel"):
    """The settings of notifications. Secrets are never included."""

    email: EmailDetail
    channels: dict[Channel, ChannelHealth]
    kinds: list[KindDetail]
    templates: list[TemplateDetail]
    reminders: Reminders


class NotificationPreferences(msgspec.Struct, rename="camel"):
    zone: str
    kinds: list[KindDetail]


class TemplatePreview(msgspec.Struct, rename="camel"):
    subject: str
    text: str
    html: str


class ChannelTest(msgspec.Struct, rename="camel"):
    channel: Channel
    outcome: MessageOutcome
    response: str


class BounceResult(msgspec.Struct, rename="camel"):
    """The message that was marked as bounced, or null. `said` is why it failed, or why no message was marked."""

    message_id: UUID | None
    said: str


KindName = Annotated[NotificationKind, one_of(NotificationKind)]
ChannelName = Annotated[Channel, one_of(Channel)]
RhythmName = Annotated[Rhythm, one_of(Rhythm)]


def _address(text: str) -> str:
    local, at, domain = text.rpartition("@")
    if text and (not at or not local or not domain or not text.isprintable() or set(text) & set(" <>,;:\\\"'()[]")):
        raise broken("{name} must be an e-mail address such as rolecall@example.com")
    return text


EmailAddress = Annotated[Text256, AfterValidator(_address)]


class EmailFields(Body):
    transport: Maybe[Annotated[Transport, one_of(Transport)] | None] = None
    host: Text256 | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    security: Maybe[Annotated[Security, one_of(Security)] | None] = None
    username: Text256 | None = None
    sender: EmailAddress | None = None


class EmailBody(EmailFields):
    # The password is write-only; an empty string removes it.
    password: Annotated[Text, Field(max_length=1024)] | None = None


class KindBody(Body):
    kind: KindName
    channel: Maybe[ChannelName | None] = None
    rhythm: Maybe[RhythmName | None] = None
    is_locked: Flag | None = None
    # Whether this kind may be sent to Slack and Teams, where everyone in the channel reads it.
    is_chat_allowed: Flag | None = None


class TemplateBody(Body):
    """The template of a kind of message. Without subject and body, the built-in template applies again."""

    kind: KindName
    subject: Name256 | None = None
    body: Annotated[Text, Field(max_length=8192)] | None = None


def _day(value: object) -> object:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else date.fromisoformat("")
    except ValueError:
        raise broken("{name} must be a date such as 2026-12-25") from None


Day = Annotated[date, BeforeValidator(_day)]


class RemindersBody(Body):
    remind_after_days: Annotated[int, Field(ge=0, le=365)] | None = None
    escalate_after_days: Annotated[int, Field(ge=0, le=365)] | None = None
    escalate_to: Maybe[Annotated[EscalateTo, one_of(EscalateTo)] | None] = None
    days: Maybe[Annotated[CountedDays, one_of(CountedDays)] | None] = None
    holidays: Annotated[list[Day], Field(max_length=MOST_HOLIDAYS)] | None = None

    @field_validator("holidays")
    @classmethod
    def in_order(cls, holidays: list[date] | None) -> list[date] | None:
        return holidays and sorted(set(holidays))


class NotificationFields(Body):
    email: EmailFields | None = None
    kinds: Annotated[list[KindBody], Field(max_length=len(NotificationKind))] | None = None
    templates: Annotated[list[TemplateBody], Field(max_length=len(NotificationKind))] | None = None
    reminders: RemindersBody | None = None


class NotificationSettingsBody(NotificationFields):
    email: EmailBody | None = None
    # The URLs of incoming webhooks. They are write-only; an empty string removes a URL.
    slack_url: Annotated[Text, Field(max_length=LONGEST_URL)] | None = None
    teams_url: Annotated[Text, Field(max_length=LONGEST_URL)] | None = None


# Names of time zones whose meaning depends on the machine.
_LOCAL_ZONES = {"localtime", "posixrules", "Factory"}


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones() - _LOCAL_ZONES)


def _zone(text: str) -> str:
    if text not in _zones():
        raise broken("{name} must be a time zone such as Europe/Zurich")
    return text


class PreferenceBody(Body):
    """A choice for one kind. Without channel and rhythm, the default applies again."""

    kind: KindName
    channel: Maybe[ChannelName | None] = None
    rhythm: Maybe[RhythmName | None] = None


class PreferencesBody(Body):
    zone: Annotated[Name256, AfterValidator(_zone)] | None = None
    kinds: Annotated[list[PreferenceBody], Field(max_length=len(NotificationKind))] | None = None


class ReadBody(Body):
    is_read: Flag


class TemplatePreviewBody(Body):
    kind: KindName
    subject: Name256
    body: Annotated[Text, Field(max_length=8192)]


class BounceBody(Body):
    """A delivery report: the e-mail as the mail server received it, with its headers."""

    mail: Annotated[Text, Field(max_length=LONGEST_MAIL)]


class TestBody(Body):
    # Tell pytest that this is not a test class.
    __test__ = False

    channel: Maybe[Annotated[Channel, one_of([Channel.EMAIL, Channel.SLACK, Channel.TEAMS])]] = Channel.EMAIL
    # Required for e-mail.
    address: EmailAddress = ""

    @field_validator("address")
    @classmethod
    def given_for_email(cls, address: str, info: ValidationInfo) -> str:
        if info.data.get("channel") is Channel.EMAIL and not address:
            raise broken("{name} is required")
        return address
