"""The queue of notifications: route new ones, claim due ones as messages, record the results.

One transaction claims at a time, so that a bundle becomes one message. A claimed row is leased: when a worker dies, the
lease expires and another worker sends the message again, because its outcome is unknown.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import msgspec

from rolecall.core.authors import by_system, sign
from rolecall.core.db import Db, execute, fetch_all, fetch_rows, fetch_value, insert_rows
from rolecall.core.ids import new_id
from rolecall.notifications.model import (
    ALWAYS_CONSOLE,
    IN_FLIGHT,
    LEASE,
    MOST_IN_A_DIGEST,
    PAUSES,
    ROUTED_AT_ONCE,
    Channel,
    Claimed,
    KindRule,
    MessageOutcome,
    NotificationKind,
    NotificationPolicy,
    NotificationStatus,
    Rhythm,
    next_attempt_on,
    next_digest,
)
from rolecall.notifications.occasions import FactContext, Occasion, occasions_of
from rolecall.notifications.writing import (
    Note,
    TemplateFault,
    WrittenMessage,
    default_template,
    note_of,
    template_in,
    write,
)


class Routing(msgspec.Struct, frozen=True):
    """What decides how a notification is sent; `channels` are those that are configured."""

    policy: NotificationPolicy
    channels: frozenset[Channel]
    zone: ZoneInfo
    base_url: str


class OutgoingMessage(msgspec.Struct, frozen=True):
    """A message to send, with the notifications that it carries."""

    id: UUID
    # The first notification in it: the same for every attempt, so that mail programs detect duplicates.
    reference: UUID
    channel: Channel
    recipient: str
    address: str
    written: WrittenMessage
    notes: list[Note]
    lease: UUID
    step: int


class EndedMessage(msgspec.Struct, frozen=True):
    message: OutgoingMessage
    outcome: MessageOutcome
    response: str
    ended_on: datetime


async def try_lock(db: Db) -> bool:
    """Try to take the lock for routing and claiming; return false while another worker holds it."""
    return bool(await fetch_value(db, "SELECT pg_try_advisory_xact_lock(hashtext('notifications'), 0)"))


# Routing


async def route(db: Db, routing: Routing, now: datetime) -> int:
    """Decide channel and time of new notifications; return how many there were."""
    rows = await fetch_rows(
        db,
        f"""SELECT n.id, n.kind, n.item_id, n.part, n.identity_id, p.channel, p.rhythm, z.zone,
                  coalesce(nullif(c.email, ''), i.email_address) <> '' AS has_address
           FROM notifications n JOIN identities i ON i.id = n.identity_id
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
    rule = _rule(routing.policy, row)
    is_sent = rule.channel in routing.channels and (rule.channel is not Channel.EMAIL or row.has_address)
    if not is_sent or row.kind in ALWAYS_CONSOLE:
        return _Routed(row.id, NotificationStatus.CONSOLE, Channel.CONSOLE, None, None)
    is_digest = rule.rhythm is Rhythm.DIGEST
    if rule.channel is Channel.EMAIL:
        bundle = f"digest {row.identity_id}" if is_digest else str(row.id)
    else:
        bundle = f"{rule.channel} {'digest' if is_digest else f'{row.kind} {row.item_id} {row.part}'}"
    # Chat channels are shared, so their digests follow the zone of the service.
    zone = ZoneInfo(row.zone) if row.zone and rule.channel is Channel.EMAIL else routing.zone
    due = next_digest(now, zone) if is_digest else now
    return _Routed(row.id, NotificationStatus.PENDING, rule.channel, bundle, due)


def _rule(policy: NotificationPolicy, row: _NewRow) -> KindRule:
    rule = policy.rule_of(NotificationKind(row.kind))
    if rule.is_locked or row.channel is None or row.rhythm is None:
        return rule
    return msgspec.structs.replace(rule, channel=Channel(row.channel), rhythm=Rhythm(row.rhythm))


# Claiming

