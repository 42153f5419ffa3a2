"""Run the next import in the worker: take it, start its build, watch for cancellation, end it.

Meanwhile the worker holds an advisory lock for the application. If the worker dies, PostgreSQL releases the lock, and
another worker finds the import Running and starts it again.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import datetime
from uuid import UUID

import structlog
from psycopg import OperationalError
from psycopg_pool import PoolTimeout

from rolecall.application_imports import actions
from rolecall.application_imports.apply import rollback
from rolecall.application_imports.model import FileTotals, ImportStatus
from rolecall.application_imports.read import sources
from rolecall.application_imports.run.child import build_in_child
from rolecall.application_imports.run.fetching import fetch_files
from rolecall.application_imports.run.finish import HeldByGuard, expected_result, finish
from rolecall.application_imports.run.job import (
    BuildOutcome,
    BuildResult,
    ImportRun,
    Job,
    build_lock,
    find_run,
    worker_lock,
)
from rolecall.application_imports.run.preview import store_preview
from rolecall.application_imports.run.steps import Steps
from rolecall.core import clock
from rolecall.core.authors import by_system, written_by
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, execute, fetch_rows, fetch_value
from rolecall.core.nudge import nudge
from rolecall.core.text import in_one_line

log = structlog.get_logger("rolecall.imports")

MAX_ATTEMPTS = 3
_RUN = "run_import"
_CHECK_CANCEL_SECONDS = 0.3
_UNFINISHED = "('Pending', 'Running', 'Canceling')"


async def run_next_import(pool: Pool, config: Config, _: datetime) -> bool:
    """Run the oldest import that may run; return whether to look for another one."""
    async with pool.connection() as db:
        for id, application_id in await _candidates(db):
            async with locked(db, worker_lock(application_id)) as is_mine:
                if is_mine and await _run(pool, config, db, id):
                    return True
    return False


async def _candidates(db: Db) -> list[tuple[UUID, UUID]]:
    """Return the oldest unfinished import of each application. Skip a held import, unless it is Canceling."""
    rows = await fetch_rows(
        db,
        f"""SELECT i.id, i.application_id FROM application_imports i LEFT JOIN import_runs r ON r.import_id = i.id
            WHERE i.status IN {_UNFINISHED} AND (r.held IS NULL OR i.status = 'Canceling') AND NOT EXISTS (
                SELECT FROM application_imports o WHERE o.application_id = i.application_id
                AND o.number < i.number AND o.status IN {_UNFINISHED})
            ORDER BY i.number""",
    )
    return [(id, application_id) for id, application_id in rows]


@contextlib.asynccontextmanager
async def locked(db: Db, key: int) -> AsyncIterator[bool]:
    """Try to take an advisory lock, and yield whether it was free. PostgreSQL releases it if this worker dies."""
    is_mine = await fetch_value(db, "SELECT pg_try_advisory_lock(%(key)s)", key=key)
    try:
        yield is_mine
    finally:
        if is_mine:
            await execute(db, "SELECT pg_advisory_unlock(%(key)s)", key=key)


async def _run(pool: Pool, config: Config, db: Db, id: UUID) -> bool:
    started = await _start(db, id)
    if started is None:
        return False
    run = await find_run(db, id)
    building = asyncio.create_task(_build(pool, config, run, started))
    over = asyncio.Event()
    watching = asyncio.create_task(_cancel_when_asked(pool, id, building, over))
    try:
        await asyncio.wait({building})
    finally:
        # If the build is still running, this worker is stopping; another worker will start the import again.
        building.cancel()
        over.set()
        await asyncio.gather(building, watching, return_exceptions=True)
    result = BuildResult(BuildOutcome.CANCELED) if building.cancelled() else building.result()
    await _end(pool, run, result)
    return result.outcome != BuildOutcome.POSTPONED


async def _start(db: Db, id: UUID) -> datetime | None:
    """Mark the import as Running and log this; return the start of this attempt, or None if it must not run.

    If the import is being canceled or was interrupted too often, mark it as Canceled or Failed.
    """
    async with written_by(db, "import-start", by_system(_RUN, clock.now())):
        rows = await fetch_rows(
            db,
            """SELECT i.status, i.application_id, coalesce(r.attempts, 0) FROM application_imports i
               LEFT JOIN import_runs r ON r.import_id = i.id WHERE i.id = %(id)s FOR UPDATE OF i""",
            id=id,
        )
        status, application_id, attempts = rows[0]
        now = clock.now()
        match ImportStatus(status):
            case ImportStatus.PENDING:
                await actions.move_import(db, id, ImportStatus.RUNNING, build_start=now)
                await actions.log_line(db, id, "Started", now)
            case ImportStatus.RUNNING if attempts >= MAX_ATTEMPTS:
                await _fail(db, id, f"interrupted {attempts} times; it is not retried")
                return None
            case ImportStatus.RUNNING:
                if attempts:
                    await _wait_for_build(db, application_id)
                    await actions.log_line(
                        db, id, f"Interrupted; started again from its files (attempt {attempts + 1})", now
                    )
            case ImportStatus.CANCELING:
                await _wait_for_build(db, application_id)
                await _close(db, id, ImportStatus.CANCELED, "Canceled")
                return None
            case ImportStatus.FINISHED | ImportStatus.FAILED | ImportStatus.CANCELED:
                return None
        await execute(
            db,
            """INSERT INTO import_runs AS r (import_id, attempts) VALUES (%(id)s, 1)
               ON CONFLICT (import_id) DO UPDATE SET attempts = r.attempts + 1""",
            id=id,
        )
    return now


async def _cancel_when_asked(pool: Pool, id: UUID, building: asyncio.Task[BuildResult], over: asyncio.Event) -> None:
    """Cancel the build when its import is Canceling. Return when `over` is set.

    The calling code sets `over` instead of canceling this task, because a cancellation could interrupt a query.
    """
    while not over.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), _CHECK_CANCEL_SECONDS)
            return
        with contextlib.suppress(OperationalError, PoolTimeout):
            async with pool.connection() as db:
                status = await fetch_value(db, "SELECT status FROM application_imports WHERE id = %(id)s", id=id)
            if status == ImportStatus.CANCELING:
                building.cancel()


async def _build(pool: Pool, config: Config, run: ImportRun, started: datetime) -> BuildResult:
    try:
        if run.rollback_to is not None:
            return await _in_process(pool, run, started, [])
        if run.is_scheduled:
            await fetch_files(pool, config, run)
        async with pool.connection() as db:
            totals = await _unchanged(db, run, str(config.timezone))
            size = await _input_bytes(db, run)
        if totals is not None:
            return await _in_process(pool, run, started, totals)
        assert config.database_url
        return await build_in_child(
            Job(run.id, config.database_url, config.base_url, config.store, str(config.timezone), size, started)
        )
    except Exception as error:
        if result := expected_result(error):
            return result
        raise


async def _unchanged(db: Db, run: ImportRun, zone: str) -> list[FileTotals] | None:
    """Return control totals if neither files nor settings changed, so that no file need be read; otherwise None."""
    before = await sources.sources_after(db, run.application_id)
    sent = await sources.files_of(db, run.id)
    totals = []
    groups = [group for group in await sources.groups_of(db, run.application_id) if group.id in sent]
    if sent.keys() != {group.id for group in groups}:
        return None
    for group in groups:
        source, files = before.get(group.content), sent[group.id]
        if source is None:
            return None
        if not sources.is_unchanged(source, sources.settings_of(group, run.connector, zone), files):
            return None
        rows = dict(zip(source.digests, source.rows, strict=True))
        totals += [FileTotals(f.id, f.name, n := rows[f.sha256.hex()], 0, n, 0) for f in files]
    return totals if totals else None


async def _input_bytes(db: Db, run: ImportRun) -> int:
    """Return the total size of the files of an import and of the files that they are compared with."""
    before = [
        place for source in (await sources.sources_after(db, run.application_id)).values() for place in source.locations
    ]
    size = await fetch_value(
        db,
        "SELECT sum(size) FROM import_files WHERE import_id = %(id)s OR location = ANY(%(before)s)",
        id=run.id,
        before=before,
    )
    return int(size or 0)


async def _in_process(pool: Pool, run: ImportRun, started: datetime, totals: list[FileTotals]) -> BuildResult:
    """Build a rollback, or an import of unchanged files, in this process.

    No child process is needed, because no file is parsed.
    """
    steps = Steps(started)
    async with pool.connection() as db, written_by(db, "import-unchanged", by_system(_RUN, clock.now(), bulk=True)):
        await execute(db, "SELECT pg_advisory_xact_lock(%(key)s)", key=build_lock(run.application_id))
        lines = [steps.done("Prepared")]
        if run.rollback_to is not None:
            after = await rollback.restore(db, run.application_id, run.number, run.rollback_to)
            lines += [f"Data restored to its state after import {run.rollback_to}", steps.done("Changes written")]
        else:
            after = await sources.sources_after(db, run.application_id)
            lines += ["The same files as before"]
        try:
            lines += await finish(db, run, steps, after, totals, is_changed=run.rollback_to is not None)
        except HeldByGuard as held:
            async with pool.connection() as beside:
                await store_preview(db, beside, run.id, run.number, held.tallies)
            raise
        for line in [*lines, "Finished"]:
            await actions.log_line(db, run.id, line, clock.now())
    return BuildResult(BuildOutcome.FINISHED)


async def _end(pool: Pool, run: ImportRun, result: BuildResult) -> None:
    async with pool.connection() as db, written_by(db, "import-end", by_system(_RUN, clock.now())):
        match result.outcome:
            case BuildOutcome.FINISHED:
                await nudge(db, actions.CHANNEL)
            case BuildOutcome.FAILED:
                await _fail(db, run.id, result.message)
            case BuildOutcome.HELD:
                await _hold(db, run, result)
            case BuildOutcome.CANCELED:
                await _wait_for_build(db, run.application_id)
                await _close(db, run.id, ImportStatus.CANCELED, "Canceled")
            case BuildOutcome.INTERRUPTED:
                log.error("import interrupted", run=run.number, reason=result.message)
            case BuildOutcome.POSTPONED:
                log.error("file store unreachable", run=run.number, reason=result.message)
                # A run without access to the file store does not count as an attempt.
                await execute(db, "UPDATE import_runs SET attempts = attempts - 1 WHERE import_id = %(id)s", id=run.id)


async def _wait_for_build(db: Db, application_id: UUID) -> None:
    """Terminate the database session of a build that is no longer wanted, and wait until it is rolled back."""
    key = build_lock(application_id)
    await execute(
        db,
        """SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
           AND (classid::bigint << 32 | objid::bigint) = %(key)s AND pid <> pg_backend_pid()""",
        key=key,
    )
    await execute(db, "SELECT pg_advisory_xact_lock(%(key)s)", key=key)


async def _fail(db: Db, id: UUID, reason: str) -> None:
    await _close(db, id, ImportStatus.FAILED, f"Failed: {reason}", failure=in_one_line(reason))


async def _close(db: Db, id: UUID, status: ImportStatus, line: str, **columns: object) -> None:
    now = clock.now()
    if await actions.move_import(db, id, status, build_end=now, **columns):
        await actions.log_line(db, id, line, now)
    # If a cancel request came first, `move_import` changes nothing, and the nudged worker cancels the import.
    await nudge(db, actions.CHANNEL)


async def _hold(db: Db, run: ImportRun, result: BuildResult) -> None:
    # Fires the trigger notify_of_held_import in schema/notifications.sql.
    await execute(
        db,
        """UPDATE import_runs SET held = %(reason)s, lowers_risk = %(lowers_risk)s, attempts = 0
           WHERE import_id = %(id)s""",
        id=run.id,
        reason=result.message,
        lowers_risk=result.lowers_risk,
    )
    who = "a person who did not supply the data" if result.lowers_risk else "someone"
    line = f"Held: {result.message}. Nothing is applied until {who} continues the import"
    await actions.log_line(db, run.id, line, clock.now())
