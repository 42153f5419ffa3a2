"""Finish an import in the transaction of its changes: count, guard, match accounts, record the result."""

from datetime import datetime

import msgspec
from psycopg.errors import ProgramLimitExceeded
from psycopg.types.json import Jsonb

from rolecall.accounts import matching
from rolecall.application_imports.actions import move_import
from rolecall.application_imports.apply import count, identities
from rolecall.application_imports.apply.count import PLURALS, RecordTotals
from rolecall.application_imports.model import FileTotals, ImportStatus, RecordKind, Tallies
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.sources import Sources
from rolecall.application_imports.run import ratings
from rolecall.application_imports.run.cycles import cycle_lines
from rolecall.application_imports.run.guard import (
    OpenPoints,
    reasons_of_missing_pages,
    reasons_of_more_rejects,
    reasons_of_open_questions,
    reasons_to_hold,
)
from rolecall.application_imports.run.job import DISK_FULL, TOO_MUCH_MEMORY, BuildOutcome, BuildResult, ImportRun
from rolecall.application_imports.run.steps import Steps
from rolecall.applications.shapes import Metrics
from rolecall.core import clock, text
from rolecall.core.db import Db, execute
from rolecall.core.files import StoreUnreachable, is_disk_full
from rolecall.core.nudge import nudge
from rolecall.identities import administrators

FINISHED_CHANNEL = "finished_imports"
_NONE = OpenPoints()
# Changes of these records may lower a risk rating.
_RATING = (RecordKind.GROUP, RecordKind.PERMISSION, RecordKind.ASSIGNMENT)


class HeldByGuard(Exception):
    """Raised if the guard holds the import, with the reason.

    With `lowers_risk`, the person who supplied the data must not continue the import.
    """

    def __init__(self, reason: str, tallies: Tallies, *, lowers_risk: bool) -> None:
        super().__init__(reason)
        self.tallies = tallies
        self.lowers_risk = lowers_risk


class Canceled(Exception):
    """Raised if the import was canceled during the build, so nothing may be committed."""


def expected_result(error: Exception) -> BuildResult | None:
    """Return the outcome of a build that ended with this error; None if the error is unexpected, such as a bug."""
    match error:
        case HeldByGuard():
            return BuildResult(BuildOutcome.HELD, str(error), error.lowers_risk)
        case Canceled():
            return BuildResult(BuildOutcome.CANCELED)
        case BrokenFile():
            return BuildResult(BuildOutcome.FAILED, str(error))
        case StoreUnreachable():
            return BuildResult(BuildOutcome.POSTPONED, str(error))
        case MemoryError():
            return BuildResult(BuildOutcome.FAILED, TOO_MUCH_MEMORY)
        case _ if is_disk_full(error):
            return BuildResult(BuildOutcome.FAILED, DISK_FULL)
        case ProgramLimitExceeded():
            what = _INDEXED.get(error.diag.table_name or "", "a value")
            return BuildResult(BuildOutcome.FAILED, f"{what} is too long: {_INDEX_LIMIT}")
    return None


# For each table, the values that its indexes contain.
_INDEXED = {
    "accounts": "a username",
    "account_versions": "a name, an e-mail address, an employee ID or a last login",
    "groups": "the name of a group",
    "group_versions": "the parent of a group",
    "identities": "the name or the e-mail address of a person",
    "permissions": "a permission with its section and its header",
}
_INDEX_LIMIT = "the database accepts about 2,600 bytes; shorten it in the file, or map another column"


class ImportResult(msgspec.Struct, frozen=True):
    """The result of an import after its accounts are matched."""

    totals: RecordTotals
    metrics: Metrics
    tallies: Tallies
    # Why the guard would hold the import, in a dry run.
    hold: HeldByGuard | None
    log: list[str]
    ended: datetime


async def finish(
    db: Db,
    run: ImportRun,
    steps: Steps,
    sources: Sources,
    files: list[FileTotals],
    *,
    is_changed: bool = True,
    open_points: OpenPoints = _NONE,
) -> list[str]:
    """Count the changes, check the guard, match accounts and record the result; return lines for the log."""
    result = await count_and_match(db, run, steps, files, is_changed=is_changed, open_points=open_points)
    await _record(db, run, result, sources, files)
    return result.log


async def count_and_match(
    db: Db,
    run: ImportRun,
    steps: Steps,
    files: list[FileTotals],
    *,
    is_changed: bool = True,
    open_points: OpenPoints = _NONE,
) -> ImportResult:
    """Count what the import changed and match its accounts.

    If the guard holds the import, raise HeldByGuard; in a dry run, return the exception as part of the result.
    `open_points` says why files may be incomplete or read wrongly.
    """
    now = clock.now()
    before = await count.totals_before(db, run.application_id)
    tallies = await count.count_changes(db, run.number) if is_changed else count.no_changes()
    hold = await _hold(db, run, before, tallies, files, open_points)
    if hold and not run.is_dry:
        raise hold
    after = before.plus(tallies)
    if tallies[RecordKind.ASSIGNMENT].total:
        await count.update_value_counts(db, run.number)
    counted = await count.count_touched(db, run.number, before, tallies)
    metrics = count.metrics_of(after, counted, is_identity_source=run.is_identity_source)
    lines = [*_file_lines(files, is_dry=run.is_dry), *_change_lines(counted), steps.done("Changes counted")]
    if tallies[RecordKind.GROUP].total:
        lines += await cycle_lines(db, run.application_id)
    if tallies[RecordKind.IDENTITY].total:
        lines += await _update_identities(db, run, now)
        lines += [steps.done("Identities updated")]
    if is_changed:
        await matching.match_imported(db, run.number, now)
    else:
        await matching.match_changed_identities(db, now)
    lines += await _match_lines(db, run, after)
    # End the last step with the build, so that the steps add up to the import's build time.
    end = clock.now()
    lines += [steps.done("Accounts matched", end)]
    return ImportResult(after, metrics, tallies, hold, lines, end)


