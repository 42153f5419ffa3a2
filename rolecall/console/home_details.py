"""Query what explains the rows of a person's home page: deadlines, who is waited for, and what a move changes."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from rolecall.access_requests import queries as requests
from rolecall.access_requests.model import AWAITED, Response
from rolecall.access_requests.shapes import AccessRequestDetail, AccessRequestItem
from rolecall.core.db import Db, fetch_rows
from rolecall.effective_access.shapes import ApplicationAccess
from rolecall.notifications import queries as notifications
from rolecall.notifications.model import EscalateTo, counted_after
from rolecall.settings.policy import RequirementType

_TO = {
    RequirementType.APPROVE: "to approve it",
    RequirementType.RESOLVE: "to provision it",
    RequirementType.VERIFY: "to verify it",
}


class ResponseDeadline(msgspec.Struct, frozen=True):
    """Until when a response is expected, and what happens then."""

    on: datetime
    then: str


async def deadlines(db: Db, ids: Sequence[UUID], zone: ZoneInfo) -> dict[UUID, ResponseDeadline]:
    """Return the deadline of each request; none if reminders and escalation are turned off."""
    reminders = (await notifications.policy(db)).reminders
    days = reminders.escalate_after_days or reminders.remind_after_days
    if not days:
        return {}
    to = "your supervisor" if reminders.escalate_to is EscalateTo.SUPERVISOR else "the administrators"
    then = f"then {to} can respond too" if reminders.escalate_after_days else "then you are reminded"
    rows = await fetch_rows(db, "SELECT id, status_since FROM access_requests WHERE id = ANY(%(ids)s)", ids=list(ids))
    return {id: ResponseDeadline(counted_after(since, days, reminders, zone), then) for id, since in rows}


async def waits_of(db: Db, items: Sequence[AccessRequestItem]) -> dict[UUID, str]:
    """Say for whom each request waits."""
    found = {one.id: _waits(one) for one in await requests.details(db, [item.id for item in items])}
    return {id: said for id, said in found.items() if said}


def _waits(request: AccessRequestDetail) -> str:
    awaited = next((type for type, status in AWAITED.items() if status == request.status), None)
    names = dict.fromkeys(
        answer.reviewer.name
        for requirement in request.requirements
        if requirement.type == awaited
        for rule in requirement.rules
        if all(each.response != Response.APPROVED for each in rule.responses)
        for answer in rule.responses
    )
    return f"Waits for {', '.join(names)} {_TO[awaited]}" if awaited and names else ""


async def open_conflicts(db: Db, ids: Sequence[UUID]) -> dict[UUID, int]:
    """Count the open conflicts of each person."""
    rows = await fetch_rows(
        db,
        """SELECT identity_id, count(*) FROM conflicts WHERE identity_id = ANY(%(ids)s) AND status = 'Open'
           GROUP BY identity_id""",
        ids=list(ids),
    )
    return dict(rows)


class OwnMove(msgspec.Struct, frozen=True):
    """A coming change of role: what the person keeps, gets and loses, each as name and application."""

    id: UUID
    number: int
    needed_on: datetime
    department: str
    keeps: list[tuple[str, str]]
    gets: list[tuple[str, str]]
    loses: list[tuple[str, str]]


async def own_move(db: Db, person_id: UUID, held: Sequence[ApplicationAccess], now: datetime) -> OwnMove | None:
    """Return the person's next change of role with the access of its requests."""
    found = await fetch_rows(
        db,
        """SELECT e.id, e.number, e.needed_on, coalesce(e.changes ->> 'department', '') AS department
           FROM personnel_events e WHERE e.identity_id = %(id)s AND e.type = 'Role Transition'
             AND e.needed_on >= %(now)s AND e.status NOT IN ('Completed', 'Canceled')
           ORDER BY e.needed_on LIMIT 1""",
        id=person_id,
        now=now,
    )
    if not found:
        return None
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT r.action IN ('Remove', 'Suspend') OR p.requested_access IN ('None', 'Deny'),
                  coalesce(nullif(p.permission, ''), p.section), a.name
           FROM related_items l JOIN access_requests r ON r.id = l.request_id AND r.status <> 'Canceled'
           JOIN applications a ON a.id = r.application_id JOIN privileges p ON p.request_id = r.id
           WHERE l.item_id = %(id)s ORDER BY 3, 2""",
        id=found[0][0],
    )
    loses = [(name, application) for is_taken, name, application in rows if is_taken]
    gets = [(name, application) for is_taken, name, application in rows if not is_taken]
    has = {
        (entry.permission or entry.section, there.application.name)
        for there in held
        for account in there.accounts
        for entry in account.access
    }
    id, number, needed_on, department = found[0]
    return OwnMove(id, number, needed_on, department, sorted(has - {*loses}), gets, loses)
