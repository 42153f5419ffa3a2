"""Read the facts of notifications about stand-ins: named by hand, ended early, or automatic during a leave."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core import clock
from rolecall.core.db import Db, fetch_all
from rolecall.notifications.model import ASKED_TO, FactContext, NotificationFacts
from rolecall.settings.policy import RequirementType

_ENDED = "Ended"
# How many requests now wait for a response from the person `i`. If `s.type` is not null, count only this type.
_WAITING = """(SELECT count(DISTINCT p.request_id)::int FROM responses p JOIN access_requests r ON r.id = p.request_id
               WHERE p.reviewer_id = i.id AND p.asked AND p.response = 'Pending' AND p.type = awaited_type(r.status)
                 AND (s.type IS NULL OR p.type = s.type))"""


class _StandInRow(msgspec.Struct, frozen=True):
    id: UUID
    part: str
    starts_on: datetime
    ends_on: datetime | None
    type: str | None
    created_by: str
    is_own: bool
    person: str
    stand_in: str
    is_running: bool
    waiting: int


async def of_stand_ins(db: Db, ids: Sequence[UUID], context: FactContext) -> dict[UUID, NotificationFacts]:
    """Describe stand-ins that were named by hand, for both people."""
    rows = await fetch_all(
        db,
        _StandInRow,
        f"""SELECT n.id, n.part, s.starts_on, s.ends_on, s.type, s.created_by, s.identity_id = n.identity_id AS is_own,
                   i.first_name || ' ' || i.last_name AS person, d.first_name || ' ' || d.last_name AS stand_in,
                   s.ends_on > written_on() AS is_running, {_WAITING} AS waiting
            FROM notifications n JOIN stand_ins s ON s.id = n.item_id JOIN identities i ON i.id = s.identity_id
            JOIN identities d ON d.id = s.stand_in_id WHERE n.id = ANY(%(ids)s) AND n.item_kind = 'Stand-In'""",
        ids=list(ids),
    )
    own, other = "Another person named a stand-in for you", "You were named as the stand-in"
    return {row.id: _facts(row, context, own if row.is_own else other) for row in rows}


async def of_leaves(db: Db, ids: Sequence[UUID], context: FactContext) -> dict[UUID, NotificationFacts]:
    """Describe who stands in during a leave, for the person on leave and for the stand-in."""
    rows = await fetch_all(
        db,
        _StandInRow,
        f"""SELECT n.id, n.part, a.starts_on, a.ends_on, s.type, '' AS created_by, i.id = n.identity_id AS is_own,
                   i.first_name || ' ' || i.last_name AS person,
                   coalesce(d.first_name || ' ' || d.last_name, 'Another person') AS stand_in,
                   coalesce(i.id = n.identity_id OR d.id = n.identity_id, false) AND d.id IS NOT NULL AS is_running,
                   {_WAITING} AS waiting
            FROM notifications n JOIN absences a ON a.event_id = n.item_id JOIN identities i ON i.id = a.identity_id
            LEFT JOIN identities d ON d.id = automatic_stand_in(i.id, written_on())
            CROSS JOIN (SELECT NULL::text AS type) AS s
            WHERE n.id = ANY(%(ids)s) AND n.kind = 'Stand-In' AND n.item_kind = 'Personnel Event'""",
        ids=list(ids),
    )
    other = "{} is on leave and named no other stand-in"
    return {
        row.id: _facts(row, context, "You are on leave" if row.is_own else other.format(row.person)) for row in rows
    }


def _facts(row: _StandInRow, context: FactContext, why: str) -> NotificationFacts:
    has_ended = row.part == _ENDED
    who = f"{row.stand_in} stands in for you" if row.is_own else f"You stand in for {row.person}"
    ended = f"{row.stand_in} no longer stands in for you" if row.is_own else f"You no longer stand in for {row.person}"
    work = f"{ASKED_TO[RequirementType(row.type)]} requests" if row.type else "Respond to requests of every kind"
    return NotificationFacts(
        person=row.person,
        what="" if has_ended else f"{work} in place of {'you' if row.is_own else row.person}{_waiting(row)}",
        by="" if has_ended else row.created_by,
        result=ended if has_ended else f"{who} {_period(row, context)}",
        why=why,
        link="/stand-ins",
        is_current=row.is_running != has_ended,
    )


def _waiting(row: _StandInRow) -> str:
    """Return the end of a sentence for the stand-in: how many requests wait now, or nothing if none wait."""
    if row.is_own or not row.waiting:
        return ""
    return f"; {row.waiting} {'request waits' if row.waiting == 1 else 'requests wait'} now"


def _period(row: _StandInRow, context: FactContext) -> str:
    since = f"from {_day(row.starts_on, context)}"
    return f"{since} until {_day(row.ends_on, context)}" if row.ends_on else since


def _day(moment: datetime, context: FactContext) -> str:
    day = clock.local(moment, context.zone)
    return f"{day.day} {day:%B %Y}"