async def _hold(
    db: Db, run: ImportRun, before: RecordTotals, tallies: Tallies, files: list[FileTotals], open_points: OpenPoints
) -> HeldByGuard | None:
    """Return why to hold the import, for example too many changes, missing pages or lowered high risk ratings."""
    if run.is_unguarded:
        return None
    reasons = reasons_to_hold(run.guard, before, tallies) if run.rollback_to is None else []
    reasons += reasons_of_missing_pages(open_points.missing, tallies)
    reasons += reasons_of_open_questions(open_points.questions, tallies)
    if rejected := sum(file.rejected for file in files):
        reasons += reasons_of_more_rejects(rejected, await count.rejected_before(db, run.application_id), tallies)
    may_lower = run.is_supplied and any(tallies[kind].total for kind in _RATING)
    # There are earlier ratings only if an import has finished before, even if it was empty.
    is_first = not may_lower or not await count.has_totals(db, run.application_id)
    lowered = [] if is_first else await ratings.lowered(db, run.number)
    if lowered:
        reasons.append(ratings.in_words(lowered))
    return HeldByGuard("; ".join(reasons), tallies, lowers_risk=bool(lowered)) if reasons else None


async def _update_identities(db: Db, run: ImportRun, now: datetime) -> list[str]:
    """Update identities from the source; fail if no active administrator would be left."""
    before = await administrators.active(db)
    lines = await identities.update_identities(db, run.application_id, run.number, now)
    lost = before.keys() - (await administrators.active(db)).keys()
    if lost:
        await administrators.lock_administrators(db)
        if not await administrators.active(db):
            names = ", ".join(name for id, name in before.items() if id in lost)
            said = f"without {names}, no active administrator would be left; make another person an administrator first"
            raise BrokenFile(said)
    return lines


async def _record(db: Db, run: ImportRun, result: ImportResult, sources: Sources, files: list[FileTotals]) -> None:
    # `move_import` fires triggers that lock the curations and then take this lock; a curation takes it first.
    await matching.take_turn(db)
    await _record_totals(db, run, result.totals)
    await execute(
        db,
        """UPDATE import_runs SET totals = %(totals)s, changes = %(changes)s, sources = %(sources)s, held = NULL
           WHERE import_id = %(id)s""",
        id=run.id,
        totals=Jsonb(msgspec.to_builtins(files)),
        changes=Jsonb(msgspec.to_builtins(result.tallies)),
        sources=Jsonb(msgspec.to_builtins(sources)),
    )
    metrics = Jsonb(msgspec.to_builtins(result.metrics))
    if not await move_import(db, run.id, ImportStatus.FINISHED, build_end=result.ended, metrics=metrics):
        raise Canceled
    await execute(
        db,
        "INSERT INTO finished_imports (import_id, application_id) VALUES (%(id)s, %(application)s)",
        id=run.id,
        application=run.application_id,
    )
    await nudge(db, FINISHED_CHANNEL)


async def _record_totals(db: Db, run: ImportRun, totals: RecordTotals) -> None:
    columns = {"import_number": run.number, **msgspec.structs.asdict(totals)}
    await execute(
        db,
        f"""INSERT INTO application_totals (application_id, {", ".join(columns)})
            VALUES (%(application)s, {", ".join(f"%({name})s" for name in columns)})
            ON CONFLICT (application_id) DO UPDATE SET {", ".join(f"{name} = EXCLUDED.{name}" for name in columns)}""",
        application=run.application_id,
        **columns,
    )


def _file_lines(files: list[FileTotals], *, is_dry: bool) -> list[str]:
    applied = "would be applied" if is_dry else "applied"
    return [
        f"{file.name}: {text.counted(file.read, 'row')} read = {file.applied:,} {applied}"
        f" + {file.unchanged:,} unchanged + {file.rejected:,} rejected"
        for file in files
    ]


def _change_lines(counted: Tallies) -> list[str]:
    return [
        f"{PLURALS[kind].capitalize()}: {tally.new:,} new, {tally.altered:,} altered, {tally.removed:,} removed"
        for kind, tally in counted.items()
        if tally.total
    ] or ["Nothing changed"]


async def _match_lines(db: Db, run: ImportRun, after: RecordTotals) -> list[str]:
    if not after.accounts:
        return []
    counts = await matching.counts(db, run.application_id)
    without = {match: counts.pop(match, 0) for match in ("Never", "Disputed", "Unmatched")}
    parts = [
        f"{sum(counts.values()):,} matched",
        f"{without['Unmatched']:,} unmatched",
        f"{without['Disputed']:,} disputed",
    ]
    return [f"Accounts: {', '.join(parts)}"]
