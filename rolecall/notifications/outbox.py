"""The queue of notifications: claim due notifications as messages, and record the results.

One transaction claims at a time, so that the notifications of a bundle become one message. A claimed row is leased: if
a worker dies, the lease expires and another worker sends the message again, because its outcome is unknown.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID, uuid4

import msgspec
import psycopg

from rolecall.core.authors import by_system, sign
from rolecall.core.db import Db, execute, fetch_all, fetch_value, insert_rows
from rolecall.core.ids import new_id
from rolecall.notifications.channel_health import mark_failing, mark_working
from rolecall.notifications.message_text import (
    Note,
    TemplateFault,
    WrittenMessage,
    default_template,
    note_of,
    template_in,
    write,
)
from rolecall.notifications.model import (
    IN_FLIGHT,
    LEASE,
    MOST_IN_A_DIGEST,
    PAUSES,
    RELATION_IN_FACTS,
    Channel,
    Claimed,
    MessageOutcome,
    NotificationKind,
    NotificationStatus,
    next_attempt_on,
)
from rolecall.notifications.notification_facts import FactContext, NotificationFacts, facts_or_faults
from rolecall.notifications.routing import Routing
from rolecall.notifications.unwritten import fail
from rolecall.notifications.visibility import hidden_from


class OutgoingMessage(msgspec.Struct, frozen=True):
    """A message to send, with the notifications that it carries."""

    id: UUID
    # The id of the first notification or, without notifications, of the message. All attempts use it in their
    # Message-ID, so that mail programs detect duplicates.
    reference: UUID
    channel: Channel
    recipient: str
    address: str
    written: WrittenMessage
    notes: list[Note]
    lease: UUID
    claimed_on: datetime
    step: int


class EndedMessage(msgspec.Struct, frozen=True):
    """The result of a message. `SENDING` means that sending did not start, so the message goes back to the queue."""

    message: OutgoingMessage
    outcome: MessageOutcome
    response: str
    ended_on: datetime


async def try_lock(db: Db) -> bool:
    """Try to take the lock for routing and claiming; return False if another worker holds it."""
    return bool(await fetch_value(db, "SELECT pg_try_advisory_xact_lock(hashtext('notifications'), 0)"))


async def yield_to_others(db: Db) -> None:
    """Let this transaction fail if it waits long for a lock.

    A change of requests marks notifications as read, in another order than they are claimed. This time is shorter than
    PostgreSQL's deadlock_timeout, so that in a deadlock the change succeeds, and only this turn is repeated.
    """
    await execute(db, "SET LOCAL lock_timeout = '500ms'")


# Do not send to an unconfirmed e-mail address: it may belong to another person.
_CLAIM = f"""
    WITH usable AS MATERIALIZED (
        -- Try a failing channel with one message at a time.
        SELECT each.channel, CASE WHEN c.failing_since IS NULL THEN each.room ELSE 1 END AS room
        FROM unnest(%(channels)s::text[], %(rooms)s::int[]) AS each (channel, room)
        LEFT JOIN notification_channels c USING (channel)
        WHERE c.paused_until IS NULL OR c.paused_until <= %(now)s
    ), due AS MATERIALIZED (
        SELECT bundle FROM (
            SELECT d.bundle, row_number() OVER (PARTITION BY d.channel ORDER BY d.first) AS place, usable.room
            FROM (SELECT bundle, channel, min(number) AS first FROM (
                      -- Read more rows than messages, because several rows may belong to one bundle.
                      SELECT bundle, channel, number FROM notifications
                      WHERE status = 'Pending' AND next_attempt_on <= %(now)s
                        AND channel IN (SELECT channel FROM usable)
                      ORDER BY next_attempt_on, number LIMIT {4 * sum(IN_FLIGHT.values())}) AS oldest
                  GROUP BY bundle, channel) AS d JOIN usable USING (channel)) AS ranked
        WHERE place <= room
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
                    i.email_address) AS address, i.status = 'Active' AS is_active
    FROM claimed c JOIN identities i ON i.id = c.identity_id LEFT JOIN console_roles r ON r.identity_id = c.identity_id
    ORDER BY c.number"""


async def claim(db: Db, routing: Routing, rooms: Mapping[Channel, int], now: datetime) -> list[OutgoingMessage]:
    """Lease due notifications and return them as messages.

    Withdraw notifications of inactive people, and those that the recipient must not see or that are no longer about the
    recipient. Record a failure for each notification that cannot be written.
    """
    if not rooms:
        return []
    lease = uuid4()
    claimed = await fetch_all(
        db, Claimed, _CLAIM, channels=list(rooms), rooms=list(rooms.values()), lease=lease, now=now, until=now + LEASE
    )
    if not claimed:
        return []
    context = FactContext(routing.policy.reminders, routing.zone)
    about, faults = await facts_or_faults(db, [each.id for each in claimed], context)
    hidden = await _hidden(db, claimed, now)
    bundles: dict[str, list[Claimed]] = {}
    for each in claimed:
        if each.is_active and each.id in about and about[each.id].is_current and each.id not in hidden:
            bundles.setdefault(each.bundle, []).append(each)
    kept = {each.id for rows in bundles.values() for each in rows}
    await _withdraw(db, [each.id for each in claimed if each.id not in kept and each.id not in faults])
    written = [(await _message(db, routing, rows, about, (lease, now), faults), rows) for rows in bundles.values()]
    messages = [(message, [row for row in rows if row.id not in faults]) for message, rows in written if message]
    await _begin(db, messages, now)
    await fail(db, [each for each in claimed if each.id in faults], faults, now)
    return [message for message, _ in messages]


async def _hidden(db: Db, claimed: Sequence[Claimed], now: datetime) -> set[UUID]:
    """Return notifications about records that their recipients must not see now, except kinds in RELATION_IN_FACTS."""
    by_person: dict[UUID, list[UUID]] = {}
    for each in claimed:
        if each.kind not in RELATION_IN_FACTS:
            by_person.setdefault(each.identity_id, []).append(each.id)
    return {id for person, ids in by_person.items() for id in await hidden_from(db, person, ids, now)}


async def _withdraw(db: Db, ids: Sequence[UUID]) -> None:
    if ids:
        await execute(
            db,
            """UPDATE notifications SET status = 'Withdrawn', is_read = true, next_attempt_on = NULL, lease = NULL
               WHERE id = ANY(%(ids)s)""",
            ids=list(ids),
        )


async def _message(
    db: Db,
    routing: Routing,
    rows: Sequence[Claimed],
    about: dict[UUID, NotificationFacts],
    lease: tuple[UUID, datetime],
    faults: dict[UUID, Exception],
) -> OutgoingMessage | None:
    """Return the message for these notifications; leave out those that cannot be written, and add them to `faults`.

    Return None if none of them can be written.
    """
    first, recipient = rows[0], ", ".join(dict.fromkeys(row.recipient for row in rows))
    channel, is_digest = Channel(first.channel), "digest" in first.bundle
    is_written_once = channel is not Channel.EMAIL and not is_digest
    notes = []
    # A chat message about one item is written once, however many people receive it.
    for row in rows[:1] if is_written_once else rows:
        try:
            notes.append(await _note(db, routing, row, about[row.id], recipient))
        # After an error of the database, this transaction cannot continue.
        except psycopg.Error:
            raise
        except Exception as error:  # one record with an unexpected value must not block others
            faults |= {each.id: error for each in (rows if is_written_once else [row])}
    if not notes:
        return None
    written = write(notes, recipient, routing.base_url, is_digest=is_digest)
    address = first.address if channel is Channel.EMAIL else str(channel)
    # Use the lowest step, so that a notification that joined the bundle later gets its full number of attempts.
    step = min(row.step for row in rows)
    return OutgoingMessage(new_id(), first.id, channel, recipient, address, written, notes, *lease, step)


async def _note(db: Db, routing: Routing, row: Claimed, about: NotificationFacts, recipient: str) -> Note:
    """Fill in the template; if an edited template fails, use the built-in one and record the failure."""
    kind = NotificationKind(row.kind)
    try:
        return note_of(template_in(routing.policy, kind), about, recipient, routing.base_url)
    except TemplateFault as fault:
        await execute(
            db,
            """INSERT INTO notification_template_faults (kind, problem, noticed_on)
               VALUES (%(kind)s, %(said)s, written_on())
               ON CONFLICT (kind) DO UPDATE SET problem = EXCLUDED.problem, noticed_on = EXCLUDED.noticed_on""",
            kind=kind,
            said=str(fault),
        )
        return note_of(default_template(kind), about, recipient, routing.base_url)


async def _begin(db: Db, messages: Sequence[tuple[OutgoingMessage, Sequence[Claimed]]], now: datetime) -> None:
    """Record messages before they are sent, so that a crash leaves a record of each."""
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


class _MessageResult(msgspec.Struct, frozen=True):
    message_id: UUID
    lease: UUID
    channel: Channel
    outcome: MessageOutcome
    response: str
    ended_on: datetime
    status: NotificationStatus
    next_attempt_on: datetime | None
    # The number to subtract from `step`: an attempt does not count if the channel failed.
    refund: int


# A message that bounced before its result was recorded stays bounced. `lease IS NOT NULL` lets PostgreSQL use a partial
# index.
_RECORD = """
    WITH ended AS MATERIALIZED (
        SELECT * FROM json_to_recordset(%(results)s::json) AS e (
            message_id uuid, lease uuid, channel text, outcome text, response text, ended_on timestamptz, status text,
            next_attempt_on timestamptz, refund int)),
    messages AS (
        UPDATE notification_messages m SET outcome = e.outcome, response = e.response, ended_on = e.ended_on
        FROM ended e WHERE m.id = e.message_id AND m.outcome <> 'bounced')
    UPDATE notifications n SET status = e.status, next_attempt_on = e.next_attempt_on, lease = NULL,
                               step = n.step - e.refund
    FROM ended e
    WHERE n.message_id = ANY(%(ids)s) AND n.lease IS NOT NULL AND n.message_id = e.message_id AND n.lease = e.lease"""


async def record(db: Db, ended: Sequence[EndedMessage], now: datetime) -> None:
    """Record the results of messages and the health of their channels.

    Do not change notifications that another worker claimed after their lease expired.
    """
    await _release(db, [each.message for each in ended if each.outcome is MessageOutcome.SENDING], now)
    ended = [each for each in ended if each.outcome is not MessageOutcome.SENDING]
    if not ended:
        return
    pauses = {channel: await _note_health(db, channel, ended, now) for channel in {e.message.channel for e in ended}}
    results = [_result(each, pauses[each.message.channel]) for each in ended]
    ids = [each.message_id for each in results]
    await execute(db, _RECORD, results=msgspec.json.encode(results).decode(), ids=ids)


async def _release(db: Db, messages: Sequence[OutgoingMessage], now: datetime) -> None:
    """Requeue messages whose sending did not start, as if they had not been claimed."""
    if messages:
        await execute(
            db,
            """WITH released AS (DELETE FROM notification_messages WHERE id = ANY(%(ids)s))
               UPDATE notifications SET lease = NULL, message_id = NULL, next_attempt_on = %(now)s, step = step - 1
               WHERE message_id = ANY(%(ids)s) AND lease IS NOT NULL AND lease = ANY(%(leases)s)""",
            ids=[message.id for message in messages],
            leases=[message.lease for message in messages],
            now=now,
        )


def _result(ended: EndedMessage, paused_until: datetime | None) -> _MessageResult:
    status, next = NotificationStatus.SENT, None
    match ended.outcome:
        case MessageOutcome.CHANNEL:
            status, next = NotificationStatus.PENDING, paused_until or ended.ended_on
        case MessageOutcome.DEFERRED | MessageOutcome.UNKNOWN:
            next = next_attempt_on(ended.message.step, ended.ended_on)
            status = NotificationStatus.PENDING if next else NotificationStatus.FAILED
        case MessageOutcome.REFUSED | MessageOutcome.BOUNCED | MessageOutcome.UNWRITTEN:
            status = NotificationStatus.FAILED
        case MessageOutcome.SENT | MessageOutcome.KEPT | MessageOutcome.SENDING:
            pass
    message, refund = ended.message, int(ended.outcome is MessageOutcome.CHANNEL)
    return _MessageResult(
        message.id, message.lease, message.channel, ended.outcome, ended.response, ended.ended_on, status, next, refund
    )


async def _note_health(db: Db, channel: Channel, ended: Sequence[EndedMessage], now: datetime) -> datetime | None:
    """Record whether the channel works.

    Return when to retry the messages that failed because of the channel, or None if there are none.
    """
    own = [each for each in ended if each.message.channel is channel]
    faults = [each for each in own if each.outcome is MessageOutcome.CHANNEL]
    if len(faults) < len(own):
        await mark_working(db, channel)
        # The channel worked for other messages, so it is not paused; only these messages wait.
        return now + PAUSES[0] if faults else None
    # Set the author and the time of this transaction: the trigger that notifies administrators reads this time.
    await sign(db, by_system("note_failing_channel", now))
    return await mark_failing(db, channel, faults[-1].response, now)


async def next_due(db: Db, now: datetime) -> datetime | None:
    """Return when the next message becomes due, a lease expires or a channel is tried again; None if nothing waits."""
    found: datetime | None = await fetch_value(
        db,
        """SELECT least(
               (SELECT min(next_attempt_on) FROM notifications WHERE status = 'Pending' AND next_attempt_on > %(now)s),
               (SELECT min(paused_until) FROM notification_channels WHERE paused_until > %(now)s))""",
        now=now,
    )
    return found
