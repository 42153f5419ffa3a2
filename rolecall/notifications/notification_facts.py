"""Read the facts of notifications: names instead of ids, and whether a notification still concerns its recipient.

The text of a message is written from these facts when it is sent, so that it is up to date. The number of queries does
not depend on the number of notifications.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from psycopg import InterfaceError, OperationalError

from rolecall.access_requests.model import AWAITED
from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core import clock
from rolecall.core.db import Db, fetch_rows
from rolecall.core.text import counted, some_of
from rolecall.notifications.conflict_facts import of_conflicts, of_ended_conflicts, of_exceptions
from rolecall.notifications.model import (
    ASKED_TO,
    EscalateTo,
    FactContext,
    NotificationFacts,
    NotificationKind,
    Reminders,
    counted_after,
)
from rolecall.notifications.review_facts import of_reviews, of_templates
from rolecall.notifications.stand_in_facts import of_leaves, of_stand_ins
from rolecall.settings.policy import RequirementType

__all__ = ["ASKED_TO", "FactContext", "NotificationFacts", "facts_of", "facts_or_faults"]

_DECISIONS = {
    "AccessRequestApproved": "approved",
    "AccessRequestCanceled": "canceled",
    "AccessRequestCompleted": "completed",
}


async def facts_of(db: Db, ids: Sequence[UUID], context: FactContext) -> dict[UUID, NotificationFacts]:
    """Return the facts of each notification. Run only the queries for the kinds of item that occur."""
    kinds = await fetch_rows(db, "SELECT DISTINCT item_kind FROM notifications WHERE id = ANY(%(ids)s)", ids=list(ids))
    found: dict[UUID, NotificationFacts] = {}
    for (kind,) in kinds:
        for read in _READERS[kind]:
            found |= await read(db, ids, context)
    return found


async def facts_or_faults(
    db: Db, ids: Sequence[UUID], context: FactContext
) -> tuple[dict[UUID, NotificationFacts], dict[UUID, Exception]]:
    """Return the facts of each notification, and the errors of those that cannot be read.

    After an error each notification is read separately, so that one with an unexpected value does not block the others.
    If the database is down, raise the error.
    """
    try:
        # Use a savepoint, because an error in SQL would otherwise abort the transaction of the calling code.
        async with db.transaction():
            return await facts_of(db, ids, context), {}
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        if len(ids) == 1:
            return {}, {ids[0]: error}
    found: dict[UUID, NotificationFacts] = {}
    faults: dict[UUID, Exception] = {}
    for id in ids:
        read, failed = await facts_or_faults(db, [id], context)
        found |= read
        faults |= failed
    return found, faults


_MET = """EXISTS (SELECT FROM responses met WHERE met.request_id = p.request_id AND met.type = p.type
                                          AND met.rule = p.rule AND met.response = 'Approved')"""
# If the recipient can give several responses, choose one that is still awaited if possible, and a response in person
# before one as a stand-in.
_REQUESTS = f"""
    SELECT n.id, n.kind, n.part, r.id AS request_id, r.action, r.status_since, r.reporter_name, a.name AS application,
           coalesce(i.first_name || ' ' || i.last_name, r.target_name) AS person,
           coalesce(held.names, '{{}}') AS names, coalesce(held.count, 0)::int AS count,
           asked.reason, asked.represented, coalesce(asked.waits, false) AS waits,
           r.assignee_id = n.identity_id AND r.status NOT IN ('Completed', 'Canceled') AS is_assigned,
           EXISTS (SELECT FROM responses p WHERE p.request_id = r.id AND p.response = 'Rejected'
                                             AND p.type = 'Approve') AS is_rejected,
           (SELECT e.caller_name FROM access_request_events e
            WHERE e.request_id = r.id AND e.name = n.part ORDER BY e.number DESC LIMIT 1) AS decided_by
    FROM notifications n
    JOIN access_requests r ON r.id = n.item_id
    JOIN applications a ON a.id = r.application_id
    LEFT JOIN identities i ON i.id = r.identity_id
    LEFT JOIN LATERAL (
        SELECT count(*) AS count, (array_agg(coalesce(nullif(permission, ''), section) ORDER BY position))[:2] AS names
        FROM privileges WHERE request_id = r.id) AS held ON true
    LEFT JOIN LATERAL (
        SELECT p.reason, CASE WHEN s.id IS NOT NULL THEN p.reviewer_name END AS represented,
               p.response = 'Pending' AND NOT {_MET} AND each.status IS NOT NULL
               AND n.identity_id <> ALL (excluded_from(r, p.type)) AS waits
        FROM responses p
        LEFT JOIN unnest(%(types)s::text[], %(statuses)s::text[]) AS each (type, status)
               ON each.type = p.type AND each.status = r.status
        LEFT JOIN eligible_stand_ins(
            p.reviewer_id, p.type, written_on(), excluded_stand_ins(r, p.type, p.reviewer_id)) AS s (id)
               ON s.id = n.identity_id
        WHERE p.request_id = r.id AND p.type = n.part AND p.asked
          AND (p.reviewer_id = n.identity_id OR s.id IS NOT NULL OR p.reviewer_id = %(administrators)s AND EXISTS (
                   SELECT FROM console_roles c WHERE c.identity_id = n.identity_id AND c.role = 'Administrator'))
        ORDER BY waits DESC, s.id NULLS FIRST, p.rule LIMIT 1) AS asked ON true
    WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Access Request'"""


