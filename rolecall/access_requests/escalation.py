"""Escalate requests without a response: ask the supervisors of the reviewers, or the administrators."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from rolecall.access_requests.model import AWAITED
from rolecall.access_requests.permitted import CARRIED_OUT_BY
from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core.db import Db, fetch_rows, insert_rows
from rolecall.identities import administrators

# Unmet rules of requests, with everyone who was asked, their active supervisors and who must not be asked.
_SILENT = f"""
    SELECT p.request_id, p.type, p.rule, max(p.position), min(p.reason), array_agg(p.reviewer_id),
           array_remove(array_agg(DISTINCT s.id), NULL), array_remove(ARRAY[r.reporter_id, r.identity_id], NULL)
           || CASE WHEN p.type = 'Verify' THEN {CARRIED_OUT_BY} ELSE '{{}}' END
    FROM access_requests r
    JOIN unnest(%(types)s::text[], %(statuses)s::text[]) AS each (type, status) ON each.status = r.status
    JOIN responses p ON p.request_id = r.id AND p.type = each.type AND p.asked
    LEFT JOIN identities i ON i.id = p.reviewer_id
    LEFT JOIN identities s ON s.id = i.supervisor_id AND s.status = 'Active'
    WHERE r.id = ANY(%(ids)s)
    GROUP BY r.id, p.request_id, p.type, p.rule HAVING bool_and(p.response = 'Pending')"""


class FurtherReviewer(msgspec.Struct, frozen=True):
    request_id: UUID
    type: str
    id: UUID
    name: str


async def add_reviewers(db: Db, ids: Sequence[UUID], *, supervisors: bool) -> list[FurtherReviewer]:
    """Add reviewers to these locked requests; return the added reviewers."""
    rules = await fetch_rows(db, _SILENT, ids=list(ids), types=list(AWAITED.keys()), statuses=list(AWAITED.values()))
    active = await administrators.active(db)
    above = await _names(db, [id for rule in rules for id in rule[6]]) if supervisors else {}
    asked, rows = list[FurtherReviewer](), list[dict[str, object]]()
    for request_id, type, rule, last, reason, reviewers, over, excluded in rules:
        known = {*reviewers, *excluded}
        further = {id: above[id] for id in over if id in above and id not in known}
        if not further and ADMINISTRATORS.id not in reviewers:
            further = {id: name for id, name in active.items() if id not in known}
        for position, (id, name) in enumerate(further.items(), last + 1):
            row = {"request_id": request_id, "type": type, "rule": rule, "position": position, "response": "Pending"}
            rows.append(row | {"reason": reason, "reviewer_id": id, "reviewer_name": name, "asked": True})
            asked.append(FurtherReviewer(request_id, type, id, name))
    await insert_rows(db, "responses", rows)
    return asked


async def _names(db: Db, ids: Sequence[UUID]) -> dict[UUID, str]:
    rows = await fetch_rows(
        db, "SELECT id, first_name || ' ' || last_name FROM identities WHERE id = ANY(%(ids)s)", ids=list(ids)
    )
    return dict(rows)
