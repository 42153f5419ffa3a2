"""Run scheduled reports in the worker: fire due schedules, and write the file of each run.

When a schedule fires, its run is inserted into `exports`; `report_firings` refers to the run until it is finished. The
process that writes the file holds an advisory lock. If it dies, a worker writes the file again from the beginning, up
to `MOST_ATTEMPTS` times in all.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import structlog

from rolecall.application_imports.run.fetching import reason_of, source_errors
from rolecall.core import clock
from rolecall.core.authors import by_system, written_by
from rolecall.core.caller import Caller
from rolecall.core.config import Config
from rolecall.core.cron import is_due
from rolecall.core.db import Db, Pool, execute, fetch_all, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Invalid, NotFound, RolecallError
from rolecall.core.exporting import Outcome, Plan, check_size, snapshot, write
from rolecall.core.nudge import nudge
from rolecall.core.paging import Whole, WithoutData
from rolecall.exports.actions import finish_export, start_export
from rolecall.exports.model import ExportStatus
from rolecall.reports import planning, queries
from rolecall.reports.authority import ScopesOf, authority_of
from rolecall.reports.destination import Destination, FileBeingWritten
from rolecall.reports.lists import list_named
from rolecall.reports.model import CHANNEL, MOST_ATTEMPTS
from rolecall.reports.planning import PlannedRun
from rolecall.reports.shapes import ReportDetail

log = structlog.get_logger("rolecall.reports")

# The time limit of a run: its database snapshot prevents VACUUM from removing dead rows.
LONGEST_SECONDS = 7200.0


class ScheduledRun(msgspec.Struct, frozen=True):
    """An unfinished run; `path` is the file to write."""

    id: UUID
    report_id: UUID
    attempts: int
    fired_at: datetime
    path: str


class RunFailed(Exception):
    """A run failed; the message says why and is shown to people."""


async def run_reports(pool: Pool, config: Config, now: datetime, scopes_of: ScopesOf) -> bool:
    """Fire due schedules. Then write, one by one, the files of unfinished runs that no other process is writing.

    Return False, because no work is left.
    """
    async with pool.connection() as db:
        await _fire_schedules(db, config, now)
        runs = await fetch_all(
            db,
            ScheduledRun,
            """SELECT e.id, f.report_id, f.attempts, f.fired_at, e.location AS path
               FROM report_firings f JOIN exports e ON e.id = f.run_id ORDER BY f.fired_at, e.id""",
        )
    for run in runs:
        async with _claimed(pool, run) as is_ours:
            if is_ours:
                await _run(pool, config, run, scopes_of)
    return False


async def _fire_schedules(db: Db, config: Config, now: datetime) -> None:
    rows = await fetch_rows(
        db,
        """SELECT r.id, r.cron, f.fired_at FROM reports r LEFT JOIN report_firings f ON f.report_id = r.id
           WHERE r.deleted_on IS NULL AND r.cron IS NOT NULL AND f.run_id IS NULL""",
    )
    for id, cron, fired_at in rows:
        if is_due(cron, fired_at, now, config.timezone):
            async with written_by(db, "report", by_system("fire_report", now)):
                await _fire(db, id, fired_at, config, now)


async def _fire(db: Db, id: UUID, fired_at: datetime | None, config: Config, now: datetime) -> None:
    """Fire a schedule once, even if several workers try, or if more than one due time was missed.

    The first call for a new schedule starts no run; it records the time from which due times are counted.
    """
    fired = await execute(
        db,
        """INSERT INTO report_firings AS f (report_id, fired_at) VALUES (%(id)s, %(now)s)
           ON CONFLICT (report_id) DO UPDATE SET fired_at = EXCLUDED.fired_at
           WHERE f.fired_at = %(last)s AND f.run_id IS NULL""",
        id=id,
        now=now,
        last=fired_at,
    )
    if fired and fired_at is not None:
        await _begin(db, await queries.get(db, id), config, now)


async def fire_now(db: Db, id: UUID, config: Config, now: datetime) -> UUID:
    """Start a run of a scheduled report now and return the id of the run. The worker writes the file."""
    report = await queries.get(db, id)
    if report.schedule is None:
        raise Conflict("The report has no schedule, so there is no location to write to. Add a schedule first")
    fired = await execute(
        db,
        """INSERT INTO report_firings AS f (report_id, fired_at) VALUES (%(id)s, %(now)s)
           ON CONFLICT (report_id) DO UPDATE SET fired_at = EXCLUDED.fired_at WHERE f.run_id IS NULL""",
        id=id,
        now=now,
    )
    if not fired:
        raise Conflict("The report is already being written. Wait until the run has finished")
    run = await _begin(db, report, config, now)
    await nudge(db, CHANNEL)
    return run


async def _begin(db: Db, report: ReportDetail, config: Config, now: datetime) -> UUID:
    """Record a new run and return its id; a run that cannot be planned is recorded as failed."""
    try:
        plan, reason = planning.plan(report, now, config).plan, None
    except Invalid as error:
        plan = planning.unplanned(report)
        reason = ". ".join(problem.message for problem in error.problems)
    assert report.schedule
    # The name contains the id of the run, because reports with similar names may be written in the same second.
    name = f"{plan.name}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{plan.id.hex[-8:]}.{plan.format}"
    plan = msgspec.structs.replace(plan, location=f"{report.schedule.location.rstrip('/')}/{name}")
    await start_export(db, plan, by_system("fire_report", now))
    await execute(
        db,
        "UPDATE report_firings SET run_id = %(run)s, attempts = 0 WHERE report_id = %(id)s",
        id=report.id,
        run=plan.id,
    )
    if reason:
        await _finish(db, report.id, plan.id, Outcome(ExportStatus.FAILED, reason), now)
    return plan.id


async def _finish(db: Db, report_id: UUID, run_id: UUID, outcome: Outcome, now: datetime) -> None:
    await finish_export(db, run_id, outcome, now)
    await execute(db, "UPDATE report_firings SET run_id = NULL WHERE run_id = %(run)s", run=run_id)
    await execute(
        db,
        "SELECT notify_of_report(%(report)s, %(run)s, %(has_failed)s)",
        report=report_id,
        run=run_id,
        has_failed=outcome.status == ExportStatus.FAILED,
    )


@asynccontextmanager
async def _claimed(pool: Pool, run: ScheduledRun) -> AsyncGenerator[bool]:
    """Claim a run for this process; yield False if another process has claimed or finished it."""
    async with pool.connection() as db:
        # The number separates these advisory locks from locks for other purposes.
        lock = "hashtextextended(%(id)s, 163)"
        # The lock belongs to the connection, so it is released if the process dies, and another worker can take over.
        if not await fetch_value(db, f"SELECT pg_try_advisory_lock({lock})", id=str(run.id)):
            yield False
            return
        try:
            # Count the attempt before it begins, so that a run that kills the worker is not retried forever.
            claimed = await execute(
                db, "UPDATE report_firings SET attempts = attempts + 1 WHERE run_id = %(id)s", id=run.id
            )
            yield claimed > 0
        finally:
            await execute(db, f"SELECT pg_advisory_unlock({lock})", id=str(run.id))


async def _run(pool: Pool, config: Config, run: ScheduledRun, scopes_of: ScopesOf) -> None:
    """Write the file of a run, and record how it ended."""
    outcome = Outcome()
    try:
        if run.attempts >= MOST_ATTEMPTS:
            raise RunFailed(f"The worker stopped {run.attempts} times while it wrote the file; check the worker's log")
        async with pool.connection() as db:
            planned, caller = await _authorized(db, config, run, scopes_of)
        async with asyncio.timeout(LONGEST_SECONDS):
            await _write_file(config, planned, caller, run, outcome)
        outcome.status = ExportStatus.FINISHED
    except _failures() as error:
        outcome.status, outcome.reason = ExportStatus.FAILED, _said(error)
        log.warning("report failed", report=str(run.report_id), run=str(run.id), reason=outcome.reason)
    now = clock.now()
    async with pool.connection() as db, written_by(db, "report", by_system("finish_report", now)):
        await _finish(db, run.report_id, run.id, outcome, now)


def _failures() -> tuple[type[Exception], ...]:
    """Return the exceptions that mark a run as failed; after any other exception, a worker retries the run."""
    return (RunFailed, RolecallError, *source_errors())


def _said(error: Exception) -> str:
    match error:
        case Invalid():
            return ". ".join(problem.message for problem in error.problems)
        case RolecallError() | RunFailed():
            return str(error)
        case TimeoutError():
            return "Writing the file took too long; add filters to the report, or check its location"
    return f"The file cannot be written: {reason_of(error)}"


async def _authorized(db: Db, config: Config, run: ScheduledRun, scopes_of: ScopesOf) -> tuple[PlannedRun, Caller]:
    """Return the plan of a run and its caller.

    Raise RunFailed if the report or its schedule is gone, or if the caller may no longer read the list. Raise Invalid
    if the report is no longer valid.
    """
    try:
        report = await queries.get(db, run.report_id)
    except NotFound:
        raise RunFailed("The report was deleted") from None
    if report.schedule is None:
        raise RunFailed("The schedule was removed")
    # Plan for the time at which the schedule fired, so that a later attempt covers the same period.
    planned, scope = planning.plan(report, run.fired_at, config), list_named(report.list).scope
    planned = msgspec.structs.replace(
        planned, plan=msgspec.structs.replace(planned.plan, id=run.id, location=report.schedule.location)
    )
    authority = await authority_of(db, report, scope, scopes_of, clock.now())
    if authority.refusal:
        raise RunFailed(authority.refusal)
    return planned, authority.caller


async def _write_file(config: Config, planned: PlannedRun, caller: Caller, run: ScheduledRun, outcome: Outcome) -> None:
    """Write the file and its manifest under temporary names, then rename both, the manifest first."""
    plan, now = planned.plan, clock.now()
    assert plan.location
    destination = await asyncio.to_thread(Destination, config.report_roots, plan.location)
    name = run.path.rpartition("/")[2]
    written = list[FileBeingWritten]()
    try:
        written.append(await asyncio.to_thread(destination.begin, name, str(run.id)))
        async with snapshot(config) as db:
            found = await planned.find(db, caller, config, now)
            assert isinstance(found, Whole), plan.list
            await check_size(db, found, plan.format)
            async with aclosing(write(db, found, plan, outcome, caller.name, now)) as pieces:
                async for piece in pieces:
                    await asyncio.to_thread(written[0].write, piece)
        manifest = _manifest(plan, name, caller, run, outcome)
        written.append(await asyncio.to_thread(destination.begin, f"{name}.manifest.json", str(run.id)))
        await asyncio.to_thread(written[1].write, manifest)
        for file in written:
            await asyncio.to_thread(file.finish)
        # Publish the manifest first, so that a report file never exists without it.
        for file in reversed(written):
            await asyncio.to_thread(file.publish)
    # Cancellation, at the time limit or when the worker stops, is not an `Exception`.
    except BaseException:
        for file in written:
            file.discard()
        raise


class FileManifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The manifest next to a report's file: it describes the content and contains the digest."""

    id: UUID
    report_id: UUID
    list: str
    filters: dict[str, Any]
    columns: Sequence[str]
    format: str
    file: str
    created_by: str
    started_on: datetime
    row_count: int
    byte_count: int
    sha256: str
    no_data_before: Sequence[WithoutData]


def _manifest(plan: Plan, name: str, caller: Caller, run: ScheduledRun, outcome: Outcome) -> bytes:
    manifest = FileManifest(
        id=run.id,
        report_id=run.report_id,
        list=plan.list,
        filters=plan.filters,
        columns=[column.name for column in plan.columns],
        format=plan.format,
        file=name,
        created_by=caller.name,
        started_on=run.fired_at,
        row_count=outcome.row_count,
        byte_count=outcome.byte_count,
        sha256=outcome.sha256.hex(),
        no_data_before=outcome.no_data_before,
    )
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