_CLAIM = f"""
    WITH usable AS MATERIALIZED (
        SELECT each.channel, CASE WHEN c.failing_since IS NULL THEN {IN_FLIGHT} ELSE 1 END AS room
        FROM unnest(%(channels)s::text[]) AS each (channel) LEFT JOIN notification_channels c USING (channel)
        WHERE c.paused_until IS NULL OR c.paused_until <= %(now)s
    ), due AS MATERIALIZED (
        SELECT bundle FROM (
            SELECT d.bundle, d.first, row_number() OVER (PARTITION BY d.channel ORDER BY d.first) AS place, usable.room
            FROM (SELECT bundle, channel, min(number) AS first FROM (
                      SELECT bundle, channel, number FROM notifications
                      WHERE status = 'Pending' AND next_attempt_on <= %(now)s
                        AND channel IN (SELECT channel FROM usable)
                      ORDER BY next_attempt_on, number LIMIT {10 * IN_FLIGHT}) AS oldest
                  GROUP BY bundle, channel) AS d JOIN usable USING (channel)) AS ranked
        WHERE place <= room ORDER BY first LIMIT %(limit)s
    ), claimed AS (
        UPDATE notifications n SET lease = %(lease)s, next_attempt_on = %(until)s, step = step + 1
        WHERE n.id IN (SELECT id FROM (
                  SELECT o.id, row_number() OVER (PARTITION BY o.bundle ORDER BY o.number) AS place
                  FROM notifications o WHERE o.bundle = ANY (ARRAY(SELECT bundle FROM due))
                   AND o.status = 'Pending' AND o.next_attempt_on <= %(now)s) AS rows
              WHERE place <= {MOST_IN_A_DIGEST})
        RETURNING n.*
    ), abandoned AS (
        UPDATE notification_messages m SET outcome = 'unknown', ended_on = %(now)s
        WHERE m.id IN (SELECT message_id FROM claimed) AND m.ended_on IS NULL
    )
    SELECT c.id, c.identity_id, c.kind, c.channel, c.bundle, c.step,
           i.first_name || ' ' || i.last_name AS recipient,
           coalesce(nullif(r.email, ''), (SELECT u.sign_in_email FROM unconfirmed_emails u WHERE u.identity_id = i.id),
                    i.email_address) AS address
    FROM claimed c JOIN identities i ON i.id = c.identity_id LEFT JOIN console_roles r ON r.identity_id = c.identity_id
    ORDER BY c.number"""


async def claim(db: Db, routing: Routing, limit: int, now: datetime) -> list[OutgoingMessage]:
    """Lease due notifications, withdraw those whose work is done, and write the others as messages."""
    if limit <= 0 or not routing.channels:
        return []
    lease = uuid4()
    claimed = await fetch_all(
        db,
        Claimed,
        _CLAIM,
        channels=list(routing.channels),
        limit=limit,
        lease=lease,
        now=now,
        until=now + LEASE,
    )
    if not claimed:
        return []
    context = FactContext(routing.policy.reminders, routing.zone)
    occasions = await occasions_of(db, [each.id for each in claimed], context)
    current = [each for each in claimed if each.id in occasions and occasions[each.id].is_current]
    await _withdraw(db, [each.id for each in claimed if each not in current])
    bundles: dict[str, list[Claimed]] = {}
    for each in current:
        bundles.setdefault(each.bundle, []).append(each)
    messages = [(await _message(db, routing, rows, occasions, lease, now), rows) for rows in bundles.values()]
    await _begin(db, messages, now)
    return [message for message, _ in messages]


async def _withdraw(db: Db, ids: Sequence[UUID]) -> None:
    if ids:
        await execute(
            db,
            """UPDATE notifications SET status = 'Withdrawn', is_read = true, next_attempt_on = NULL, lease = NULL
               WHERE id = ANY(%(ids)s)""",
            ids=list(ids),
        )


async def _message(
    db: Db, routing: Routing, rows: Sequence[Claimed], occasions: dict[UUID, Occasion], lease: UUID, now: datetime
) -> OutgoingMessage:
    first, recipient = rows[0], ", ".join(dict.fromkeys(row.recipient for row in rows))
    channel, is_digest = Channel(first.channel), "digest" in first.bundle
    # A chat message about one thing is written once, however many people receive it.
    told = rows if channel is Channel.EMAIL or is_digest else rows[:1]
    notes = [await _note(db, routing, row, occasions[row.id], recipient, now) for row in told]
    written = write(notes, recipient, routing.base_url, is_digest=is_digest)
    address = first.address if channel is Channel.EMAIL else str(channel)
    step = min(row.step for row in rows)
    return OutgoingMessage(new_id(), first.id, channel, recipient, address, written, notes, lease, step)


async def _note(db: Db, routing: Routing, row: Claimed, occasion: Occasion, recipient: str, now: datetime) -> Note:
    """Fill in the template; use the built-in one where the edited one fails, and record the failure."""
    kind = NotificationKind(row.kind)
    try:
        return note_of(template_in(routing.policy, kind), occasion, recipient, routing.base_url)
    except TemplateFault as fault:
        await execute(
            db,
            """INSERT INTO notification_template_faults (kind, problem, noticed_on) VALUES (%(kind)s, %(said)s, %(now)s)
               ON CONFLICT (kind) DO UPDATE SET problem = EXCLUDED.problem, noticed_on = EXCLUDED.noticed_on""",
            kind=kind,
            said=str(fault),
            now=now,
        )
        return note_of(default_template(kind), occasion, recipient, routing.base_url)


async def _begin(db: Db, messages: Sequence[tuple[OutgoingMessage, Sequence[Claimed]]], now: datetime) -> None:
    """Record the messages before they are sent, so that a message lost in a crash is known."""
    await insert_rows(
        db,
        "notification_messages",
        [
            {
                "id": message.id,
                "channel": message.channel,
                "kind": "Digest" if "digest" in rows[0].bundle else rows[0].kind,
                "identity_id": rows[0].identity_id if message.channel is Channel.EMAIL else None,
                "recipient": message.recipient,
                "address": message.address,
                "subject": message.written.subject,
                "text": message.written.text,
                "html": message.written.html,
                "attempt": message.step,
                "outcome": MessageOutcome.SENDING,
                "started_on": now,
            }
            for message, rows in messages
        ],
    )
    await execute(
        db,
        """UPDATE notifications n SET message_id = m.message_id
           FROM unnest(%(ids)s::uuid[], %(messages)s::uuid[]) AS m (id, message_id) WHERE n.id = m.id""",
        ids=[row.id for _, rows in messages for row in rows],
        messages=[message.id for message, rows in messages for _ in rows],
    )


