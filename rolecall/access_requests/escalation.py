"""Escalate requests without a response: ask the supervisors of the reviewers, or the administrators."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests.model import AWAITED
from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core.db import Db, fetch_rows, insert_rows
from rolecall.identities import administrators

# SQL for the people who must not respond to a request and, for approvals and verifications, those who were asked or
# responded.
_EXCLUDED = "excluded_stand_ins(r, p.type, NULL)"
# Unmet rules of requests, with their reviewers, the reviewers' available supervisors, and the people who must not be
# asked.
_SILENT = f"""
    SELECT p.request_id, p.type, p.rule, max(p.position), p.reason, array_agg(p.reviewer_id),
           array_remove(array_agg(DISTINCT s.id), NULL), {_EXCLUDED}, excluded_from(r, p.type)
    FROM access_requests r
    JOIN unnest(%(types)s::text[], %(statuses)s::text[]) AS each (type, status) ON each.status = r.status
    JOIN responses p ON p.request_id = r.id AND p.type = each.type AND p.asked
    LEFT JOIN identities i ON i.id = p.reviewer_id
    LEFT JOIN identities s ON s.id = i.supervisor_id AND may_decide(s.id) AND NOT is_absent(s.id, %(now)s)
        AND NOT entered_leave_of(s.id, i.id)
    WHERE r.id = ANY(%(ids)s)
    GROUP BY r.id, p.request_id, p.type, p.rule, p.reason HAVING bool_and(p.response = 'Pending')"""
# SQL that is true if nobody can respond to a rule of request `r`: no reviewer and no stand-in is both present and
# allowed to decide.
_UNANSWERABLE = """
    NOT bool_or(can_be_answered(p.reviewer_id, p.type, %(now)s, excluded_stand_ins(r, p.type, p.reviewer_id)))"""
_ABSENT = f"{_SILENT} AND {_UNANSWERABLE}"
# SQL that is true if request `r` is waiting for responses and has a rule to which no reviewer can respond.
HAS_UNANSWERABLE_RULE = f"""
    EXISTS (SELECT FROM responses p WHERE p.request_id = r.id AND p.type = awaited_type(r.status) AND p.asked
            GROUP BY p.type, p.rule HAVING bool_and(p.response = 'Pending') AND {_UNANSWERABLE})"""


class FurtherReviewer(msgspec.Struct, frozen=True):
    request_id: UUID
    type: str
    id: UUID
    name: str


async def add_reviewers(
    db: Db, ids: Sequence[UUID], *, supervisors: bool, absent_on: datetime | None = None
) -> list[FurtherReviewer]:
    """Add reviewers to the unmet rules of these locked requests; return the added reviewers.

    With `supervisors`, add the supervisors of the reviewers. Otherwise, or if no supervisor is available, add
    administrators. With `absent_on`, add reviewers only to rules to which nobody can respond at that time. If no other
    administrator is left for such a rule, add administrators who already review under another rule of the request. If
    there are none, add `Administrators`.
    """
    statement = _SILENT if absent_on is None else _ABSENT
    awaited = {"types": list(AWAITED.keys()), "statuses": list(AWAITED.values())}
    rules = await fetch_rows(db, statement, ids=list(ids), now=absent_on, **awaited)
    active = await administrators.active(db)
    above = await _names(db, [id for rule in rules for id in rule[6]]) if supervisors else {}
    asked, rows = list[FurtherReviewer](), list[dict[str, object]]()
    for request_id, type, rule, last, reason, reviewers, over, excluded, party in rules:
        known = {*reviewers, *excluded}
        further = {id: above[id] for id in over if id in above and id not in known}
        # Every administrator can already respond for the reviewer `Administrators`.
        if not further and ADMINISTRATORS.id not in reviewers:
            further = _others(active, known)
            if not further and absent_on:
                further = _others(active, {*reviewers, *party}) or {ADMINISTRATORS.id: ADMINISTRATORS.name}
        for position, (id, name) in enumerate(further.items(), last + 1):
            row = {"request_id": request_id, "type": type, "rule": rule, "position": position, "response": "Pending"}
            rows.append(row | {"reason": reason, "reviewer_id": id, "reviewer_name": name, "asked": True})
            asked.append(FurtherReviewer(request_id, type, id, name))
    await insert_rows(db, "responses", rows)
    return asked


def _others(people: Mapping[UUID, str], excluded: AbstractSet[UUID]) -> dict[UUID, str]:
    return {id: name for id, name in people.items() if id not in excluded}


async def _names(db: Db, ids: Sequence[UUID]) -> dict[UUID, str]:
    rows = await fetch_rows(
        db, "SELECT id, first_name || ' ' || last_name FROM identities WHERE id = ANY(%(ids)s)", ids=list(ids)
    )
    return dict(rows)
