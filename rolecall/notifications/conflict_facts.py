"""Read the facts of notifications about conflicts and their exceptions."""

from collections.abc import Sequence
from uuid import UUID

from rolecall.core.db import Db, fetch_rows
from rolecall.notifications.model import FactContext, NotificationFacts


async def of_conflicts(db: Db, ids: Sequence[UUID], _: FactContext) -> dict[UUID, NotificationFacts]:
    """Describe the open conflicts of each rule; the list of conflicts is open only to roles that see everyone."""
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
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Duty Rule' GROUP BY n.id, r.id, o.role""",
        ids=list(ids),
    )
    found = {}
    for id, rule_id, rule, count, newest, conflict_id, sees_all, is_owner in rows:
        others = f" and {count - 1} more" if count > 1 else ""
        found[id] = NotificationFacts(
            person=f"{newest}{others}" if newest else "",
            what=rule,
            result=f"{count} open conflict{'' if count == 1 else 's'}",
            why="You own the rule" if is_owner else "You are an administrator and the rule has no active owner",
            silence="The conflicts stay open",
            link=f"/conflicts?ruleId={rule_id}" if sees_all and count != 1 else f"/conflicts/{conflict_id}",
            is_current=count > 0,
        )
    return found


_EXCEPTION_RESULTS = {
    "Pending": "waits for your approval",
    "Expired": "has expired, and the conflict is open again",
    "Outgrown": "has ended, because the conflict grew beyond it, and the conflict is open again",
    "Ending": "ends on {}; renew it or have the access removed",
}


async def of_exceptions(db: Db, ids: Sequence[UUID], context: FactContext) -> dict[UUID, NotificationFacts]:
    rows = await fetch_rows(
        db,
        """SELECT n.id, n.part, e.conflict_id, i.first_name || ' ' || i.last_name, r.name, e.until,
                  e.status = CASE n.part WHEN 'Ending' THEN 'Approved' ELSE n.part END
                  AND (n.part NOT IN ('Expired', 'Outgrown') OR EXISTS (
                      SELECT FROM conflicts c WHERE c.rule_id = e.rule_id AND c.identity_id = e.identity_id
                      AND c.status = 'Open')),
                  e.control_owner_id = n.identity_id, e.requester_id = n.identity_id, o.first_name || ' ' || o.last_name
           FROM notifications n JOIN conflict_exceptions e ON e.id = n.item_id JOIN duty_rules r ON r.id = e.rule_id
           JOIN identities i ON i.id = e.identity_id
           LEFT JOIN stand_ins_for((r.definition ->> 'ownerId')::uuid, 'Approve', written_on()) AS s (id)
                  ON s.id = n.identity_id
           LEFT JOIN identities o ON o.id = (r.definition ->> 'ownerId')::uuid AND s.id IS NOT NULL
           WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Exception'""",
        ids=list(ids),
    )
    found = {}
    for id, part, conflict_id, person, rule, until, is_current, owns_control, has_requested, represented in rows:
        day = until.astimezone(context.zone)
        found[id] = NotificationFacts(
            person=person,
            what=f"the exception of {rule}",
            result=_EXCEPTION_RESULTS[part].format(f"{day.day} {day:%B %Y}"),
            why=_why(represented, owns_control=owns_control, has_requested=has_requested),
            silence="The conflict is open again then" if part == "Ending" else "The conflict stays open",
            link=f"/conflicts/{conflict_id}",
            is_current=is_current,
        )
    return found


def _why(represented: str | None, *, owns_control: bool, has_requested: bool) -> str:
    if represented:
        return f"You stand in for {represented}, who owns the rule"
    if owns_control:
        return "You own its control"
    return "You requested it" if has_requested else "You own the rule or are an administrator"