class _RequestRow(msgspec.Struct, frozen=True):
    id: UUID
    kind: str
    part: str
    request_id: UUID
    action: str
    status_since: datetime
    reporter_name: str
    application: str
    person: str
    names: list[str]
    count: int
    reason: str | None
    represented: str | None
    waits: bool
    is_assigned: bool | None
    is_rejected: bool
    decided_by: str | None

    @property
    def what(self) -> str:
        named = " and ".join(self.names) if self.count <= 2 else some_of(self.names, 1, self.count)
        access = f"{self.action} access in {self.application}"
        return f"{access}: {named}" if self.count else access


async def _of_requests(db: Db, ids: Sequence[UUID], context: FactContext) -> dict[UUID, NotificationFacts]:
    rows = await fetch_rows(
        db,
        _REQUESTS,
        ids=list(ids),
        types=list(AWAITED.keys()),
        statuses=list(AWAITED.values()),
        administrators=ADMINISTRATORS.id,
    )
    return {row.id: _request(row, context) for row in (_RequestRow(*values) for values in rows)}


def _request(row: _RequestRow, context: FactContext) -> NotificationFacts:
    common = NotificationFacts(
        person=row.person,
        what=row.what,
        by=row.reporter_name,
        application=row.application,
        link=f"/requests/{row.request_id}",
    )
    if row.kind == NotificationKind.ASSIGNED:
        why = "The request is assigned to you"
        return msgspec.structs.replace(common, why=why, is_current=bool(row.is_assigned))
    if row.kind == NotificationKind.DECIDED:
        result = "rejected" if row.is_rejected and row.part == "AccessRequestCanceled" else _DECISIONS[row.part]
        by = row.decided_by or ""
        return msgspec.structs.replace(common, result=result, by=by, why="You made the request")
    return msgspec.structs.replace(
        common,
        asked=ASKED_TO[RequirementType(row.part)],
        why=_why(row),
        is_current=row.waits,
        due=_due(row.status_since, context),
        silence=_silence(context.reminders),
    )


def _why(row: _RequestRow) -> str:
    reason = row.reason or "You are asked to respond"
    return f"You stand in for {row.represented}. {reason}" if row.represented else reason


def _due(since: datetime, context: FactContext) -> str:
    days = context.reminders.escalate_after_days or context.reminders.remind_after_days
    if not days:
        return ""
    due = counted_after(since, days, context.reminders, context.zone).astimezone(context.zone)
    return f"{due:%A}, {due.day} {due:%B %Y}"


def _silence(reminders: Reminders) -> str:
    if not reminders.escalate_after_days:
        return "The request waits until someone responds"
    to = "your supervisor" if reminders.escalate_to is EscalateTo.SUPERVISOR else "the administrators"
    days = reminders.in_words(reminders.escalate_after_days)
    return f"After {days}, {to} can respond too; until someone does, nothing changes"


