"""Query details for the home page of a person, such as deadlines and the effects of a role transition."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from rolecall.access_requests import queries as requests
from rolecall.access_requests.enrichment import enrich
from rolecall.access_requests.model import AWAITED, Response
from rolecall.access_requests.shapes import AccessRequestDetail, AccessRequestItem
from rolecall.accounts.model import Access
from rolecall.applications import queries as applications
from rolecall.console.model import Person
from rolecall.console.queries import EventOfDay
from rolecall.console.request_details import pending_rules
from rolecall.core.db import Db, fetch_rows
from rolecall.core.text import and_list, some_of
from rolecall.effective_access.shapes import ApplicationAccess
from rolecall.entitlements import queries as entitlements
from rolecall.entitlements.shapes import EntitlementItem
from rolecall.notifications import queries as notifications
from rolecall.notifications.model import EscalateTo, counted_after
from rolecall.personnel_events import queries as events
from rolecall.personnel_events.planning import EventDates, planned_requests
from rolecall.personnel_events.situations import situation_of
from rolecall.settings.policy import EventType, RequestAction, RequirementType

_TO = {
    RequirementType.APPROVE: "to approve it",
    RequirementType.RESOLVE: "to provision it",
    RequirementType.VERIFY: "to verify it",
}


_TAKING = (RequestAction.REMOVE, RequestAction.SUSPEND)
_NO_ACCESS = (Access.NONE, Access.DENY)


class ResponseDeadline(msgspec.Struct, frozen=True):
    """When a response is due, and what happens afterwards."""

    on: datetime
    then: str


async def deadlines(db: Db, ids: Sequence[UUID], zone: ZoneInfo) -> dict[UUID, ResponseDeadline]:
    """Return the deadline of each request; empty if reminders and escalation are turned off."""
    reminders = (await notifications.policy(db)).reminders
    days = reminders.escalate_after_days or reminders.remind_after_days
    if not days:
        return {}
    to = "your supervisor" if reminders.escalate_to is EscalateTo.SUPERVISOR else "the administrators"
    then = f"then {to} can respond too" if reminders.escalate_after_days else "then you are reminded"
    rows = await fetch_rows(db, "SELECT id, status_since FROM access_requests WHERE id = ANY(%(ids)s)", ids=list(ids))
    return {id: ResponseDeadline(counted_after(since, days, reminders, zone), then) for id, since in rows}


async def waits_of(db: Db, items: Sequence[AccessRequestItem]) -> dict[UUID, str]:
    """Return, for each request that waits for people, a text that names them."""
    found = {one.id: _waits(one) for one in await requests.details(db, [item.id for item in items])}
    return {id: said for id, said in found.items() if said}


def _waits(request: AccessRequestDetail) -> str:
    awaited = next((type for type, status in AWAITED.items() if status == request.status), None)
    rules = pending_rules(request, awaited)
    return f"Waits for {and_list(rules)} {_TO[awaited]}" if awaited and rules else ""


def reasons(waiting: Sequence[tuple[RequirementType, AccessRequestDetail]], person: Person) -> dict[UUID, str]:
    """Return why each request needs this person's response: the reason of the rule that asks them.

    If no rule asks them in their own name, use a rule that asks someone for whom they respond.
    """
    return {request.id: _reason(type, request, person) for type, request in waiting}


def _reason(type: RequirementType, request: AccessRequestDetail, person: Person) -> str:
    reviewers = person.answers_as(type)
    asked = [
        (answer.reviewer, rule.reason)
        for requirement in request.requirements
        if requirement.type == type
        for rule in requirement.rules
        for answer in rule.responses
        if answer.response == Response.PENDING and answer.reviewer.id in reviewers
    ]
    if not asked:
        return ""
    reviewer, reason = min(asked, key=lambda each: reviewers.index(each[0].id))
    is_represented = (reviewer.id, str(type)) in person.represented
    return f"You stand in for {reviewer.name}. {reason}" if is_represented else reason


async def creating_conflicts(db: Db, ids: Sequence[UUID]) -> set[UUID]:
    """Return which of these requests would create a conflict of duties."""
    rows = await fetch_rows(
        db, "SELECT DISTINCT request_id FROM request_conflicts WHERE request_id = ANY(%(ids)s)", ids=list(ids)
    )
    return {id for (id,) in rows}


async def open_conflicts(db: Db, ids: Sequence[UUID]) -> dict[UUID, int]:
    rows = await fetch_rows(
        db,
        """SELECT identity_id, count(*) FROM conflicts WHERE identity_id = ANY(%(ids)s) AND status = 'Open'
           GROUP BY identity_id""",
        ids=list(ids),
    )
    return dict(rows)


async def described(db: Db, held: Sequence[ApplicationAccess]) -> dict[entitlements.Named, EntitlementItem]:
    """Return the catalogue entries of the entitlements that a person holds."""
    named = [
        (there.application.id, entry.header, entry.section, entry.permission)
        for there in held
        for account in there.accounts
        for entry in account.access
    ]
    ids = await entitlements.ids_by_name(db, named)
    found = await entitlements.by_id(db, list(ids.values()))
    return {name: found[id] for name, id in ids.items() if id in found}


# The names of an entitlement and of its application.
_Named = tuple[str, str]


class MoveChanges(msgspec.Struct, frozen=True):
    """The access that a role transition adds and removes; `is_planned` if its requests are not created yet."""

    gets: list[_Named]
    loses: list[_Named]
    is_planned: bool


class OwnMove(msgspec.Struct, frozen=True):
    """An upcoming role transition, with the access that the person keeps, gets and loses."""

    id: UUID
    number: int
    needed_on: datetime
    department: str
    keeps: list[_Named]
    changes: MoveChanges


async def own_move(db: Db, person_id: UUID, held: Sequence[ApplicationAccess], now: datetime) -> OwnMove | None:
    """Return a person's next role transition and the access that it changes; None if none is planned."""
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
    id, number, needed_on, department = found[0]
    changes = await move_changes(db, id, person_id, needed_on)
    # Leave out access through a group that the person loses, because it ends with the membership.
    keeps = {
        (entry.permission or entry.section, there.application.name)
        for there in held
        for account in there.accounts
        for entry in account.access
        if not any((group, there.application.name) in changes.loses for group in entry.path)
    }
    return OwnMove(id, number, needed_on, department, sorted(keeps - {*changes.loses}), changes)


