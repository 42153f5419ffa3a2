"""Define notifications: kinds with their defaults, channels, the retry schedule, digests and working days."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from rolecall.core.text import counted
from rolecall.settings.policy import RequirementType

# The PostgreSQL NOTIFY channel that wakes the sender; triggers in schema/notifications.sql use it too.
CHANNEL = "notifications"
# What a reviewer must do, by type of requirement.
ASKED_TO = {
    RequirementType.APPROVE: "Approve",
    RequirementType.RESOLVE: "Provision",
    RequirementType.VERIFY: "Verify",
}
# The kind of a message that contains a link to sign in.
SIGN_IN_LINK = "Sign-In Link"


class NotificationKind(StrEnum):
    """The reason for a notification; `schema/notifications.sql` writes the rows."""

    WAITING = "Waiting"
    DUE = "Due"
    ESCALATED = "Escalated"
    ASSIGNED = "Assigned"
    DECIDED = "Decided"
    PERSONNEL_EVENT = "Personnel Event"
    IMPORT_FAILED = "Import Failed"
    IMPORT_HELD = "Import Held"
    SCHEDULE_FAILED = "Schedule Failed"
    WEBHOOK_FAILING = "Webhook Failing"
    CHANNEL_FAILING = "Channel Failing"
    CONFLICT_OPENED = "Conflict Opened"
    CONFLICT_ENDED = "Conflict Ended"
    CONFLICT_EXCEPTION = "Conflict Exception"
    REPORT = "Report"
    OWNERSHIP = "Ownership"
    STAND_IN = "Stand-In"
    REVIEW = "Review"


class Channel(StrEnum):
    """Where a notification goes in addition to the console's bell; Console means nowhere else."""

    EMAIL = "Email"
    SLACK = "Slack"
    TEAMS = "Teams"
    CONSOLE = "Console"


CHATS = (Channel.SLACK, Channel.TEAMS)


class Rhythm(StrEnum):
    AT_ONCE = "At Once"
    DIGEST = "Digest"


class NotificationStatus(StrEnum):
    NEW = "New"
    PENDING = "Pending"
    SENT = "Sent"
    FAILED = "Failed"
    # When the notification was due, it no longer concerned the recipient, or the recipient was inactive or must not see
    # the record.
    WITHDRAWN = "Withdrawn"
    CONSOLE = "Console"


class MessageOutcome(StrEnum):
    SENDING = "sending"
    SENT = "sent"
    # Kept in the outbox and not sent, because the transport is `Outbox`.
    KEPT = "kept"
    # The server asked for a later attempt, as for greylisting, or the connection failed before the message was sent.
    DEFERRED = "deferred"
    REFUSED = "refused"
    # The server could not be used, for example because of a wrong password. The message is not at fault.
    CHANNEL = "channel"
    # The worker or the connection failed while sending, so the message may have arrived.
    UNKNOWN = "unknown"
    # The server accepted the message, and reported later that it could not be delivered.
    BOUNCED = "bounced"
    # The text could not be written because of an error in the service; other messages are not affected.
    UNWRITTEN = "unwritten"


OUTCOME_WORDS = {
    MessageOutcome.SENT: "Sent",
    MessageOutcome.KEPT: "Kept here, not sent",
    MessageOutcome.SENDING: "Being sent",
    MessageOutcome.DEFERRED: "Postponed by the receiver",
    MessageOutcome.REFUSED: "Refused by the receiver",
    MessageOutcome.CHANNEL: "Server could not be used",
    MessageOutcome.UNKNOWN: "Sent without confirmation",
    MessageOutcome.BOUNCED: "Bounced",
    MessageOutcome.UNWRITTEN: "Could not be written",
}


class Transport(StrEnum):
    OFF = "Off"
    SMTP = "SMTP"
    OUTBOX = "Outbox"


class Security(StrEnum):
    STARTTLS = "STARTTLS"
    TLS = "TLS"
    NONE = "None"


class EscalateTo(StrEnum):
    SUPERVISOR = "Supervisor"
    ADMINISTRATORS = "Administrators"


class CountedDays(StrEnum):
    WORKING = "Working Days"
    CALENDAR = "Calendar Days"


class KindRule(msgspec.Struct, frozen=True, rename="camel"):
    """How notifications of a kind are sent. People may choose another way unless the kind is locked."""

    kind: NotificationKind
    channel: Channel = Channel.EMAIL
    rhythm: Rhythm = Rhythm.AT_ONCE
    is_locked: bool = False
    # Slack and Teams channels are shared, so everyone in them reads the message.
    is_chat_allowed: bool = True


