"""Read the facts of notifications about conflicts and their exceptions."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core import clock
from rolecall.core.db import Db, fetch_all, fetch_rows
from rolecall.core.text import some_of
from rolecall.notifications.model import FactContext, NotificationFacts


async def of_conflicts(db: Db, ids: Sequence[UUID], _: FactContext) -> dict[UUID, NotificationFacts]:
    """Describe the open conflicts of each notification's rule.

    Link to the newest conflict if there is only one, or if the recipient cannot see everyone. Otherwise link to the
    list of conflicts.
    """
    # A person without a role sees only their own records, as a Provisioner does.
    rows = await fetch_rows(
        db,
        """SELECT n.id, r.id, r.name, count(c.id)::int,
                  (array_agg(i.first_name || ' ' || i.last_name ORDER BY c.list_key DESC))[1],
                  (array_agg(c.id ORDER BY c.list_key DESC))[1],
                  coalesce(o.role, 'Provisioner') <> 'Provisioner',
                  coalesce((r.definition ->> 'ownerId')::uuid = n.identity_id, false)
           FROM notifications n JOIN duty_rules r ON r.id = n.item_id
           LEFT JOIN console_roles o ON o.identity_id = n.identity_id
           LEFT JOIN conflicts c ON c.rule_id = r.id AND c.status = 'Open'
           LEFT JOIN identities i ON i.id = c.identity_id
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Duty Rule'
             AND n.kind = 'Conflict Opened' GROUP BY n.id, r.id, o.role""",
        ids=list(ids),
    )
    found = {}
    for id, rule_id, rule, count, newest, conflict_id, sees_all, is_owner in rows:
        found[id] = NotificationFacts(
            person=some_of([newest], 1, count) if newest else "",
            what=f"Rule {rule}",
            result=f"{count} open conflict{'' if count == 1 else 's'}",
            why="You own the rule" if is_owner else "You are an administrator and the rule has no active owner",
            silence="The conflicts stay open",
            link=f"/conflicts?ruleId={rule_id}" if sees_all and count != 1 else f"/conflicts/{conflict_id}",
            is_current=count > 0,
        )
    return found


async def of_ended_conflicts(db: Db, ids: Sequence[UUID], _: FactContext) -> dict[UUID, NotificationFacts]:
    """Describe conflicts that ended without an import, for example because their rule or a duty was changed.

    Link to the conflict that ended closest in time to the notification.
    """
    rows = await fetch_rows(
        db,
        """SELECT n.id, r.name, n.part, c.id, c.author,
                  coalesce((r.definition ->> 'ownerId')::uuid = n.identity_id, false)
           FROM notifications n JOIN duty_rules r ON r.id = n.item_id
           CROSS JOIN LATERAL (
               SELECT c.id, a.author FROM conflicts c JOIN activity a ON a.item_id = c.id AND a.action = 'Ended'
               WHERE c.rule_id = r.id
               ORDER BY abs(extract(epoch FROM a.created_date - n.created_date)), a.number LIMIT 1) AS c
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Duty Rule' AND n.kind = 'Conflict Ended'""",
        ids=list(ids),
    )
    return {
        id: NotificationFacts(
            what=f"Rule {rule}",
            by=author,
            result=f"{count} conflict{'' if count == '1' else 's'} ended by a change",
            why="You own the rule" if is_owner else "You act in place of the owner of the rule",
            silence="The conflicts stay ended",
            link=f"/conflicts/{conflict_id}",
        )
        for id, rule, count, conflict_id, author, is_owner in rows
    }


