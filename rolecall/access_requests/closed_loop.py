"""Close the loop between requests and imports.

A finished import verifies the resolved requests that its data proves and reopens those that it contradicts. Access that
reappears after a completed removal is reported as drift.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from uuid import UUID

from rolecall.access_requests import moving, opening, queries
from rolecall.access_requests.judging import FinishedImport, ImportedState, imported_state, judge, reappeared_access
from rolecall.access_requests.permitted import barred_from_verifying
from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.applications.model import Content
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.work_items.actions import record_activity_of

DRIFT = "Drift"
NOT_VERIFIED = "Not Verified"
BY_IMPORT = "An import of the live source must show the access"
_BATCH = 500
# An import that shows what a person verified is usually one of the first after the resolution.
_COMPARED = 10


async def finished_imports(db: Db) -> list[UUID]:
    """Return the finished imports that have not been compared with requests yet, in number order."""
    rows = await fetch_rows(
        db, "SELECT r.id FROM finished_imports f JOIN application_imports r ON r.id = f.import_id ORDER BY r.number"
    )
    return [id for (id,) in rows]


async def close_loop(db: Db, import_id: UUID, now: datetime) -> None:
    """Compare the requests of an application with its finished import, once per import."""
    run = await _claim(db, import_id)
    if run is None:
        return
    resolved = await _resolved(db, run)
    # Lock all requests first, because verifying some and then reopening others would break the lock order.
    await moving.lock(db, resolved)
    async for requests, state in _with_state(db, run, resolved):
        await _verify_or_reopen(db, requests, state, now)
    async for requests, state in _with_state(db, run, await _completed_and_changed(db, run)):
        await _report_drift(db, requests, state, now)


async def ask_import_to_verify(db: Db, ids: Sequence[UUID]) -> None:
    """Require that an import verifies these open requests before they are completed.

    Nobody is asked to verify, but people who may verify a request can still do so.
    """
    await execute(
        db,
        """INSERT INTO responses (request_id, type, rule, position, reason, reviewer_id, reviewer_name, response, asked)
           SELECT request_id, 'Verify', max(rule) + 1, 0, %(reason)s, %(id)s, %(name)s, 'Pending', false
           FROM responses WHERE request_id = ANY(%(ids)s) GROUP BY request_id""",
        ids=list(ids),
        reason=BY_IMPORT,
        id=SYSTEM.id,
        name=SYSTEM.name,
    )


async def _claim(db: Db, import_id: UUID) -> FinishedImport | None:
    """Take a finished import from the queue.

    Return None if it was already taken, or if it is a rollback, because old data proves nothing.
    """
    rows = await fetch_rows(
        db,
        """WITH taken AS (DELETE FROM finished_imports WHERE import_id = %(id)s RETURNING import_id)
           SELECT r.id, r.number, r.application_id, r.created_at, r.created_by, r.supplied_by FROM taken
           JOIN application_imports r ON r.id = taken.import_id
           WHERE NOT EXISTS (SELECT FROM import_runs u WHERE u.import_id = r.id AND u.rollback_to IS NOT NULL)""",
        id=import_id,
    )
    return await _with_files(db, *rows[0]) if rows else None


async def _with_files(
    db: Db,
    id: UUID,
    number: int,
    application_id: UUID,
    created_at: datetime,
    created_by: str,
    supplied_by: UUID | None,
) -> FinishedImport:
    files = await fetch_rows(
        db,
        """SELECT c.content, array_agg(f.name ORDER BY f.position)
           FROM import_files f JOIN file_groups g ON g.id = f.file_group_id
           CROSS JOIN LATERAL (SELECT DISTINCT unnest(contents_of(g)) AS content) AS c
           WHERE f.import_id = %(id)s GROUP BY 1""",
        id=id,
    )
    named = {Content(content): names for content, names in files}
    return FinishedImport(id, number, application_id, created_at, created_by, supplied_by, named)


async def _with_state(
    db: Db, run: FinishedImport, ids: list[UUID]
) -> AsyncIterator[tuple[list[AccessRequestDetail], ImportedState]]:
    for start in range(0, len(ids), _BATCH):
        requests = await queries.details(db, ids[start : start + _BATCH])
        yield requests, await imported_state(db, run, requests)


async def _resolved(db: Db, run: FinishedImport) -> list[UUID]:
    rows = await fetch_rows(
        db,
        """SELECT id FROM access_requests WHERE application_id = %(application)s AND status = 'Resolved'
           ORDER BY list_key""",
        application=run.application_id,
    )
    return [id for (id,) in rows]


async def _verify_or_reopen(db: Db, requests: list[AccessRequestDetail], state: ImportedState, now: datetime) -> None:
    run = state.run
    proved, doubtful, contradicted = {}, {}, {}
    for request in requests:
        judgement = judge(request, state)
        source = run.named(judgement.contents)
        # An import that was created before the request was resolved cannot contradict the request.
        is_older = request.resolved_on is not None and run.created_at < request.resolved_on
        if judgement.is_proved:
            proved[request.id] = f"{source} shows the requested access"
        elif judgement.contradictions and not is_older:
            contradicted[request.id] = f"{source} contradicts the request: {'; '.join(judgement.contradictions)}"
    for id, who in (await _barred_to_supplier(db, run, list(proved))).items():
        supplier = f"{run.created_by}, {who}, supplied the data"
        doubtful[id] = f"{proved.pop(id)}, but {supplier}: another person must verify it"
    await moving.verify(db, list(proved), SYSTEM, now, proved)
    await _leave_to_people(db, doubtful, now)
    await opening.reopen(db, list(contradicted), SYSTEM, now, contradicted)


async def import_that_shows(db: Db, request: AccessRequestDetail) -> FinishedImport | None:
    """Return an import since the resolution of a request that shows what it changed; None if there is none.

    Compare the first imports since then and the newest one. Skip those that a barred person supplied.
    """
    rows = await fetch_rows(
        db,
        """WITH since AS MATERIALIZED (
               SELECT r.id, r.number, r.application_id, r.created_at, r.created_by, r.supplied_by
               FROM application_imports r WHERE r.application_id = %(application)s AND r.build_end >= %(resolved_on)s
               AND shows_requests(r))
           (SELECT * FROM since ORDER BY number LIMIT %(most)s)
           UNION (SELECT * FROM since ORDER BY number DESC LIMIT 1) ORDER BY number""",
        application=request.target.application.id,
        resolved_on=request.resolved_on,
        most=_COMPARED,
    )
    for row in rows:
        run = await _with_files(db, *row)
        shows = judge(request, await imported_state(db, run, [request])).is_proved
        if shows and not await _barred_to_supplier(db, run, [request.id]):
            return run
    return None


async def _barred_to_supplier(db: Db, run: FinishedImport, ids: list[UUID]) -> dict[UUID, str]:
    """Return the requests that this import must not verify because of who supplied its data, each with the reason."""
    return await barred_from_verifying(db, run.supplied_by, ids) if run.supplied_by else {}


async def _leave_to_people(db: Db, doubtful: dict[UUID, str], now: datetime) -> None:
    """Record on each request why an import did not verify it, at most once for each time that it is resolved."""
    rows = await fetch_rows(
        db,
        """SELECT r.id FROM access_requests r WHERE r.id = ANY(%(ids)s) AND NOT EXISTS (
               SELECT FROM activity t WHERE t.item_id = r.id AND t.action = %(action)s
                                        AND t.created_date >= r.resolved_on)""",
        ids=list(doubtful),
        action=NOT_VERIFIED,
    )
    new = {id: doubtful[id] for (id,) in rows}
    await record_activity_of(db, list(new), author=SYSTEM.name, action=NOT_VERIFIED, content=new, now=now)


async def _completed_and_changed(db: Db, run: FinishedImport) -> list[UUID]:
    """Return the completed requests whose removed access the import may show again (drift).

    For each account that the import changed, only the latest request that was not canceled counts. It must be a Change,
    Remove or Suspend that was completed before the import was created and has no drift entry yet.
    """
    rows = await fetch_rows(
        db,
        """WITH touched AS (
               -- Read only what the import added, because access that ended cannot have reappeared.
               SELECT account_number AS number FROM account_versions WHERE from_import = %(number)s
               UNION SELECT account_number FROM memberships WHERE from_import = %(number)s
               UNION SELECT holder_number FROM assignments WHERE from_import = %(number)s)
           SELECT last.id FROM touched JOIN accounts a USING (number)
           CROSS JOIN LATERAL (SELECT r.id, r.status, r.action, r.completed_on FROM access_requests r
                               WHERE r.application_id = a.application_id AND r.target_name = a.username
                                 AND r.target_type = 'User' AND r.status <> 'Canceled'
                               ORDER BY r.list_key DESC LIMIT 1) AS last
           WHERE last.status = 'Completed' AND last.action IN ('Change', 'Remove', 'Suspend')
             AND last.completed_on <= %(since)s
             -- Most applications have no such request, so skip the joins for them.
             AND EXISTS (SELECT FROM access_requests WHERE application_id = %(application)s AND status = 'Completed'
                         AND action IN ('Change', 'Remove', 'Suspend'))
             AND NOT EXISTS (SELECT FROM activity WHERE item_id = last.id AND action = %(drift)s)""",
        application=run.application_id,
        number=run.number,
        since=run.created_at,
        drift=DRIFT,
    )
    return [id for (id,) in rows]


async def _report_drift(db: Db, requests: list[AccessRequestDetail], state: ImportedState, now: datetime) -> None:
    """Record removed access that reappeared. No request is reopened, because people decide what to do about it."""
    found = {request.id: reappeared_access(request, state) for request in requests}
    drifted = {
        id: f"{state.run.named(state.run.files)} shows removed access again: {'; '.join(what)}"
        for id, what in found.items()
        if what
    }
    await record_activity_of(db, list(drifted), author=SYSTEM.name, action=DRIFT, content=drifted, now=now)