# Shared chats get no notifications of personnel events, conflicts and reviews until an administrator permits them.
DEFAULT_RULES = {
    rule.kind: rule
    for rule in (
        KindRule(NotificationKind.WAITING),
        KindRule(NotificationKind.DUE),
        KindRule(NotificationKind.ESCALATED),
        KindRule(NotificationKind.ASSIGNED),
        KindRule(NotificationKind.DECIDED),
        KindRule(NotificationKind.PERSONNEL_EVENT, rhythm=Rhythm.DIGEST, is_chat_allowed=False),
        KindRule(NotificationKind.IMPORT_FAILED),
        KindRule(NotificationKind.IMPORT_HELD),
        KindRule(NotificationKind.SCHEDULE_FAILED),
        KindRule(NotificationKind.WEBHOOK_FAILING),
        KindRule(NotificationKind.CHANNEL_FAILING, Channel.CONSOLE),
        KindRule(NotificationKind.CONFLICT_OPENED, rhythm=Rhythm.DIGEST, is_chat_allowed=False),
        KindRule(NotificationKind.CONFLICT_ENDED, is_chat_allowed=False),
        KindRule(NotificationKind.CONFLICT_EXCEPTION, is_chat_allowed=False),
        KindRule(NotificationKind.REPORT),
        KindRule(NotificationKind.OWNERSHIP, rhythm=Rhythm.DIGEST),
        KindRule(NotificationKind.STAND_IN),
        KindRule(NotificationKind.REVIEW, is_chat_allowed=False),
    )
}
MEANINGS = {
    NotificationKind.WAITING: "A request is waiting for your response",
    NotificationKind.DUE: "Reminder: a request is still waiting for your response",
    NotificationKind.ESCALATED: "A request without a response was escalated to you",
    NotificationKind.ASSIGNED: "A request or personnel event was assigned to you",
    NotificationKind.DECIDED: "A request that you made was approved, rejected, canceled or completed",
    NotificationKind.PERSONNEL_EVENT: "An event about you or one of your people was created, changed or canceled",
    NotificationKind.IMPORT_FAILED: "An import of your application failed",
    NotificationKind.IMPORT_HELD: "The guard holds an import of your application",
    NotificationKind.SCHEDULE_FAILED: "A scheduled import of your application failed",
    NotificationKind.WEBHOOK_FAILING: "A webhook keeps failing or was disabled",
    NotificationKind.CHANNEL_FAILING: "E-mail, Slack or Teams cannot be reached",
    NotificationKind.REPORT: "A scheduled report that you receive was written, or one that you own failed",
    NotificationKind.OWNERSHIP: "The owner of groups or permissions left, and you act in their place",
    NotificationKind.CONFLICT_OPENED: "People hold duties that a rule of yours keeps apart",
    NotificationKind.CONFLICT_ENDED: (
        "A change of a duty, a rule, a name, an account or an application ended conflicts of a rule that you own"
    ),
    NotificationKind.CONFLICT_EXCEPTION: "An exception is waiting for your approval, ends soon or has changed",
    NotificationKind.STAND_IN: "You start or stop standing in for another person, or another person for you",
    NotificationKind.REVIEW: "A review is waiting for your decisions, or a review that you own needs your attention",
}
# Kinds that are shown only in the console: a message about a failing channel might have to use that channel.
ALWAYS_CONSOLE = frozenset({NotificationKind.CHANNEL_FAILING})

# Kinds whose visibility needs no separate query: the facts already say whether the record still concerns the recipient,
# or the recipient made the request.
RELATION_IN_FACTS = frozenset(
    {
        NotificationKind.WAITING,
        NotificationKind.DUE,
        NotificationKind.ESCALATED,
        NotificationKind.DECIDED,
        NotificationKind.PERSONNEL_EVENT,
    }
)

# Retry schedule of a message: the delay of each attempt after the end of the previous one.
SCHEDULE = (
    timedelta(0),
    timedelta(seconds=30),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
    timedelta(hours=24),
)
# How long a channel is paused after consecutive failures; the last pause repeats.
PAUSES = (timedelta(seconds=5), timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10))
# A message takes at most 30 s, so an expired lease belongs to a dead worker.
MESSAGE_TAKES = timedelta(seconds=30)
LEASE = timedelta(seconds=60)
# A message that waits longer for a connection is put back into the queue, because it may no longer be current when a
# connection is free.
FRESH_FOR = timedelta(seconds=5)
# The maximum number of messages that a worker sends at the same time. It is low, because the outcome of these messages
# is unknown if the worker dies.
IN_FLIGHT = {Channel.EMAIL: 64, Channel.SLACK: 16, Channel.TEAMS: 16}
ROUTED_AT_ONCE = 500
KEPT_FOR = timedelta(days=90)
# People are notified this long before an exception ends (`notify_of_ending_exceptions`, schema/notifications.sql).
EXCEPTION_ENDS_WITHIN = timedelta(days=7)
_DIGEST_AT = time(8)
MOST_IN_A_DIGEST = 100
LONGEST_RESPONSE = 1000