_EVENTS = {
    "Onboard": "Onboarding",
    "Offboard": "Offboarding",
    "Role Transition": "Change of role",
    "Absence": "Leave of absence",
}


_OWN = "The event is about you"


async def _of_events(db: Db, ids: Sequence[UUID], context: FactContext) -> dict[UUID, NotificationFacts]:
    rows = await fetch_rows(
        db,
        """SELECT n.id, n.kind, n.part, e.id, e.type, e.needed_on, e.needed_until, e.reporter_name,
                  i.first_name || ' ' || i.last_name,
                  e.assignee_id IS NOT DISTINCT FROM n.identity_id AND e.status NOT IN ('Completed', 'Canceled'),
                  i.supervisor_id IS NOT DISTINCT FROM n.identity_id, i.id = n.identity_id
           FROM notifications n JOIN personnel_events e ON e.id = n.item_id JOIN identities i ON i.id = e.identity_id
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Personnel Event' AND n.kind <> 'Stand-In'""",
        ids=list(ids),
    )
    found = {}
    for (
        id,
        kind,
        part,
        event_id,
        type,
        needed_on,
        needed_until,
        reporter,
        person,
        is_assigned,
        is_supervisor,
        is_own,
    ) in rows:
        is_assignment = kind == NotificationKind.ASSIGNED
        day = clock.local(needed_on, context.zone)
        found[id] = NotificationFacts(
            person=person,
            what=f"{_EVENTS[type]} on {day.day} {day:%B %Y}",
            by=reporter,
            result=_changed(part, needed_until, context),
            why="The event is assigned to you" if is_assignment else _OWN if is_own else f"You supervise {person}",
            link=f"/events/{event_id}",
            is_current=is_assigned if is_assignment else is_supervisor or is_own,
        )
    return found


def _changed(part: str, needed_until: datetime | None, context: FactContext) -> str:
    if part == "Return Date" and needed_until:
        day = clock.local(needed_until, context.zone)
        return f"changed to end on {day.day} {day:%B %Y}"
    return "canceled" if part == "Canceled" else "planned"


async def _of_imports(db: Db, ids: Sequence[UUID], _: FactContext) -> dict[UUID, NotificationFacts]:
    rows = await fetch_rows(
        db,
        """SELECT n.id, n.kind, r.id, r.number, a.name, coalesce(u.held, r.failure, ''), a.owner_id = n.identity_id,
                  u.held IS NOT NULL AND r.status = 'Running' AS is_held,
                  r.status = 'Failed' AND NOT EXISTS (
                      SELECT FROM application_imports later
                      WHERE later.application_id = r.application_id AND later.number > r.number
                        AND later.status = 'Finished') AS is_failed
           FROM notifications n JOIN application_imports r ON r.id = n.item_id
           JOIN applications a ON a.id = r.application_id LEFT JOIN import_runs u ON u.import_id = r.id
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Import'""",
        ids=list(ids),
    )
    return {
        id: NotificationFacts(
            what=f"Import {number} of {application}",
            application=application,
            result=reason,
            why=f"You own {application}"
            if is_owner
            else f"You are an administrator and {application} has no active owner",
            silence="The import stays held"
            if kind == NotificationKind.IMPORT_HELD
            else "The data stays as it was before this import",
            link=f"/imports/{import_id}",
            is_current=is_held if kind == NotificationKind.IMPORT_HELD else is_failed,
        )
        for id, kind, import_id, number, application, reason, is_owner, is_held, is_failed in rows
    }


async def _of_webhooks(db: Db, ids: Sequence[UUID], _: FactContext) -> dict[UUID, NotificationFacts]:
    rows = await fetch_rows(
        db,
        """SELECT n.id, h.id, h.name, h.enabled, h.failures,
                  h.deleted_on IS NULL AND (h.failing_since IS NOT NULL OR h.disabled_reason IS NOT NULL)
           FROM notifications n JOIN webhooks h ON h.id = n.item_id
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Webhook'""",
        ids=list(ids),
    )
    return {
        id: NotificationFacts(
            what=f"Webhook {name}",
            result=f"{failures} attempts in a row failed" if enabled else "disabled after too many failures",
            why="You are an administrator",
            silence="If no attempt succeeds for 5 days, the webhook is disabled" if enabled else "It stays disabled",
            link=f"/webhooks/{webhook_id}",
            is_current=is_failing,
        )
        for id, webhook_id, name, enabled, failures, is_failing in rows
    }


