"""Build an import: read, compare and apply its files in one transaction. This module runs in the child process."""

from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import NamedTuple

import msgspec
from psycopg import AsyncConnection, InterfaceError, OperationalError

from rolecall.application_imports import actions
from rolecall.application_imports.apply.people import write_people
from rolecall.application_imports.apply.write import close_unused, write_changes
from rolecall.application_imports.compare.change_set import MANY, ChangeSet
from rolecall.application_imports.model import FileTotals
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.sources import ContentSource, Sources
from rolecall.application_imports.run.ahead import ahead
from rolecall.application_imports.run.finish import HeldByGuard, expected_result, finish
from rolecall.application_imports.run.job import (
    BuildOutcome,
    BuildResult,
    Job,
    build_lock,
    find_run,
)
from rolecall.application_imports.run.pipeline import Pipeline, Savepoint
from rolecall.application_imports.run.preview import IMPORT_REJECTS, store_preview, store_rejects
from rolecall.application_imports.run.steps import Steps
from rolecall.applications.model import Content
from rolecall.core import clock
from rolecall.core.authors import by_system, written_by
from rolecall.core.db import Db, execute, reachable, session_options

# Until new pages are summarized, a BRIN index has no ranges for them, and queries read all new pages.
_SUMMARIZE = """
    SELECT brin_summarize_new_values(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_am a ON a.oid = c.relam WHERE i.indrelid = %(table)s::regclass AND a.amname = 'brin'"""


async def build(job: Job) -> BuildResult:
    return await result_of(_build_and_commit(job))


async def _build_and_commit(job: Job) -> None:
    async with connection(job) as db:
        async with written_by(db, "import-build", by_system("run_import", clock.now(), bulk=True)):
            grown = await _build(db, job)
        # Update statistics now: autovacuum may come too late for the next import and for readers.
        for table in grown:
            await execute(db, f"ANALYZE {table}")
            await execute(db, _SUMMARIZE, table=table)


async def result_of(work: Awaitable[None]) -> BuildResult:
    """Wait for a build and return its outcome. Raise only unexpected errors."""
    try:
        await work
        return BuildResult(BuildOutcome.FINISHED)
    except Exception as error:
        if result := expected_result(error):
            return result
        if isinstance(error, OperationalError | InterfaceError):
            return BuildResult(BuildOutcome.INTERRUPTED, str(error))
        raise


@asynccontextmanager
async def connection(job: Job) -> AsyncIterator[Db]:
    options = session_options(job.base_url)
    async with await AsyncConnection.connect(reachable(job.database_url), autocommit=True, options=options) as db:
        yield db


async def _build(db: Db, job: Job) -> list[str]:
    """Read, compare, apply and finish; return the tables with many new rows.

    The rejected rows are stored even if the files are broken or the guard holds the import.
    """
    run = await find_run(db, job.import_id)
    await execute(db, "SELECT pg_advisory_xact_lock(%(key)s)", key=build_lock(run.application_id))
    steps = Steps(job.started)
    pipeline = Pipeline(job, run, steps)
    await pipeline.find_files(db)
    try:
        written = await write_files(db, job, pipeline)
        pipeline.check_rejects()
    except BrokenFile:
        async with connection(job) as beside:
            await store_rejects(beside, IMPORT_REJECTS, run.id, pipeline.rejected_rows())
        raise
    changed = steps.done("Changes written")
    try:
        sources = _sources(pipeline)
        lines = await finish(db, run, steps, sources, written.totals, open_points=pipeline.open_points())
    except HeldByGuard as held:
        async with connection(job) as beside:
            await store_preview(db, beside, run.id, run.number, held.tallies)
            await store_rejects(beside, IMPORT_REJECTS, run.id, pipeline.rejected_rows())
        raise
    # Store rejects only now: a held import stores them on another connection, which would wait for this transaction.
    await store_rejects(db, IMPORT_REJECTS, run.id, pipeline.rejected_rows())
    for line in [changed, *lines, "Finished"]:
        await actions.log_line(db, run.id, line, clock.now())
    return written.grown


class Written(NamedTuple):
    """The changes of an import, written to the database but not committed."""

    totals: list[FileTotals]
    # The tables to which many rows were added.
    grown: list[str]


async def write_files(db: Db, job: Job, pipeline: Pipeline) -> Written:
    """Read and compare the files, and write the differences in the transaction of `db`."""
    # Keep sorts and aggregates in memory.
    await execute(db, "SET LOCAL work_mem = '64MB'")
    run = pipeline.run
    # Write changes while a thread reads and compares the next ones.
    async with aclosing(ahead(partial(_changes, job, pipeline))) as found:
        async for changes in found:
            await _write(db, changes)
    await close_unused(db, run.application_id, run.number, pipeline.tally.maybe_unused)
    if sum(delta.after.height for delta in pipeline.deltas.values()) >= MANY:
        # Without statistics on the rows that this transaction wrote, the planner would choose nested loops.
        await execute(db, "SET LOCAL enable_nestloop = off")
    added, applied = pipeline.tally.added, dict[Content, Mapping[int, int]](pipeline.tally.applied)
    if people := pipeline.people:
        await write_people(db, run.application_id, run.number, people, clock.now())
        added += people.added()
        applied[Content.IDENTITIES] = people.applied
    return Written(_file_totals(pipeline, applied), [table for table, rows in added.items() if rows >= MANY])


async def _changes(job: Job, pipeline: Pipeline) -> AsyncIterator[ChangeSet | Savepoint]:
    async with connection(job) as beside:
        await pipeline.log(beside, pipeline.steps.done("Prepared"))
        async for changes in pipeline.changes(beside):
            yield changes


async def _write(db: Db, changes: ChangeSet | Savepoint) -> None:
    match changes:
        case Savepoint.BEGIN:
            await execute(db, "SAVEPOINT before_parts")
        case Savepoint.UNDO:
            await execute(db, "ROLLBACK TO SAVEPOINT before_parts")
        case _:
            await write_changes(db, changes)


def _sources(pipeline: Pipeline) -> Sources:
    """Return the files that each content of the new state was read from. Keep the earlier files of unread contents."""
    after = dict(pipeline.before)
    for content in pipeline.stale & after.keys():
        after[content] = msgspec.structs.replace(after[content], is_stale=True)
    for content, delta in pipeline.deltas.items():
        after[content] = ContentSource(
            pipeline.settings(delta.group),
            [file.sha256.hex() for file in delta.files],
            [file.location for file in delta.files],
            delta.rows,
            is_by_line=delta.is_by_line and not delta.repeats,
            is_stale=bool(delta.rejects),
            headers=delta.headers,
            columns=delta.column_names or (pipeline.before[content].columns if content in pipeline.before else []),
        )
    return after


def _file_totals(pipeline: Pipeline, applied: Mapping[Content, Mapping[int, int]]) -> list[FileTotals]:
    totals = []
    for content, files in pipeline.files.items():
        delta = pipeline.deltas.get(content)
        # Without a delta the files were not read, because they are unchanged.
        source = pipeline.before[content] if delta is None else None
        known = dict(zip(source.digests, source.rows, strict=True)) if source else {}
        for i, file in enumerate(files):
            read = delta.rows[i] if delta else known[file.sha256.hex()]
            rejected = sum(reject.file == i for reject in delta.rejects) if delta else 0
            changed = applied.get(content, {}).get(i, 0)
            totals.append(FileTotals(file.id, file.name, read, changed, read - changed - rejected, rejected))
    return totals