_EXCEPTION_RESULTS = {
    "Pending": "is waiting for your approval",
    "Approved": "was approved until {}",
    "Withdrawn": "was rejected",
    "Expired": "has expired, and the conflict is open again",
    "Outgrown": "has ended, because it no longer covers the conflict; the conflict is open again",
    "Ending": "ends on {}; renew it or have the access removed",
    "Control": "has no active owner of its control; request the exception again with another control owner",
}
_EXCEPTION_SILENCE = {
    "Ending": "The conflict is then open again",
    "Approved": "",
    "Control": "The exception does not change, but possibly nobody carries out its control any longer",
    "Withdrawn": "",
}
_STAYS_OPEN = "The conflict stays open"
# SQL for the owners who approve an exception `e` of rule `r`, with what each owns: the rule, or an application in which
# the person in conflict has a duty of the rule.
_OWNED = """
    SELECT o.id, o.what FROM (
        SELECT (r.definition ->> 'ownerId')::uuid AS id, 'the rule' AS what
        UNION ALL
        SELECT i.owner_id, i.name FROM duty_access(
            ARRAY(SELECT d.duty_id FROM duty_rule_duties d WHERE d.rule_id = e.rule_id AND NOT d.is_control),
            ARRAY[e.identity_id], NULL) AS h
        JOIN accounts c ON c.number = h.account JOIN applications i ON i.id = c.application_id) AS o"""


class _ExceptionRow(msgspec.Struct, frozen=True):
    id: UUID
    part: str
    conflict_id: UUID
    person: str
    rule: str
    until: datetime
    is_current: bool
    owns_control: bool
    has_requested: bool
    requested_by: str
    owned: str | None
    represented: str | None
    represented_owns: str | None


async def of_exceptions(db: Db, ids: Sequence[UUID], context: FactContext) -> dict[UUID, NotificationFacts]:
    rows = await fetch_all(
        db,
        _ExceptionRow,
        f"""SELECT n.id, n.part, e.conflict_id, i.first_name || ' ' || i.last_name AS person, r.name AS rule, e.until,
                   CASE n.part WHEN 'Pending' THEN n.identity_id IN (SELECT people_who_approve(e.id))
                               WHEN 'Ending' THEN e.status = 'Approved'
                               WHEN 'Control' THEN e.status IN ('Pending', 'Approved') AND NOT EXISTS (
                                   SELECT FROM identities c WHERE c.id = e.control_owner_id AND c.status = 'Active')
                               ELSE e.status = n.part END
                   AND (n.part NOT IN ('Expired', 'Outgrown') OR EXISTS (
                       SELECT FROM conflicts c WHERE c.rule_id = e.rule_id AND c.identity_id = e.identity_id
                       AND c.status = 'Open')) AS is_current,
                   e.control_owner_id = n.identity_id AS owns_control, e.requester_id = n.identity_id AS has_requested,
                   e.requested_by_name AS requested_by, own.what AS owned, other.name AS represented,
                   other.what AS represented_owns
            FROM notifications n JOIN conflict_exceptions e ON e.id = n.item_id JOIN duty_rules r ON r.id = e.rule_id
            JOIN identities i ON i.id = e.identity_id
            LEFT JOIN LATERAL (SELECT o.what FROM ({_OWNED}) AS o WHERE o.id = n.identity_id LIMIT 1) AS own ON true
            LEFT JOIN LATERAL (
                SELECT o.what, p.first_name || ' ' || p.last_name AS name FROM ({_OWNED}) AS o
                JOIN identities p ON p.id = o.id
                WHERE n.identity_id IN (SELECT stand_ins_for(o.id, 'Approve', written_on())) LIMIT 1) AS other ON true
            WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Exception'""",
        ids=list(ids),
    )
    return {row.id: _exception(row, context) for row in rows}


def _exception(row: _ExceptionRow, context: FactContext) -> NotificationFacts:
    day = clock.local(row.until, context.zone)
    return NotificationFacts(
        person=row.person,
        what=f"Exception to {row.rule}",
        by=row.requested_by if row.part == "Pending" else "",
        result=_EXCEPTION_RESULTS[row.part].format(f"{day.day} {day:%B %Y}"),
        why=_why(row),
        silence=_EXCEPTION_SILENCE.get(row.part, _STAYS_OPEN),
        link=f"/conflicts/{row.conflict_id}",
        is_current=row.is_current,
    )


def _why(row: _ExceptionRow) -> str:
    """Return why the recipient is notified of the exception."""
    reasons = {
        "You requested it": row.has_requested,
        f"You own {row.owned}": row.owned,
        "You own the compensating control": row.owns_control,
        f"You stand in for {row.represented}, who owns {row.represented_owns}": row.represented,
    }
    return next((reason for reason, holds in reasons.items() if holds), "You are an administrator")
