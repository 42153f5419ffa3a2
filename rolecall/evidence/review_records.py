"""Read the records of a review for its evidence bundle. The long lists (`LINES`) are streamed."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from rolecall.core.db import Db, fetch_rows, stream_rows
from rolecall.core.errors import NotFound
from rolecall.core.ids import guid
from rolecall.evidence.queries import imports_in
from rolecall.evidence.shapes import ImportEvidence

_PERSON = """CASE WHEN {0}.id IS NOT NULL
    THEN json_build_object('id', {0}.id, 'name', {0}.first_name || ' ' || {0}.last_name) END"""
# One line per item. `holder` is the account, the group or the model; its id is part of the digest of the population.
_ITEMS = f"""
    SELECT json_build_object(
        'id', i.id, 'number', i.number, 'status', i.status, 'subject', i.subject,
        'application', CASE WHEN o.id IS NOT NULL THEN json_build_object('id', o.id, 'name', o.name) END,
        'holder', json_build_object('id', coalesce(a.id, g.id, m.id), 'name', coalesce(a.username, g.name, m.name)),
        'person', {_PERSON.format("p")},
        'entitlement', CASE WHEN e.id IS NOT NULL THEN json_build_object('id', e.id, 'kind', e.kind,
            'header', e.header, 'section', e.section, 'name', e.name, 'risk', e.risk_rating) END,
        'access', i.access, 'sinceImport', i.since_import, 'facts', i.facts, 'recommendation', i.recommendation,
        'requestIds', i.request_ids, 'modelIds', i.model_ids, 'underId', i.under_id,
        'isCarried', i.is_carried, 'isSample', i.is_sample, 'stage', i.stage, 'reviewer', {_PERSON.format("r")},
        'moved', i.moved, 'readOn', i.read_on, 'decision', i.decision, 'until', i.until, 'newAccess', i.new_access,
        'comment', i.comment, 'decidedOn', i.decided_on, 'decidedBy', i.decided_by, 'bulk', b.number,
        'submission', s.number, 'request', q.number, 'requestStatus', q.status,
        'remediatedOn', i.remediated_on, 'remediatedImport', i.remediated_import,
        'reopenedOn', i.reopened_on, 'reopenedImport', i.reopened_import, 'acceptedUntil', i.accepted_until)::text
    FROM review_items i LEFT JOIN applications o ON o.id = i.application_id
    LEFT JOIN accounts a ON a.number = i.account_number LEFT JOIN groups g ON g.number = i.group_number
    LEFT JOIN access_models m ON m.id = i.model_id LEFT JOIN identities p ON p.id = i.identity_id
    LEFT JOIN entitlements e ON e.id = i.entitlement_id LEFT JOIN identities r ON r.id = i.reviewer_id
    LEFT JOIN review_bulks b ON b.id = i.bulk_id LEFT JOIN review_submissions s ON s.id = i.submission_id
    LEFT JOIN access_requests q ON q.id = i.request_id
    WHERE i.review_id = %(id)s ORDER BY i.list_key"""
_DECISIONS = """
    SELECT json_build_object(
        'number', d.number, 'item', i.number, 'itemId', d.item_id, 'stage', d.stage, 'reviewerId', d.reviewer_id,
        'decision', d.decision, 'until', d.until, 'newAccess', d.new_access, 'comment', d.comment,
        'decidedBy', d.decided_by, 'decidedByName', d.decided_by_name, 'decidedOn', d.decided_on,
        'bulk', b.number)::text
    FROM review_decisions d JOIN review_items i ON i.id = d.item_id LEFT JOIN review_bulks b ON b.id = d.bulk_id
    WHERE d.review_id = %(id)s ORDER BY d.number"""
_MOVES = """
    SELECT json_build_object('number', v.number, 'item', i.number, 'itemId', v.item_id, 'fromId', v.from_id,
        'toId', v.to_id, 'stage', v.stage, 'reason', v.reason, 'movedByName', v.moved_by_name,
        'movedOn', v.moved_on)::text
    FROM review_moves v JOIN review_items i ON i.id = v.item_id WHERE v.review_id = %(id)s ORDER BY v.number"""
ITEMS = "items.jsonl"
_CHANGES = """
    SELECT json_build_object('number', c.number, 'change', c.change, 'reason', c.reason,
        'importNumber', c.import_number, 'items', c.items, 'itemCount', c.item_count, 'digest', c.digest,
        'changedOn', c.changed_on)::text
    FROM review_changes c WHERE c.review_id = %(id)s ORDER BY c.number"""
LINES = {ITEMS: _ITEMS, "decisions.jsonl": _DECISIONS, "moves.jsonl": _MOVES, "changes.jsonl": _CHANGES}
_RECORDS = {
    "bulks.json": """SELECT json_build_object('number', b.number, 'reviewerId', b.reviewer_id, 'selection', b.selection,
        'decision', b.decision, 'until', b.until, 'comment', b.comment, 'itemCount', b.item_count, 'digest', b.digest,
        'decidedBy', b.decided_by, 'decidedByName', b.decided_by_name, 'decidedOn', b.decided_on) AS one
        FROM review_bulks b WHERE b.review_id = %(id)s ORDER BY b.number""",
    "submissions.json": """SELECT json_build_object('number', s.number, 'reviewerId', s.reviewer_id,
        'reviewerName', s.reviewer_name, 'statement', s.statement, 'counts', s.counts, 'digest', s.digest,
        'submittedBy', s.submitted_by, 'submittedByName', s.submitted_by_name, 'submittedOn', s.submitted_on) AS one
        FROM review_submissions s WHERE s.review_id = %(id)s ORDER BY s.number""",
    "steps.json": """SELECT json_build_object('number', p.number, 'step', p.step, 'detail', p.detail,
        'ownItems', p.own_items, 'doneBy', p.done_by, 'doneByName', p.done_by_name, 'doneOn', p.done_on) AS one
        FROM review_steps p WHERE p.review_id = %(id)s ORDER BY p.number""",
    "acceptances.json": """SELECT json_build_object('number', c.number, 'item', i.number, 'itemId', i.id,
        'reason', c.reason, 'until', c.until, 'acceptedBy', c.accepted_by, 'acceptedByName', c.accepted_by_name,
        'acceptedOn', c.accepted_on) AS one
        FROM review_acceptances c JOIN review_items i ON i.id = c.item_id
        WHERE i.review_id = %(id)s ORDER BY c.number""",
    "remediation.json": """SELECT json_build_object('id', q.id, 'number', q.number, 'action', q.action,
        'status', q.status, 'items', array_agg(i.number ORDER BY i.number), 'resolvedOn', q.resolved_on,
        'completedOn', q.completed_on, 'canceledOn', q.canceled_on) AS one
        FROM review_items i JOIN access_requests q ON q.id = i.request_id
        WHERE i.review_id = %(id)s GROUP BY q.id ORDER BY q.number""",
}
RECORDS = tuple(_RECORDS)
# The imports of the population, and those that proved a removal, showed removed access again, or changed items.
_IMPORTS = """SELECT import_number FROM review_populations WHERE review_id = %(id)s
              UNION SELECT remediated_import FROM review_items WHERE review_id = %(id)s
              UNION SELECT reopened_import FROM review_items WHERE review_id = %(id)s
              UNION SELECT import_number FROM review_changes WHERE review_id = %(id)s"""
# SQL condition for the audit entries of the review, of its items and their requests, and of its imports.
ENTRIES = f"""entity_id = %(id)s
    OR entity_id IN (SELECT id FROM review_items WHERE review_id = %(id)s)
    OR entity_id IN (SELECT request_id FROM review_items WHERE review_id = %(id)s AND request_id IS NOT NULL)
    OR entity_id IN (SELECT id FROM application_imports WHERE number IN ({_IMPORTS}))"""


_REVIEW = """
    SELECT json_build_object('id', r.id, 'number', r.number, 'name', r.name, 'description', r.description,
        'type', r.type, 'status', r.status, 'scope', r.scope, 'stages', r.stages, 'fallback', r.fallback,
        'dueOn', r.due_on, 'firstDueOn', r.first_due_on, 'periodFrom', r.period_from, 'periodUntil', r.period_until,
        'explained', r.explained, 'onSilence', r.on_silence, 'statement', r.statement, 'ownerId', r.owner_id,
        'owner', (SELECT i.first_name || ' ' || i.last_name FROM identities i WHERE i.id = r.owner_id),
        'createdBy', r.created_by, 'createdAt', r.created_at, 'openedOn', r.opened_on, 'closedOn', r.closed_on,
        'completedOn', r.completed_on, 'canceledOn', r.canceled_on, 'digest', r.digest, 'itemCount', r.item_count,
        'decisionCount', r.decision_count, 'moveCount', r.move_count, 'closedDueOn', r.closed_due_on)
    FROM reviews r WHERE r.id = %(id)s"""
# The counts of each application: file rows, accounts, access held, items, and access excluded for each reason.
_POPULATION = """
    SELECT json_build_object(
        'application', CASE WHEN a.id IS NOT NULL THEN json_build_object('id', a.id, 'name', a.name) END,
        'importNumber', p.import_number, 'fileRows', p.file_rows, 'accounts', p.accounts, 'held', p.held,
        'items', p.items, 'excluded', p.excluded)
    FROM review_populations p LEFT JOIN applications a ON a.id = p.application_id
    WHERE p.review_id = %(id)s ORDER BY p.position"""


async def find_review(db: Db, text: str) -> UUID:
    # A number with more than 18 digits can be too large for bigint.
    number = int(text.lstrip("#")) if text.lstrip("#").isdecimal() and len(text) < 19 else None
    rows = await fetch_rows(
        db, "SELECT id FROM reviews WHERE number = %(number)s OR id = %(id)s", number=number, id=guid(text)
    )
    if not rows:
        raise NotFound("Review", text)
    found: UUID = rows[0][0]
    return found


async def review_row(db: Db, id: UUID) -> dict[str, Any]:
    rows = await fetch_rows(db, _REVIEW, id=id)
    if not rows:
        raise NotFound("Review", str(id))
    found: dict[str, Any] = rows[0][0]
    return found


async def population_rows(db: Db, id: UUID) -> list[dict[str, Any]]:
    return [one for (one,) in await fetch_rows(db, _POPULATION, id=id)]


async def lines(db: Db, member: str, id: UUID) -> AsyncIterator[str]:
    async for (text,) in stream_rows(db, LINES[member], id=id):
        yield text


async def records(db: Db, member: str, id: UUID) -> list[dict[str, Any]]:
    return [one for (one,) in await fetch_rows(db, _RECORDS[member], id=id)]


async def imports_of_review(db: Db, id: UUID) -> list[ImportEvidence]:
    return await imports_in(db, _IMPORTS, id=id)