class EmailSettings(msgspec.Struct, frozen=True, rename="camel"):
    transport: Transport = Transport.OFF
    host: str = ""
    port: int = 587
    security: Security = Security.STARTTLS
    username: str = ""
    sender: str = ""


class MessageTemplate(msgspec.Struct, frozen=True, rename="camel"):
    kind: NotificationKind
    subject: str
    body: str


class Reminders(msgspec.Struct, frozen=True, rename="camel"):
    """When reviewers are reminded of requests without a response, and when these are escalated; 0 days means never."""

    remind_after_days: int = 3
    escalate_after_days: int = 7
    escalate_to: EscalateTo = EscalateTo.SUPERVISOR
    days: CountedDays = CountedDays.WORKING
    holidays: Sequence[date] = ()

    def is_counted(self, day: date) -> bool:
        return self.days is CountedDays.CALENDAR or (day.weekday() < 5 and day not in self.holidays)

    def in_words(self, count: int) -> str:
        """Return a number of days with their kind, such as `1 working day` or `7 calendar days`."""
        return counted(count, self.days.lower().removesuffix("s"))


class NotificationPolicy(msgspec.Struct, frozen=True, rename="camel"):
    """The settings of notifications, without secrets."""

    email: EmailSettings = EmailSettings()
    kinds: Sequence[KindRule] = ()
    templates: Sequence[MessageTemplate] = ()
    reminders: Reminders = Reminders()

    def rule_of(self, kind: NotificationKind) -> KindRule:
        return next((rule for rule in self.kinds if rule.kind == kind), DEFAULT_RULES[kind])

    def template_of(self, kind: NotificationKind) -> MessageTemplate | None:
        return next((template for template in self.templates if template.kind == kind), None)


class NotificationFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one notification, under the names that templates use. Empty facts are omitted."""

    person: str = ""
    what: str = ""
    asked: str = ""
    by: str = ""
    result: str = ""
    application: str = ""
    why: str = ""
    due: str = ""
    silence: str = ""
    link: str = "/"
    is_current: bool = True


class FactContext(msgspec.Struct, frozen=True):
    """The settings that facts depend on: when reminders are due, and the time zone of dates."""

    reminders: Reminders
    zone: ZoneInfo


class Claimed(msgspec.Struct, frozen=True):
    """A notification leased to this worker; `is_active` says whether its recipient is still active."""

    id: UUID
    identity_id: UUID
    kind: str
    channel: str
    bundle: str
    step: int
    recipient: str
    address: str
    is_active: bool


def next_digest(now: datetime, zone: ZoneInfo) -> datetime:
    """Return the time of the next digest: the next 8:00 in the zone."""
    today = now.astimezone(zone).date()
    moment = datetime.combine(today, _DIGEST_AT, zone)
    return moment if moment > now else datetime.combine(today + timedelta(days=1), _DIGEST_AT, zone)


def next_attempt_on(step: int, now: datetime) -> datetime | None:
    """Return when to try a message again after attempt number `step`; None after the last attempt."""
    return now + SCHEDULE[step] if step < len(SCHEDULE) else None


def counted_after(moment: datetime, count: int, reminders: Reminders, zone: ZoneInfo) -> datetime:
    """Return the same time of day, this many days later. Count working days or all days, as `reminders` says."""
    return _moved(moment, count, reminders, zone, timedelta(days=1))


def counted_before(moment: datetime, count: int, reminders: Reminders, zone: ZoneInfo) -> datetime:
    """Return the same time of day, this many days earlier. Count working days or all days, as `reminders` says.

    A time on a day that is not counted is treated as midnight, so any time on a weekend gives the same result.
    """
    local = moment.astimezone(zone)
    if not reminders.is_counted(local.date()):
        moment = datetime.combine(local.date(), time(), zone).astimezone(moment.tzinfo)
    return _moved(moment, count, reminders, zone, timedelta(days=-1))


def _moved(moment: datetime, count: int, reminders: Reminders, zone: ZoneInfo, step: timedelta) -> datetime:
    local = moment.astimezone(zone)
    for day in _days_from(local.date(), step):
        if count == 0:
            break
        count -= reminders.is_counted(day)
        # Keep the time of day in the zone, even when daylight saving time begins or ends.
        local = datetime.combine(day, local.timetz())
    return local.astimezone(moment.tzinfo)


def _days_from(day: date, step: timedelta) -> Iterator[date]:
    while True:
        day += step
        yield day
