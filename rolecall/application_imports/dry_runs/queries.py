from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from rolecall.application_imports import changes
from rolecall.application_imports.dry_runs.model import Draft, DryRunResult, DryRunStatus
from rolecall.application_imports.dry_runs.shapes import ChangeCount, DryRunDetail, DryRunFile, MatchCounts
from rolecall.application_imports.model import ChangeType, RecordKind
from rolecall.application_imports.shapes import ChangeItem, RejectItem
from rolecall.applications.queries import SUMMARY_COLUMNS, SUMMARY_WIDTH, summary_from_row
from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.core.paging import FrozenListing, Page, fetch_frozen

# The match statuses of accounts without a person.
_WITHOUT_PERSON = ("Unmatched", "Disputed", "Never")
_MOST_DRAFTS = 20


async def get(db: Db, id: UUID, caller: Caller) -> DryRunDetail:
    """Return a dry run that the caller created; raise NotFound for any other."""
    rows = await fetch_rows(
        db,
        f"""SELECT {SUMMARY_COLUMNS}, d.status, d.created_by, d.created_at, d.started_at, d.ended_at, d.log, d.failure,
                   d.result,
                   (SELECT json_agg(json_build_array(f.id, f.file_group, f.name) ORDER BY f.position)
                    FROM dry_run_files f WHERE f.dry_run_id = d.id)
            FROM dry_runs d LEFT JOIN applications a ON a.id = d.application_id
            WHERE d.id = %(id)s AND d.caller_id = %(caller)s""",
        id=id,
        caller=caller.id,
    )
    if not rows:
        raise NotFound("DryRun", id)
    summary, (*plain, log, failure, result, files) = rows[0][:SUMMARY_WIDTH], rows[0][SUMMARY_WIDTH:]
    application = summary_from_row(summary) if summary[0] else None
    found = msgspec.convert(result, DryRunResult) if result else None
    status, created_by, created, started, ended = plain
    return DryRunDetail(
        id,
        "Dry Run",
        DryRunStatus(status),
        application,
        created_by,
        created,
        started,
        ended,
        _files(files or [], found),
        log,
        failure or (found.problem if found else None),
        found.held if found else None,
        found.metrics if found else None,
        _changes(found) if found else None,
        _matches(found) if found else None,
        found.disputes if found else None,
        found.totals if found else None,
        found.readings if found else None,
    )


def _files(files: list[Any], result: DryRunResult | None) -> list[DryRunFile]:
    # A file has totals for each of its contents. Show those of the first content, which usually has one row per line.
    totals = {total.file_id: total for total in reversed(result.files)} if result else {}
    tried = []
    for id, group, name in files:
        total = totals.get(UUID(id))
        counts = (total.read, total.applied, total.unchanged, total.rejected) if total else ()
        tried.append(DryRunFile(UUID(id), group, name, *counts))
    return tried


def _changes(result: DryRunResult) -> list[ChangeCount]:
    return [ChangeCount(kind, tally.new, tally.altered, tally.removed) for kind, tally in result.changes.items()]


def _matches(result: DryRunResult) -> MatchCounts:
    unmatched, disputed, never = (result.matches.get(match, 0) for match in _WITHOUT_PERSON)
    return MatchCounts(sum(result.matches.values()) - unmatched - disputed - never, unmatched, disputed, never)


async def changes_of(
    db: Db, id: UUID, caller: Caller, page: int, kind: RecordKind | None, change: ChangeType | None
) -> Page[ChangeItem]:
    await _version_of(db, id, caller)
    return await changes.previewed_changes(db, id, page, kind, change)


_REJECTS = FrozenListing(
    columns="r.file_id, f.name, r.line, r.reason, r.row",
    rows="FROM dry_run_rejects r JOIN dry_run_files f ON f.id = r.file_id WHERE r.dry_run_id = %(id)s",
    key={"f.position": "int", "r.line": "int"},
    make=lambda row: RejectItem(*row),
)


async def rejects_of(db: Db, id: UUID, caller: Caller, page: int) -> Page[RejectItem]:
    """Return a page of the rejected rows of a dry run, sorted by file and line."""
    # Give the list a new name after each run, because the stored page boundaries of an earlier run would be wrong.
    version = await _version_of(db, id, caller)
    return await fetch_frozen(db, _REJECTS, f"rejects of dry run {id}, {version}", page, id=id)


async def _version_of(db: Db, id: UUID, caller: Caller) -> object:
    """Return when a dry run ended, or its status if it has not ended; raise NotFound if another caller created it."""
    (version,) = await _own(db, "SELECT coalesce(ended_at::text, status)", id, caller)
    return version


async def _own(db: Db, columns: str, id: UUID, caller: Caller, lock: str = "") -> Sequence[Any]:
    sql = f"{columns} FROM dry_runs WHERE id = %(id)s AND caller_id = %(caller)s {lock}"
    rows = await fetch_rows(db, sql, id=id, caller=caller.id)
    if not rows:
        raise NotFound("DryRun", id)
    return rows[0]


class DraftFile(NamedTuple):
    id: UUID
    file_group: str
    name: str
    sha256: bytes
    size: int
    location: str


class OpenDraft(msgspec.Struct, frozen=True):
    """A draft that its author can continue in the wizard. `name` is the name of the application."""

    id: UUID
    name: str
    files: list[str]
    created_date: datetime
    is_of_changed_files: bool


async def drafts_of(db: Db, caller: Caller, application_id: UUID | None = None) -> list[OpenDraft]:
    """Return the newest 20 drafts that the caller made in the wizard, for one application or for all."""
    rows = await fetch_rows(
        db,
        """SELECT d.id, coalesce(a.name, d.draft ->> 'name', ''),
                  array(SELECT f.name FROM dry_run_files f WHERE f.dry_run_id = d.id ORDER BY f.position),
                  d.created_at, a.id IS NOT NULL
           FROM dry_runs d LEFT JOIN applications a ON a.id = d.application_id
           WHERE d.caller_id = %(caller)s AND d.proposal IS NOT NULL
                 AND (%(application)s::uuid IS NULL OR a.id = %(application)s)
           ORDER BY d.created_at DESC LIMIT %(most)s""",
        caller=caller.id,
        application=application_id,
        most=_MOST_DRAFTS,
    )
    return [OpenDraft(*row) for row in rows]


async def files_of(db: Db, id: UUID) -> list[DraftFile]:
    rows = await fetch_rows(
        db,
        """SELECT id, file_group, name, sha256, size, location FROM dry_run_files
           WHERE dry_run_id = %(id)s ORDER BY position""",
        id=id,
    )
    return [DraftFile(*row) for row in rows]


async def draft_of(db: Db, id: UUID, caller: Caller) -> Draft:
    """Lock a draft of the caller and return it."""
    return Draft(*await _own(db, "SELECT application_id, draft", id, caller, lock="FOR UPDATE"))


async def proposal_of(db: Db, id: UUID) -> Any:
    return await fetch_value(db, "SELECT proposal FROM dry_runs WHERE id = %(id)s", id=id)
