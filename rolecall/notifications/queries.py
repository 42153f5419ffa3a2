"""Read notifications, messages, preferences and settings."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from rolecall.core import sealing
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import Listing, Page, fetch_listed
from rolecall.notifications.message_text import TemplateFault, default_template, note_of, template_in
from rolecall.notifications.model import (
    CHATS,
    MEANINGS,
    Channel,
    KindRule,
    MessageOutcome,
    NotificationKind,
    NotificationPolicy,
    Rhythm,
    Transport,
)
from rolecall.notifications.notification_facts import FactContext, NotificationFacts, facts_or_faults
from rolecall.notifications.shapes import (
    ChannelHealth,
    EmailDetail,
    KindDetail,
    MessageDetail,
    MessageItem,
    NotificationItem,
    NotificationPreferences,
    NotificationSettings,
    TemplateDetail,
)
from rolecall.notifications.visibility import hidden_from

# The owner id of each channel's secret; encryption binds the secret to it.
SECRET_OWNERS = {Channel.EMAIL: UUID(int=2), Channel.SLACK: UUID(int=3), Channel.TEAMS: UUID(int=4)}


_HIDDEN = "A record that you can no longer see"
_NO_RELATION = "The record no longer concerns you"


class _ListedRow(msgspec.Struct, frozen=True):
    id: UUID
    kind: NotificationKind
    created_date: datetime
    is_read: bool


NOTIFICATIONS: Listing[Any] = Listing(
    table="notifications",
    row="n",
    columns="id, kind, created_date, is_read",
    make=lambda row: _ListedRow(row[0], NotificationKind(row[1]), *row[2:]),
    facets=("identity_id", "is_read"),
    newest_first=True,
)
_MESSAGE = "id, channel, kind, recipient, address, subject, attempt, outcome, response, started_on, ended_on"
MESSAGES = Listing(
    table="notification_messages",
    row="m",
    columns=_MESSAGE,
    make=lambda row: MessageItem(*row),
    facets=("outcome",),
    newest_first=True,
)


async def newest_first(
    db: Db, identity_id: UUID, page: int, config: Config, now: datetime, *, is_read: bool | None = None
) -> Page[NotificationItem]:
    """Return a page of a person's notifications, with the texts as they would be written now.

    A record that the person may no longer see is not described.
    """
    found = await fetch_listed(db, NOTIFICATIONS, page, identity_id=identity_id, is_read=is_read)
    known = await policy(db)

    async def with_texts(db: Db, rows: Sequence[_ListedRow]) -> list[NotificationItem]:
        ids = [row.id for row in rows]
        about, _ = await facts_or_faults(db, ids, FactContext(known.reminders, config.timezone))
        hidden = await hidden_from(db, identity_id, ids, now)
        return [
            _hidden_item(row)
            if row.id in hidden
            else _item(row, about.get(row.id, NotificationFacts(is_current=False)), known)
            for row in rows
        ]

    return await found.completed(db, with_texts)


def _hidden_item(row: _ListedRow) -> NotificationItem:
    return NotificationItem(
        row.id, row.kind, _HIDDEN, _NO_RELATION, "/notifications", row.created_date, row.is_read, is_current=False
    )


def _item(row: _ListedRow, about: NotificationFacts, known: NotificationPolicy) -> NotificationItem:
    try:
        note = note_of(template_in(known, row.kind), about, "", "")
    except TemplateFault:
        note = note_of(default_template(row.kind), about, "", "")
    return NotificationItem(
        row.id,
        row.kind,
        note.subject,
        about.why,
        about.link,
        row.created_date,
        row.is_read,
        about.is_current,
    )


async def count_unread(db: Db, identity_id: UUID, most: int) -> int:
    """Return the number of unread notifications, at most `most`; the upper bound keeps every page fast."""
    count: int = await fetch_value(
        db,
        f"""SELECT count(*) FROM (SELECT FROM notifications WHERE identity_id = %(id)s AND NOT is_read
                                  LIMIT {most:d}) AS unread""",
        id=identity_id,
    )
    return count


async def messages(db: Db, page: int, outcome: MessageOutcome | None = None) -> Page[MessageItem]:
    return await fetch_listed(db, MESSAGES, page, outcome=outcome)


async def texts_of(db: Db, ids: Sequence[UUID]) -> dict[UUID, str]:
    rows = await fetch_rows(db, "SELECT id, text FROM notification_messages WHERE id = ANY(%(ids)s)", ids=list(ids))
    return dict(rows)


async def get_message(db: Db, id: str) -> MessageDetail:
    rows = await fetch_rows(
        db,
        f"SELECT {_MESSAGE}, text, html FROM notification_messages WHERE id = %(id)s",
        id=known_guid("Message", id),
    )
    if not rows:
        raise NotFound("Message", id)
    return MessageDetail(*rows[0])


async def policy(db: Db) -> NotificationPolicy:
    stored = await fetch_rows(db, "SELECT name, value FROM notification_settings")
    # Settings that were never changed are not stored, and have their defaults.
    return msgspec.convert(dict(stored), NotificationPolicy)


class Delivery(msgspec.Struct, frozen=True):
    """The settings, secrets and usable channels. The secrets of `unreadable` channels cannot be decrypted."""

    policy: NotificationPolicy
    secrets: dict[Channel, str]
    channels: frozenset[Channel]
    unreadable: Sequence[Channel] = ()


async def delivery(db: Db, key: bytes) -> Delivery:
    known = await policy(db)
    secrets: dict[Channel, str] = {}
    unreadable = []
    for channel, owner, sealed in await sealed_secrets(db):
        try:
            secrets[channel] = sealing.unseal(key, sealed, owner).decode()
        except sealing.CannotUnseal:
            unreadable.append(channel)
    chats = {channel for channel in CHATS if channel in secrets}
    sends_mail = known.email.transport is not Transport.OFF and Channel.EMAIL not in unreadable
    return Delivery(known, secrets, frozenset(chats | ({Channel.EMAIL} if sends_mail else set())), unreadable)


async def sealed_secrets(db: Db) -> list[tuple[Channel, UUID, bytes]]:
    """Return the encrypted secret of each channel, and the owner id to which encryption binds it."""
    rows = await fetch_rows(db, "SELECT channel, secret FROM notification_secrets ORDER BY channel")
    return [(Channel(name), SECRET_OWNERS[Channel(name)], sealed) for name, sealed in rows]


async def settings(db: Db) -> NotificationSettings:
    known = await policy(db)
    secrets = {name for (name,) in await fetch_rows(db, "SELECT channel FROM notification_secrets")}
    health = await fetch_rows(db, "SELECT channel, failing_since, last_error FROM notification_channels")
    faults: dict[str, str] = dict(await fetch_rows(db, "SELECT kind, problem FROM notification_template_faults"))
    states = {name: (since, error) for name, since, error in health}
    configured = secrets - {Channel.EMAIL} | ({Channel.EMAIL} if known.email.transport is not Transport.OFF else set())
    return NotificationSettings(
        EmailDetail(**msgspec.structs.asdict(known.email), has_password=Channel.EMAIL in secrets),
        {each: ChannelHealth(each in configured, *states.get(each, (None, None))) for each in SECRET_OWNERS},
        [_kind(known.rule_of(kind)) for kind in NotificationKind],
        [_template(known, kind, faults.get(kind)) for kind in NotificationKind],
        known.reminders,
    )


def _kind(rule: KindRule) -> KindDetail:
    return KindDetail(rule.kind, MEANINGS[rule.kind], rule.channel, rule.rhythm, rule.is_locked, rule.is_chat_allowed)


def _template(known: NotificationPolicy, kind: NotificationKind, problem: str | None) -> TemplateDetail:
    template, is_default = template_in(known, kind), known.template_of(kind) is None
    return TemplateDetail(kind, template.subject, template.body, is_default, None if is_default else problem)


async def preferences(db: Db, identity_id: UUID, zone: ZoneInfo) -> NotificationPreferences:
    known = await policy(db)
    chosen: dict[str, tuple[Any, ...]] = {
        kind: (Channel(channel), Rhythm(rhythm))
        for kind, channel, rhythm in await fetch_rows(
            db,
            "SELECT kind, channel, rhythm FROM notification_preferences WHERE identity_id = %(id)s",
            id=identity_id,
        )
    }
    own = await fetch_value(db, "SELECT zone FROM notification_zones WHERE identity_id = %(id)s", id=identity_id)
    return NotificationPreferences(
        own or str(zone), [_chosen(known.rule_of(kind), chosen.get(kind)) for kind in NotificationKind]
    )


def _chosen(rule: KindRule, choice: tuple[Any, ...] | None) -> KindDetail:
    if choice and not rule.is_locked:
        rule = msgspec.structs.replace(rule, channel=choice[0], rhythm=choice[1])
    return _kind(rule)
