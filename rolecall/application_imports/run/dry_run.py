"""Perform a dry run: build as an import does, in a transaction that is rolled back.

A second connection stores what would change. The dry run executes in a child process of the worker. The draft of the
configuration is applied in the same transaction, so that a dry run works like the import that follows it. The run uses
the next import number without reserving it: the transaction sees one snapshot of the database, so an import that takes
the same number meanwhile does not interfere.
"""

from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from psycopg import IsolationLevel
from psycopg.types.json import Jsonb

from rolecall.accounts import matching
from rolecall.application_imports.apply.identities import PEOPLE_LOCK
from rolecall.application_imports.dry_runs.model import Draft, DryRunResult, DryRunTotals
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.sources import InputFile, files_by_group
from rolecall.application_imports.run.build import Written, connection, result_of, write_files
from rolecall.application_imports.run.finish import ImportResult, count_and_match
from rolecall.application_imports.run.job import BuildResult, ImportRun, Job, build_lock, guard_of
from rolecall.application_imports.run.pipeline import Pipeline
from rolecall.application_imports.run.preview import DRY_RUN_REJECTS, store_preview, store_rejects
from rolecall.application_imports.run.steps import Steps
from rolecall.applications import actions as applications
from rolecall.core import clock
from rolecall.core.authors import by_system, sign
from rolecall.core.checking import Facts
from rolecall.core.db import Db, execute, fetch_one, fetch_rows, fetch_value
from rolecall.core.errors import Invalid

_MOST_DISPUTES = 100


async def dry_run(job: Job) -> BuildResult:
    return await result_of(_dry_run(job))


async def _dry_run(job: Job) -> None:
    async with connection(job) as db, connection(job) as beside:
        draft = await fetch_one(
            beside, Draft, "SELECT application_id, draft AS body FROM dry_runs WHERE id = %(id)s", id=job.import_id
        )
        assert draft
        # Lock before the transaction begins, because its snapshot must not be older than the locks.
        if draft.application_id:
            await execute(db, "SELECT pg_advisory_lock(%(key)s)", key=build_lock(draft.application_id))
        if await _may_change_people(beside, draft):
            await execute(db, f"SELECT pg_advisory_lock({PEOPLE_LOCK})")
        await db.set_isolation_level(IsolationLevel.REPEATABLE_READ)
        async with db.transaction(force_rollback=True):
            await sign(db, by_system("dry_run", clock.now(), bulk=True))
            result = await _build(db, beside, job, draft)
        await execute(
            beside, "UPDATE dry_runs SET result = %(result)s WHERE id = %(id)s", id=job.import_id, result=Jsonb(result)
        )


async def _may_change_people(db: Db, draft: Draft) -> bool:
    is_source = "SELECT is_identity_source FROM applications WHERE id = %(id)s"
    return bool(draft.body.get("isIdentitySource") or await fetch_value(db, is_source, id=draft.application_id))


async def _build(db: Db, beside: Db, job: Job, draft: Draft) -> object:
    run = await _run(db, job, await _application(db, job, draft))
    pipeline = TrialPipeline(job, run, Steps(job.started))
    await pipeline.find_files(db)
    try:
        written = await write_files(db, job, pipeline)
    finally:
        await store_rejects(beside, DRY_RUN_REJECTS, run.id, pipeline.rejected_rows())
    await pipeline.log(beside, f"{pipeline.steps.done('Changes computed')}, none applied")
    result = await count_and_match(
        db, run, pipeline.steps, written.totals, is_changed=bool(pipeline.deltas), open_points=pipeline.open_points()
    )
    for line in result.log:
        await pipeline.log(beside, line)
    await store_preview(db, beside, run.id, run.number, result.tallies)
    return msgspec.to_builtins(await _result(db, run, pipeline, written, result))


async def _application(db: Db, job: Job, draft: Draft) -> UUID:
    """Create or change the application as in the draft, for this transaction only, and return its ID."""
    facts = Facts(now=clock.now(), zone=ZoneInfo(job.timezone))
    try:
        if draft.application_id is None:
            return await applications.create_application(db, draft.body, facts)
        if draft.body:
            await applications.change_application(db, draft.application_id, draft.body, facts)
    except Invalid as error:
        raise BrokenFile(". ".join(problem.message for problem in error.problems)) from None
    return draft.application_id


async def _run(db: Db, job: Job, application_id: UUID) -> ImportRun:
    rows = await fetch_rows(
        db,
        """SELECT a.is_identity_source, a.guard, coalesce(c.name, ''),
                  (SELECT coalesce(max(number), 0) + 1 FROM application_imports)
           FROM applications a LEFT JOIN connectors c ON c.application_id = a.id WHERE a.id = %(id)s""",
        id=application_id,
    )
    is_identity_source, guard, connector, number = rows[0]
    return ImportRun(
        job.import_id,
        number,
        application_id,
        is_identity_source,
        await guard_of(db, guard),
        connector,
        is_unguarded=False,
        rollback_to=None,
        is_scheduled=False,
        is_supplied=True,
        is_dry=True,
    )


class TrialPipeline(Pipeline):
    """Read the files of a dry run, and write the log to the row of the dry run."""

    async def sent_files(self, db: Db) -> dict[UUID, list[InputFile]]:
        rows = await fetch_rows(
            db,
            """SELECT g.id, f.id, f.name, f.sha256, f.location, f.size FROM dry_run_files f
               JOIN file_groups g ON g.name = f.file_group JOIN connectors c ON c.id = g.connector_id
               WHERE f.dry_run_id = %(id)s AND c.application_id = %(application)s ORDER BY f.position""",
            id=self.run.id,
            application=self.run.application_id,
        )
        return files_by_group(rows)

    async def log(self, db: Db, message: str) -> None:
        await execute(
            db, "UPDATE dry_runs SET log = log || %(line)s::text WHERE id = %(id)s", id=self.run.id, line=message
        )


async def _result(db: Db, run: ImportRun, pipeline: Pipeline, written: Written, result: ImportResult) -> DryRunResult:
    return DryRunResult(
        problem=_problem(pipeline),
        held=str(result.hold) if result.hold else None,
        files=written.totals,
        metrics=result.metrics,
        changes=result.tallies,
        matches=await matching.counts(db, run.application_id),
        disputes=await matching.disputes(db, run.application_id, _MOST_DISPUTES),
        totals=await _totals(db, run, result),
        readings=[reading for delta in pipeline.deltas.values() for reading in delta.readings()],
    )


async def _totals(db: Db, run: ImportRun, result: ImportResult) -> DryRunTotals:
    """Return how many records the application would have."""
    active = await fetch_value(
        db,
        """SELECT count(*) FROM accounts a JOIN account_versions v ON v.account_number = a.number
           WHERE a.application_id = %(application)s AND v.until_import IS NULL AND v.is_active""",
        application=run.application_id,
    )
    after = result.totals
    inactive = after.accounts - active
    return DryRunTotals(
        after.accounts, active, inactive, after.groups, after.memberships, after.permissions, after.assignments
    )


def _problem(pipeline: Pipeline) -> str | None:
    """Return why rejected rows would make an import fail; None if no row is rejected or the file groups allow it."""
    try:
        pipeline.check_rejects()
        return None
    except BrokenFile as broken:
        return str(broken)
