"""Run the next dry run in the worker: start its child process and record how it ended."""

from datetime import datetime
from uuid import UUID

from rolecall.application_imports.read import sources
from rolecall.application_imports.run.child import build_in_child
from rolecall.application_imports.run.job import BuildOutcome, BuildResult, Job, worker_lock
from rolecall.application_imports.run.next_import import MAX_ATTEMPTS, locked
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, execute, fetch_rows, fetch_value


async def run_next_dry_run(pool: Pool, config: Config, _: datetime) -> bool:
    """Run the oldest unfinished dry run that no other worker is running; return whether to look for another one."""
    async with pool.connection() as db:
        rows = await fetch_rows(
            db, "SELECT id FROM dry_runs WHERE status IN ('Pending', 'Running') ORDER BY created_at"
        )
        for (id,) in rows:
            async with locked(db, worker_lock(id)) as is_mine:
                if is_mine and await _run(db, config, id):
                    return True
    return False


async def _run(db: Db, config: Config, id: UUID) -> bool:
    started = clock.now()
    attempts = await fetch_value(
        db,
        """UPDATE dry_runs SET status = 'Running', started_at = %(now)s, attempts = attempts + 1, log = '{}'
           WHERE id = %(id)s AND status IN ('Pending', 'Running') RETURNING attempts""",
        id=id,
        now=started,
    )
    if attempts is None:
        return False
    assert config.database_url
    size = await _input_bytes(db, id)
    zone = str(config.timezone)
    job = Job(id, config.database_url, config.base_url, config.store, zone, size, started, is_dry_run=True)
    result = await build_in_child(job)
    await _end(db, id, result, attempts)
    return result.outcome != BuildOutcome.POSTPONED


async def _end(db: Db, id: UUID, result: BuildResult, attempts: int) -> None:
    if result.outcome == BuildOutcome.POSTPONED:
        await execute(db, "UPDATE dry_runs SET attempts = attempts - 1 WHERE id = %(id)s", id=id)
        return
    is_interrupted = result.outcome == BuildOutcome.INTERRUPTED
    if is_interrupted and attempts < MAX_ATTEMPTS:
        return
    failure = f"interrupted {attempts} times; it is not retried" if is_interrupted else result.message
    await execute(
        db,
        """UPDATE dry_runs SET status = %(status)s, failure = %(failure)s, ended_at = %(now)s WHERE id = %(id)s
           AND status = 'Running'""",
        id=id,
        status="Finished" if result.outcome == BuildOutcome.FINISHED else "Failed",
        failure=failure or None,
        now=clock.now(),
    )


async def _input_bytes(db: Db, id: UUID) -> int:
    """Return the total size of the files of a dry run and of the files that they are compared with."""
    application_id = await fetch_value(db, "SELECT application_id FROM dry_runs WHERE id = %(id)s", id=id)
    known = (await sources.sources_after(db, application_id)).values() if application_id else ()
    size = await fetch_value(
        db,
        """SELECT (SELECT coalesce(sum(size), 0) FROM dry_run_files WHERE dry_run_id = %(id)s)
                + (SELECT coalesce(sum(size), 0) FROM import_files WHERE location = ANY(%(before)s))""",
        id=id,
        before=[place for source in known for place in source.locations],
    )
    return int(size)