# Recording


class _MessageResult(msgspec.Struct, frozen=True):
    message_id: UUID
    lease: UUID
    channel: Channel
    outcome: MessageOutcome
    response: str
    ended_on: datetime
    status: NotificationStatus
    next_attempt_on: datetime | None
    # Attempts that failed because of the channel do not count.
    refund: int


_RECORD = """
    WITH ended AS MATERIALIZED (
        SELECT * FROM json_to_recordset(%(results)s::json) AS e (
            message_id uuid, lease uuid, channel text, outcome text, response text, ended_on timestamptz, status text,
            next_attempt_on timestamptz, refund int)),
    messages AS (
        UPDATE notification_messages m SET outcome = e.outcome, response = e.response, ended_on = e.ended_on
        FROM ended e WHERE m.id = e.message_id)
    UPDATE notifications n SET status = e.status, next_attempt_on = e.next_attempt_on, lease = NULL,
                               step = n.step - e.refund
    FROM ended e WHERE n.message_id = e.message_id AND n.lease = e.lease"""


async def record(db: Db, ended: Sequence[EndedMessage], now: datetime) -> None:
    """Record the results of messages whose lease is still valid, and the health of their channels."""
    if not ended:
        return
    pauses = {channel: await _note_health(db, channel, ended, now) for channel in {e.message.channel for e in ended}}
    results = [_result(each, pauses[each.message.channel]) for each in ended]
    await execute(db, _RECORD, results=msgspec.json.encode(results).decode())


def _result(ended: EndedMessage, paused_until: datetime | None) -> _MessageResult:
    status, next = NotificationStatus.SENT, None
    match ended.outcome:
        case MessageOutcome.CHANNEL:
            status, next = NotificationStatus.PENDING, paused_until or ended.ended_on
        case MessageOutcome.DEFERRED | MessageOutcome.UNKNOWN:
            next = next_attempt_on(ended.message.step, ended.ended_on)
            status = NotificationStatus.PENDING if next else NotificationStatus.FAILED
        case MessageOutcome.REFUSED:
            status = NotificationStatus.FAILED
        case MessageOutcome.SENT | MessageOutcome.KEPT | MessageOutcome.SENDING:
            pass
    message, refund = ended.message, int(ended.outcome is MessageOutcome.CHANNEL)
    return _MessageResult(
        message.id, message.lease, message.channel, ended.outcome, ended.response, ended.ended_on, status, next, refund
    )


async def _note_health(db: Db, channel: Channel, ended: Sequence[EndedMessage], now: datetime) -> datetime | None:
    """Record whether the channel works; return until when it is paused."""
    own = [each for each in ended if each.message.channel is channel]
    faults = [each for each in own if each.outcome is MessageOutcome.CHANNEL]
    if len(faults) < len(own):
        await mark_working(db, channel)
        return now + PAUSES[0] if faults else None
    await sign(db, by_system("note_failing_channel", now))
    return await mark_failing(db, channel, faults[-1].response, now)


async def mark_working(db: Db, channel: Channel) -> None:
    await execute(
        db,
        """UPDATE notification_channels SET failures = 0, failing_since = NULL, last_error = NULL, paused_until = NULL
           WHERE channel = %(channel)s AND (failures > 0 OR paused_until IS NOT NULL)""",
        channel=channel,
    )


async def mark_failing(db: Db, channel: Channel, error: str, now: datetime) -> datetime:
    """Count a failure of the channel and return until when it is paused."""
    await execute(db, "INSERT INTO notification_channels (channel) VALUES (%(c)s) ON CONFLICT DO NOTHING", c=channel)
    failures = await fetch_value(
        db, "SELECT failures FROM notification_channels WHERE channel = %(c)s FOR NO KEY UPDATE", c=channel
    )
    until = now + PAUSES[min(failures, len(PAUSES) - 1)]
    # Fires tell_of_failing_channel, schema/notifications.sql.
    await execute(
        db,
        """UPDATE notification_channels SET failures = failures + 1, failing_since = coalesce(failing_since, %(now)s),
                                            last_error = %(error)s, paused_until = %(until)s WHERE channel = %(c)s""",
        c=channel,
        error=error,
        now=now,
        until=until,
    )
    return until


async def next_due(db: Db, now: datetime) -> datetime | None:
    """Return when the next message becomes due, a lease expires or a channel is tried again."""
    found: datetime | None = await fetch_value(
        db,
        """SELECT least(
               (SELECT min(next_attempt_on) FROM notifications WHERE status = 'Pending' AND next_attempt_on > %(now)s),
               (SELECT min(paused_until) FROM notification_channels WHERE paused_until > %(now)s))""",
        now=now,
    )
    return found