async def move_changes(db: Db, event_id: UUID, person_id: UUID, needed_on: datetime) -> MoveChanges:
    """Return the access that a role transition adds and removes, from its requests or, if it has none, its plan."""
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT r.action IN ('Remove', 'Suspend') OR p.requested_access IN ('None', 'Deny'),
                  coalesce(nullif(p.permission, ''), p.section), a.name
           FROM related_items l JOIN access_requests r ON r.id = l.request_id AND r.status <> 'Canceled'
           JOIN applications a ON a.id = r.application_id JOIN privileges p ON p.request_id = r.id
           WHERE l.item_id = %(id)s ORDER BY 3, 2""",
        id=event_id,
    )
    created = [(bool(is_taken), (name, application)) for is_taken, name, application in rows]
    changes = created or await _planned(db, event_id, person_id, needed_on)
    gets, loses = ([named for is_taken, named in changes if is_taken is taken] for taken in (False, True))
    return MoveChanges(gets, loses, is_planned=not created)


async def _planned(db: Db, event_id: UUID, person_id: UUID, needed_on: datetime) -> list[tuple[bool, _Named]]:
    """Plan the requests of a role transition without creating them; return each privilege and whether it is removed."""
    type = EventType.ROLE_TRANSITION
    situation = await situation_of(db, type, person_id, *await events.changes_of(db, event_id))
    planned = planned_requests(type, person_id, EventDates(needed_on, None), situation)
    names = await applications.summaries(db, {request.application_id for request in planned})
    found = {
        (
            request.action in _TAKING or privilege.requested_access in _NO_ACCESS,
            (privilege.permission or privilege.section, names[request.application_id].name),
        )
        for request in await enrich(db, planned)
        for privilege in request.privileges
    }
    return sorted(found, key=lambda each: (each[1][1], each[1][0]))


async def moves_of(db: Db, coming: Sequence[EventOfDay]) -> dict[UUID, str]:
    """Return, for each upcoming role transition, a text about the access that it adds and removes."""
    return {
        event.id: _said(await move_changes(db, event.id, event.identity_id, event.needed_on))
        for event in coming
        if event.type == EventType.ROLE_TRANSITION
    }


def _said(changes: MoveChanges) -> str:
    parts = [
        f"{verb} {some_of([name for name, _ in named], 1)}"
        for verb, named in (("loses", changes.loses), ("gets", changes.gets))
        if named
    ]
    said = ", ".join(parts) or "access stays the same"
    return f"{said[0].upper()}{said[1:]}"
