"""Remind people who did not respond, escalate requests to more reviewers, and announce leaves and ending exceptions.

Each reminder and each escalation becomes an activity entry.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from rolecall.access_requests.escalation import HAS_UNANSWERABLE_RULE, FurtherReviewer, add_reviewers
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.notifications import queries
from rolecall.notifications.model import (
    EXCEPTION_ENDS_WITHIN,
    EscalateTo,
    NotificationKind,
    Reminders,
    counted_after,
    counted_before,
)
from rolecall.reviews.events import DUE, record_notice, to_remind
from rolecall.work_items.actions import record_activity_of

_BATCH = 200
# SQL that selects requests with a reviewer who is on leave, has left, cannot sign in, is an Auditor, or must not
# decide.
_UNABLE = """
    SELECT p.request_id FROM absences a JOIN responses p ON p.reviewer_id = a.identity_id
    WHERE a.starts_on <= %(now)s AND (a.ends_on IS NULL OR a.ends_on > %(now)s)
    AND p.response = 'Pending' AND p.asked
    UNION ALL
    SELECT p.request_id FROM waiting_requests w JOIN responses p USING (request_id)
    JOIN identities i ON i.id = p.reviewer_id
    WHERE p.response = 'Pending' AND p.asked AND (
        i.status <> 'Active'
        OR i.type = ANY(types_without_sign_in())
           AND NOT EXISTS (SELECT FROM console_roles c WHERE c.identity_id = i.id))
    UNION ALL
    SELECT p.request_id FROM console_roles c JOIN responses p ON p.reviewer_id = c.identity_id
    WHERE c.role = 'Auditor' AND p.response = 'Pending' AND p.asked
    UNION ALL
    SELECT p.request_id FROM waiting_requests w JOIN request_conflict_people c USING (request_id)
    JOIN responses p ON p.request_id = c.request_id AND p.reviewer_id = c.identity_id
    WHERE p.response = 'Pending' AND p.asked
    UNION ALL
    SELECT p.request_id FROM waiting_requests w JOIN access_requests a ON a.id = w.request_id
    JOIN responses p ON p.request_id = a.id AND p.type = 'Approve' AND p.response = 'Pending' AND p.asked
    WHERE a.identity_id IS NULL AND p.reviewer_id = ANY(barred_members(a))
    UNION ALL
    SELECT p.request_id FROM waiting_requests w JOIN responses o USING (request_id)
    JOIN responses p ON p.request_id = o.request_id AND p.type = o.type AND p.reviewer_id = o.stand_in_id
    WHERE p.response = 'Pending' AND p.asked
    UNION ALL
    SELECT p.request_id FROM waiting_requests w JOIN access_requests a ON a.id = w.request_id
    JOIN tokens t ON t.id = a.reporter_id
    JOIN responses p ON p.request_id = a.id AND p.reviewer_id = t.owner_id
    WHERE p.response = 'Pending' AND p.asked"""


async def remind_and_escalate(db: Db, zone: ZoneInfo, now: datetime) -> bool:
    """Send due reminders and notices, and escalate requests; return whether more requests may be due.

    One call handles at most a batch of requests for each step.
    """
    reminders = (await queries.policy(db)).reminders
    await execute(db, "SELECT notify_of_ending_exceptions(%(moment)s)", moment=now + EXCEPTION_ENDS_WITHIN)
    await execute(db, "SELECT notify_of_leaves(%(now)s)", now=now)
    await _remind_of_reviews(db, reminders, zone, now)
    await _remind_of_exceptions(db, reminders, zone, now)
    reminded = await _remind(db, reminders, zone, now)
    absent = await _escalate_absent(db, now)
    return await _escalate(db, reminders, zone, now) or reminded or absent


async def _remind(db: Db, reminders: Reminders, zone: ZoneInfo, now: datetime) -> bool:
    days = reminders.remind_after_days
    ids = await _silent(db, NotificationKind.DUE, days, reminders, zone, now)
    reminded = await _notify_again(db, ids)
    text = f"Reminded after {reminders.in_words(days)} without a response:"
    contents = {id: f"{text} {', '.join(names)}" for id, names in reminded.items()}
    await _record(db, "Reminded", contents, now)
    return len(ids) == _BATCH


async def _remind_of_reviews(db: Db, reminders: Reminders, zone: ZoneInfo, now: datetime) -> None:
    """Remind reviewers of reviews that are overdue or due within `remind_after_days`; repeat after that many days."""
    days = reminders.remind_after_days
    if not days:
        return
    soon, since = counted_after(now, days, reminders, zone), counted_before(now, days, reminders, zone)
    ids = await to_remind(db, due_by=soon, silent_since=since)
    for id in ids:
        await record_notice(db, DUE, id, now)
    await _record(db, "Reminded", dict.fromkeys(ids, "The reviewers who have items left were reminded"), now)


async def _remind_of_exceptions(db: Db, reminders: Reminders, zone: ZoneInfo, now: datetime) -> None:
    """After `remind_after_days`, remind the people who can approve a pending exception; repeat after that many days."""
    days = reminders.remind_after_days
    if not days:
        return
    rows = await fetch_rows(
        db,
        """SELECT e.id, e.conflict_id FROM conflict_exceptions e
           WHERE e.status = 'Pending' AND e.created_at <= %(since)s
             AND NOT EXISTS (SELECT FROM exception_approvals p
                             WHERE p.exception_id = e.id AND p.approved_on > %(since)s)
             AND NOT EXISTS (SELECT FROM activity a WHERE a.item_id = e.conflict_id AND a.action = 'Reminded'
                                                      AND a.created_date > %(since)s)
           ORDER BY e.number FOR UPDATE SKIP LOCKED""",
        since=counted_before(now, days, reminders, zone),
    )
    for id, _ in rows:
        await execute(db, "SELECT remind_approvers(%(id)s)", id=id)
    said = "The people who can approve the exception were reminded"
    await _record(db, "Reminded", {conflict_id: said for _, conflict_id in rows}, now)


async def _escalate(db: Db, reminders: Reminders, zone: ZoneInfo, now: datetime) -> bool:
    days = reminders.escalate_after_days
    ids = await _silent(db, NotificationKind.ESCALATED, days, reminders, zone, now)
    asked = await add_reviewers(db, ids, supervisors=reminders.escalate_to is EscalateTo.SUPERVISOR)
    waited = f"No response in {reminders.in_words(days)}"
    await _notify_further(
        db, asked, dict.fromkeys(ids, f"{waited}, and there is no other reviewer to ask"), waited, now
    )
    return len(ids) == _BATCH


async def _escalate_absent(db: Db, now: datetime) -> bool:
    """Escalate a batch of requests with a rule to which no reviewer can respond; return whether more may be due."""
    ids = await _without_reviewers(db, now)
    asked = await add_reviewers(db, ids, supervisors=True, absent_on=now)
    said = "The reviewers have left, cannot sign in, must not decide, or are on leave and have no stand-in"
    await _notify_further(db, asked, {}, said, now)
    return len(ids) == _BATCH


async def _notify_further(
    db: Db, asked: Sequence[FurtherReviewer], contents: dict[UUID, str], why: str, now: datetime
) -> None:
    """Record why the added reviewers can respond, and notify them."""
    for id in {each.request_id for each in asked}:
        names = dict.fromkeys(each.name for each in asked if each.request_id == id)
        contents[id] = f"{why}, so {', '.join(names)} can respond too"
    for each in asked:
        await execute(
            db,
            "SELECT notify_further_reviewer(%(request)s, %(type)s, %(id)s)",
            request=each.request_id,
            type=each.type,
            id=each.id,
        )
    await _record(db, "Escalated", contents, now)


async def _without_reviewers(db: Db, now: datetime) -> list[UUID]:
    """Lock and return a batch of requests that have a rule for which no reviewer or stand-in can respond."""
    rows = await fetch_rows(
        db,
        f"""SELECT r.id FROM access_requests r
            WHERE r.id IN ({_UNABLE}) AND r.status = ANY(awaited_statuses()) AND {HAS_UNANSWERABLE_RULE}
            ORDER BY r.number LIMIT {_BATCH} FOR UPDATE OF r SKIP LOCKED""",
        now=now,
    )
    return [id for (id,) in rows]


async def _silent(
    db: Db, step: NotificationKind, days: int, reminders: Reminders, zone: ZoneInfo, now: datetime
) -> list[UUID]:
    """Lock and return a batch of requests that have waited this many days, and record that this step was taken.

    Leave out requests for which the step is recorded already.
    Return an empty list if `days` is 0.
    """
    if not days:
        return []
    rows = await fetch_rows(
        db,
        f"""WITH silent AS (
                SELECT r.id, r.status_since FROM waiting_requests w JOIN access_requests r ON r.id = w.request_id
                WHERE w.list_key >= '' AND w.list_key < time_key(%(until)s, 0) AND NOT EXISTS (
                    SELECT FROM notification_steps s
                    WHERE s.request_id = r.id AND s.since = r.status_since AND s.step = %(step)s)
                ORDER BY w.list_key LIMIT {_BATCH} FOR UPDATE OF r SKIP LOCKED)
            INSERT INTO notification_steps (request_id, since, step)
            SELECT id, status_since, %(step)s FROM silent ON CONFLICT DO NOTHING RETURNING request_id""",
        until=counted_before(now, days, reminders, zone),
        step=step,
    )
    return [id for (id,) in rows]


async def _notify_again(db: Db, ids: Sequence[UUID]) -> dict[UUID, list[str]]:
    """Notify the people who can give the pending responses; return their names by request."""
    if not ids:
        return {}
    await execute(db, "SELECT notify_reviewers(%(ids)s, %(kind)s)", ids=list(ids), kind=NotificationKind.DUE)
    rows = await fetch_rows(
        db,
        # The time of this transaction identifies the notifications that were just inserted.
        """SELECT n.item_id, array_agg(DISTINCT i.first_name || ' ' || i.last_name)
           FROM notifications n JOIN identities i ON i.id = n.identity_id
           WHERE n.item_id = ANY(%(ids)s) AND n.kind = %(kind)s AND n.created_date = written_on() GROUP BY n.item_id""",
        ids=list(ids),
        kind=NotificationKind.DUE,
    )
    return dict(rows)


async def _record(db: Db, action: str, contents: Mapping[UUID, str], now: datetime) -> None:
    if contents:
        await record_activity_of(db, list(contents), author=SYSTEM.name, action=action, content=contents, now=now)
