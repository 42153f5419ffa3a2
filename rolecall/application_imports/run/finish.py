"""The end of an import, in the transaction that holds its changes: count, guard, match, report."""

from datetime import datetime
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.accounts import matching
from rolecall.application_imports.actions import move_import
from rolecall.application_imports.apply import identities as identity_source
from rolecall.application_imports.compare.relations import RELATIONS, Kind, Tally, tally
from rolecall.application_imports.model import ImportStatus
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.sources import Sources
from rolecall.application_imports.run import guard
from rolecall.application_imports.run.steps import Steps
from rolecall.applications.shapes import Changes, Metrics, PermissionChanges
from rolecall.core import clock
from rolecall.core.db import Db, execute, fetch_one, fetch_rows
from rolecall.core.nudge import nudge
from rolecall.identities import administrators
from rolecall.settings.model import Guard

FINISHED_CHANNEL = "finished_imports"


class Held(Exception):
    """The guard holds the import; the message says why."""


class Canceled(Exception):
    """Someone asked for a stop; nothing may be committed."""


class Run(msgspec.Struct, frozen=True):
    """An import at work."""

    id: UUID
    number: int
    application_id: UUID
    is_identity_source: bool
    guard: Guard
    connector: str
    is_unguarded: bool
    rollback_to: int | None
    is_scheduled: bool


class FileTotals(msgspec.Struct, rename="camel"):
    """rows read = applied + unchanged + rejected."""

    file_id: UUID
    name: str
    read: int
    applied: int
    unchanged: int
    rejected: int


class Totals(msgspec.Struct):
    accounts: int = 0
    groups: int = 0
    memberships: int = 0
    permissions: int = 0
    assignments: int = 0
    identities: int = 0


_KINDS = {
    Kind.ACCOUNT: "accounts",
    Kind.GROUP: "groups",
    Kind.MEMBERSHIP: "memberships",
    Kind.PERMISSION: "permissions",
    Kind.ASSIGNMENT: "assignments",
    Kind.IDENTITY: "identities",
}
_GUARDED = (Kind.ACCOUNT, Kind.GROUP, Kind.ASSIGNMENT, Kind.IDENTITY)


async def totals_of(db: Db, application_id: UUID) -> Totals:
    found = await fetch_one(
        db,
        Totals,
        f"SELECT {', '.join(Totals.__struct_fields__)} FROM application_totals WHERE application_id = %(id)s",
        id=application_id,
    )
    return found or Totals()


async def finish(
    db: Db, run: Run, steps: Steps, sources: Sources, files: list[FileTotals], *, is_changed: bool = True
) -> list[str]:
    """Count, guard, match and record what the import changed, without a commit; return the lines for its log."""
    now = clock.now()
    before = await totals_of(db, run.application_id)
    tallies = {kind: Tally() for kind in Kind}
    if is_changed:
        tallies = {r.kind: await tally(db, r, run.number) for r in RELATIONS if r.kind}
    _hold(run, before, tallies)
    after = Totals(
        *(getattr(before, name) + tallies[kind].new - tallies[kind].removed for kind, name in _KINDS.items())
    )
    if tallies[Kind.ASSIGNMENT].total:
        await _count_values(db, run.number)
    counted = await _counted(db, run, before, tallies)
    metrics = _metrics(run, after, counted)
    lines = [*_told(files), *_changes_told(counted), steps.done("Changes counted")]
    if tallies[Kind.IDENTITY].total:
        lines += await _show_people(db, run, now)
        lines += [steps.done("Identities updated")]
    if is_changed:
        await matching.match_imported(db, run.number, now)
    else:
        await matching.match_changed_identities(db, now)
    lines += await _matches_told(db, run, after)
    # End the last step with the build, so that the steps add up to the import's build time.
    end = clock.now()
    lines += [steps.done("Accounts matched", end)]
    await _keep(db, run, end, after, metrics, tallies, sources, files)
    return lines


async def _show_people(db: Db, run: Run, now: datetime) -> list[str]:
    """Update identities from the source; fail if no active administrator would be left."""
    before = await administrators.active(db)
    said = await identity_source.show(db, run.application_id, run.number, now)
    gone = before.keys() - (await administrators.active(db)).keys()
    if gone:
        await administrators.take_turns(db)
        if not await administrators.active(db):
            names = ", ".join(name for id, name in before.items() if id in gone)
            raise BrokenFile(f"no active administrator would be left without {names}; make someone else one first")
    return said


def _hold(run: Run, before: Totals, tallies: dict[Kind, Tally]) -> None:
    if run.is_unguarded or run.rollback_to is not None:
        return
    there = {_KINDS[kind]: getattr(before, _KINDS[kind]) for kind in _GUARDED}
    going = {_KINDS[kind]: tallies[kind].removed for kind in _GUARDED}
    if reason := guard.reason_to_hold(run.guard, there, going, tallies[Kind.ACCOUNT].new):
        raise Held(reason)


async def _counted(db: Db, run: Run, before: Totals, tallies: dict[Kind, Tally]) -> dict[Kind, Tally]:
    """Count accounts and groups as altered when what they hold changed, for both the log and the metrics."""
    # The first import alters nothing.
    if not (before.accounts or before.groups) or not any(tally.total for tally in tallies.values()):
        return tallies
    altered = {kind: await _altered(db, run.number, kind.lower()) for kind in (Kind.ACCOUNT, Kind.GROUP)}
    return tallies | {kind: msgspec.structs.replace(tallies[kind], altered=count) for kind, count in altered.items()}


