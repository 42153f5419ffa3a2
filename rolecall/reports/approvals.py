from collections.abc import Sequence
from typing import Any

from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.paging import Page, whole
from rolecall.effective_access.queries import FOREVER
from rolecall.reports.shapes import Approval
from rolecall.web.periods import end_of, start_of
from rolecall.work_items.shapes import person

# A decision is listed at the time when its request was approved, or was canceled if it was never approved. A request
# without decisions is listed only if it was approved, because it then required no decision.
_APPROVALS = """
    SELECT d.decided_on, coalesce(s.response, 'Not Required'), s.reviewer_id, s.reviewer_name, s.stand_in_id,
           s.stand_in_name, coalesce(s.reason, ''),
           r.number, r.id, r.action, r.status, a.name, r.target_name, i.id, i.first_name || ' ' || i.last_name,
           r.reporter_name,
           coalesce((SELECT string_agg(
                concat_ws(' / ', nullif(p.header, ''), nullif(p.section, ''), nullif(p.permission, ''))
                || ': ' || p.initial_access || ' to '
                -- Before the approval, `approved_access` is still the level None, so show the requested access.
                || CASE WHEN r.approved_on IS NULL THEN p.requested_access ELSE p.approved_access END,
                '; ' ORDER BY p.position) FROM privileges p WHERE p.request_id = r.id), '')
    FROM access_requests r JOIN applications a ON a.id = r.application_id
    LEFT JOIN identities i ON i.id = r.identity_id
    LEFT JOIN responses s ON s.request_id = r.id AND s.type = 'Approve' AND s.response <> 'Pending'
    CROSS JOIN LATERAL (
        SELECT CASE WHEN s.response IS NULL THEN r.approved_on ELSE coalesce(r.approved_on, r.canceled_on) END
    ) AS d (decided_on)
    WHERE d.decided_on >= %(start)s AND d.decided_on < %(end)s
      AND (%(applicationId)s::uuid IS NULL OR r.application_id = %(applicationId)s)
      AND (%(identityId)s::uuid IS NULL OR r.identity_id = %(identityId)s)
    ORDER BY d.decided_on, r.number, s.rule, s.position"""


async def approvals(db: Db, query: dict[str, Any], config: Config) -> Page[Approval]:
    """List decisions by the time when their request was approved or canceled, oldest first; `query` has the period."""
    return whole(
        _approval,
        _APPROVALS,
        start=start_of(query, config),
        end=end_of(query, config) or FOREVER,
        applicationId=query.get("applicationId"),
        identityId=query.get("identityId"),
    )


def _approval(row: Sequence[Any]) -> Approval:
    decided_on, response, reviewer_id, reviewer, stand_in_id, stand_in, *rest = row
    *request, identity_id, identity, requested_by, privileges = rest
    affected = person(identity_id, identity)
    people = (person(reviewer_id, reviewer), person(stand_in_id, stand_in))
    return Approval(*(decided_on, response, *people, *request, affected, requested_by, privileges))