async def _of_channels(db: Db, ids: Sequence[UUID], _: FactContext) -> dict[UUID, NotificationFacts]:
    rows = await fetch_rows(
        db,
        """SELECT n.id, n.part, c.last_error, c.failing_since IS NOT NULL
           FROM notifications n LEFT JOIN notification_channels c ON c.channel = n.part
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Channel'""",
        ids=list(ids),
    )
    return {
        id: NotificationFacts(
            what=f"{channel} notifications",
            result=error or "",
            why="You are an administrator",
            silence="Messages wait until the channel works again",
            link="/settings/outbox",
            is_current=bool(is_failing),
        )
        for id, channel, error, is_failing in rows
    }


async def _of_reports(db: Db, ids: Sequence[UUID], _: FactContext) -> dict[UUID, NotificationFacts]:
    rows = await fetch_rows(
        db,
        """SELECT n.id, r.id, r.name, r.deleted_on IS NULL, e.status, e.row_count, coalesce(e.reason, ''),
                  n.identity_id = ANY(r.recipient_ids)
           FROM notifications n JOIN reports r ON r.id = n.item_id JOIN exports e ON e.id = n.part::uuid
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Report'""",
        ids=list(ids),
    )
    return {
        id: NotificationFacts(
            what=f"Report {name}",
            result=f"failed: {reason}" if status == "Failed" else f"was written with {counted(row_count, 'row')}",
            why="You receive the report" if is_recipient else "You own the report or are an administrator",
            link=f"/reports/{report_id}",
            is_current=is_current,
        )
        for id, report_id, name, is_current, status, row_count, reason, is_recipient in rows
    }


async def _of_owned_entitlements(db: Db, ids: Sequence[UUID], _: FactContext) -> dict[UUID, NotificationFacts]:
    """Describe a person who left but still owns entitlements. `part` is their id; the item is the application."""
    rows = await fetch_rows(
        db,
        """SELECT n.id, a.id, a.name, i.first_name || ' ' || i.last_name, i.status <> 'Active',
                  a.owner_id = n.identity_id, coalesce(o.role, 'Provisioner') <> 'Provisioner',
                  (SELECT count(*)::int FROM curations c JOIN entitlements e ON e.id = c.entitlement_id
                   WHERE c.owner_id = i.id AND e.application_id = a.id)
           FROM notifications n JOIN applications a ON a.id = n.item_id JOIN identities i ON i.id = n.part::uuid
           LEFT JOIN console_roles o ON o.identity_id = n.identity_id
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Application'""",
        ids=list(ids),
    )
    return {
        id: NotificationFacts(
            person=person,
            what=f"{count} {'entitlement' if count == 1 else 'entitlements'} of {application}",
            application=application,
            why=f"You own {application}"
            if is_owner
            else f"You are an administrator and {application} has no active owner",
            silence="You act as the owner until another owner is chosen",
            link=f"/access?applicationId={application_id}" if sees_all else f"/applications/{application_id}",
            is_current=has_left and count > 0,
        )
        for id, application_id, application, person, has_left, is_owner, sees_all, count in rows
    }


# The functions that read the facts of each kind of item.
_READERS = {
    "Access Request": (_of_requests,),
    "Personnel Event": (_of_events, of_leaves),
    "Import": (_of_imports,),
    "Webhook": (_of_webhooks,),
    "Channel": (_of_channels,),
    "Duty Rule": (of_conflicts, of_ended_conflicts),
    "Exception": (of_exceptions,),
    "Review": (of_reviews,),
    "Review Template": (of_templates,),
    "Stand-In": (of_stand_ins,),
    "Report": (_of_reports,),
    "Application": (_of_owned_entitlements,),
}