def _metrics(run: Run, after: Totals, counted: dict[Kind, Tally]) -> Metrics:
    def changes(kind: Kind) -> Changes:
        tally = counted[kind]
        return Changes(getattr(after, _KINDS[kind]), tally.new, tally.altered, tally.removed)

    users = changes(Kind.IDENTITY if run.is_identity_source else Kind.ACCOUNT)
    return Metrics(users, changes(Kind.GROUP), PermissionChanges(after.permissions, counted[Kind.PERMISSION].new))


# What alters an account or a group beside its own fields. Members do not alter a group.
_TOUCHED = {
    "account": """
        SELECT account_number FROM memberships WHERE from_import = %(n)s
        UNION SELECT account_number FROM memberships WHERE until_import = %(n)s
        UNION SELECT holder_number FROM assignments WHERE from_import = %(n)s
        UNION SELECT holder_number FROM assignments WHERE until_import = %(n)s""",
    "group": """
        SELECT holder_number FROM assignments WHERE from_import = %(n)s
        UNION SELECT holder_number FROM assignments WHERE until_import = %(n)s""",
}


async def _altered(db: Db, number: int, what: str) -> int:
    """Those that were there before and are there now, with anything changed."""
    versions, column = f"{what}_versions", f"{what}_number"
    rows = await fetch_rows(
        db,
        f"""WITH touched(number) AS MATERIALIZED ({_TOUCHED[what]}
                 UNION SELECT {column} FROM {versions} WHERE from_import = %(n)s)
            SELECT count(*) FROM touched t
            WHERE EXISTS (SELECT FROM {versions} v WHERE v.{column} = t.number AND v.until_import IS NULL)
            AND EXISTS (SELECT FROM {versions} v WHERE v.{column} = t.number AND v.from_import < %(n)s
                        AND (v.until_import IS NULL OR v.until_import = %(n)s))""",
        n=number,
    )
    return int(rows[0][0])


async def _count_values(db: Db, number: int) -> None:
    """Update the count of holders per permission and raw value from the assignments this import changed."""
    counted = "value <> '' AND access NOT IN ('None', 'Deny') GROUP BY 1, 2, 3"
    await execute(
        db,
        f"""INSERT INTO permission_values AS v (permission_number, access, digest, value, holders)
            SELECT permission_number, access, md5(value), value, sum(holders) FROM (
                SELECT permission_number, access, value, count(*) AS holders
                FROM assignments WHERE from_import = %(number)s AND {counted}
                UNION ALL
                SELECT permission_number, access, value, -count(*)
                FROM assignments WHERE until_import = %(number)s AND {counted}
            ) AS changed GROUP BY 1, 2, 4 HAVING sum(holders) <> 0
            ON CONFLICT (permission_number, access, digest) DO UPDATE SET holders = v.holders + EXCLUDED.holders""",
        number=number,
    )
    # Values that differ for every holder would otherwise pile up with each import.
    await execute(
        db,
        """DELETE FROM permission_values WHERE holders <= 0 AND permission_number IN
           (SELECT permission_number FROM assignments WHERE until_import = %(number)s)""",
        number=number,
    )


async def _keep(
    db: Db,
    run: Run,
    now: datetime,
    after: Totals,
    metrics: Metrics,
    tallies: dict[Kind, Tally],
    sources: Sources,
    files: list[FileTotals],
) -> None:
    columns = {"import_number": run.number, **msgspec.structs.asdict(after)}
    await execute(
        db,
        f"""INSERT INTO application_totals (application_id, {", ".join(columns)})
            VALUES (%(application)s, {", ".join(f"%({name})s" for name in columns)})
            ON CONFLICT (application_id) DO UPDATE SET {", ".join(f"{name} = EXCLUDED.{name}" for name in columns)}""",
        application=run.application_id,
        **columns,
    )
    await execute(
        db,
        """UPDATE import_runs SET totals = %(totals)s, changes = %(changes)s, sources = %(sources)s, held = NULL
           WHERE import_id = %(id)s""",
        id=run.id,
        totals=Jsonb(msgspec.to_builtins(files)),
        changes=Jsonb(msgspec.to_builtins(tallies)),
        sources=Jsonb(msgspec.to_builtins(sources)),
    )
    told = Jsonb(msgspec.to_builtins(metrics))
    if not await move_import(db, run.id, ImportStatus.FINISHED, build_end=now, metrics=told):
        raise Canceled
    await execute(
        db,
        "INSERT INTO finished_imports (import_id, application_id) VALUES (%(id)s, %(application)s)",
        id=run.id,
        application=run.application_id,
    )
    await nudge(db, FINISHED_CHANNEL)


def _told(files: list[FileTotals]) -> list[str]:
    return [
        f"{file.name}: {file.read:,} rows read = {file.applied:,} applied + {file.unchanged:,} unchanged"
        f" + {file.rejected:,} rejected"
        for file in files
    ]


def _changes_told(counted: dict[Kind, Tally]) -> list[str]:
    return [
        f"{_KINDS[kind].capitalize()}: {tally.new:,} new, {tally.altered:,} altered, {tally.removed:,} removed"
        for kind, tally in counted.items()
        if tally.total
    ] or ["Nothing changed"]


async def _matches_told(db: Db, run: Run, after: Totals) -> list[str]:
    if not after.accounts:
        return []
    counts = await matching.counts(db, run.application_id)
    alone = {match: counts.pop(match, 0) for match in ("Never", "Disputed", "Unmatched")}
    parts = [
        f"{sum(counts.values()):,} matched",
        f"{alone['Unmatched']:,} unmatched",
        f"{alone['Disputed']:,} disputed",
    ]
    return [f"Accounts: {', '.join(parts)}"]
