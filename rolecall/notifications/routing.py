"""Choose the channel and time of new notifications from the current settings and preferences."""

from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from rolecall.core.db import Db, execute, fetch_rows
from rolecall.notifications.model import (
    ALWAYS_CONSOLE,
    CHATS,
    ROUTED_AT_ONCE,
    Channel,
    KindRule,
    NotificationKind,
    NotificationPolicy,
    NotificationStatus,
    Rhythm,
    next_digest,
)

_EVENT = "Personnel Event"


class Routing(msgspec.Struct, frozen=True):
    """The settings that determine how notifications are sent; `channels` are those that are configured."""

    policy: NotificationPolicy
    channels: frozenset[Channel]
    zone: ZoneInfo
    base_url: str


async def route(db: Db, routing: Routing, now: datetime) -> int:
    """Choose the channel and time of a batch of new notifications; return how many there were."""
    rows = await fetch_rows(
        db,
        f"""SELECT n.id, n.kind, n.item_kind, n.item_id, n.part, n.identity_id, p.channel, p.rhythm, z.zone,
                  coalesce(nullif(c.email, ''), u.sign_in_email, i.email_address) <> '' AS has_address
           FROM notifications n JOIN identities i ON i.id = n.identity_id
           LEFT JOIN unconfirmed_emails u ON u.identity_id = n.identity_id
           LEFT JOIN console_roles c ON c.identity_id = n.identity_id
           LEFT JOIN notification_preferences p ON p.identity_id = n.identity_id AND p.kind = n.kind
           LEFT JOIN notification_zones z ON z.identity_id = n.identity_id
           WHERE n.status = 'New' ORDER BY n.number LIMIT {ROUTED_AT_ONCE}""",
    )
    routed = [_routed(routing, _NewRow(*row), now) for row in rows]
    if routed:
        await execute(
            db,
            """UPDATE notifications n SET status = r.status, channel = r.channel, bundle = r.bundle,
                                          next_attempt_on = r.next_attempt_on
               FROM json_to_recordset(%(rows)s::json)
                    AS r (id uuid, status text, channel text, bundle text, next_attempt_on timestamptz)
               WHERE n.id = r.id AND n.status = 'New'""",
            rows=msgspec.json.encode(routed).decode(),
        )
    return len(rows)


class _NewRow(msgspec.Struct, frozen=True):
    id: UUID
    kind: str
    item_kind: str
    item_id: UUID
    part: str
    identity_id: UUID
    channel: str | None
    rhythm: str | None
    zone: str | None
    has_address: bool


class _Routed(msgspec.Struct, frozen=True):
    id: UUID
    status: NotificationStatus
    channel: Channel
    bundle: str | None
    next_attempt_on: datetime | None


def _routed(routing: Routing, row: _NewRow, now: datetime) -> _Routed:
    rule = _rule(routing, row)
    is_sent = rule.channel in routing.channels and (rule.channel is not Channel.EMAIL or row.has_address)
    if not is_sent or row.kind in ALWAYS_CONSOLE:
        return _Routed(row.id, NotificationStatus.CONSOLE, Channel.CONSOLE, None, None)
    # The notifications of a bundle become one message: a digest, or a chat message about one item for all recipients.
    is_digest = rule.rhythm is Rhythm.DIGEST
    if rule.channel is Channel.EMAIL:
        bundle = f"digest {row.identity_id}" if is_digest else str(row.id)
    else:
        bundle = f"{rule.channel} {'digest' if is_digest else f'{row.kind} {row.item_id} {row.part}'}"
    # Chat channels are shared, so their digests are sent at a time in the zone of the service.
    zone = _zone_of(row, routing.zone) if rule.channel is Channel.EMAIL else routing.zone
    due = next_digest(now, zone) if is_digest else now
    return _Routed(row.id, NotificationStatus.PENDING, rule.channel, bundle, due)


def _zone_of(row: _NewRow, default: ZoneInfo) -> ZoneInfo:
    """Return the zone that the person chose, or the default if they chose none or this machine does not know it."""
    try:
        return ZoneInfo(row.zone) if row.zone else default
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return default


def _rule(routing: Routing, row: _NewRow) -> KindRule:
    """Return how to send a notification. A chat that is not allowed or not configured is replaced by e-mail."""
    policy = routing.policy
    rule = policy.rule_of(NotificationKind(row.kind))
    if not rule.is_locked and row.channel is not None and row.rhythm is not None:
        rule = msgspec.structs.replace(rule, channel=Channel(row.channel), rhythm=Rhythm(row.rhythm))
    # If personnel events must stay out of chats, other notifications about them, such as Assigned, must too.
    about_person = row.item_kind == _EVENT and not policy.rule_of(NotificationKind.PERSONNEL_EVENT).is_chat_allowed
    is_usable = rule.is_chat_allowed and rule.channel in routing.channels
    if rule.channel in CHATS and (about_person or not is_usable):
        return msgspec.structs.replace(rule, channel=Channel.EMAIL)
    return rule
