"""Read imports and what belongs to them, such as holds, files and rejected rows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.application_imports.model import (
    DownloadableFile,
    EndedImports,
    FailingSchedule,
    ImportNumbers,
    ImportStatus,
    ImportTarget,
    ReadProgress,
)
from rolecall.application_imports.shapes import ImportDetail, ImportItem, RejectItem
from rolecall.applications.queries import (
    IMPORT_COLUMNS,
    IMPORT_WIDTH,
    SUMMARY_COLUMNS,
    SUMMARY_WIDTH,
    import_from_row,
    summary_from_row,
)
from rolecall.applications.shapes import FileGroup, Import
from rolecall.core.db import Db, fetch_all, fetch_one, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.core.paging import (
    FrozenListing,
    Listing,
    Page,
    fetch_frozen,
    fetch_listed,
)


async def get(db: Db, id: UUID) -> ImportDetail:
    rows = await fetch_rows(
        db,
        f"""SELECT {IMPORT_COLUMNS}, {SUMMARY_COLUMNS}
            FROM application_imports r JOIN applications a ON a.id = r.application_id WHERE r.id = %(id)s""",
        id=id,
    )
    if not rows:
        raise NotFound("ApplicationImport", id)
    run = import_from_row(rows[0][:IMPORT_WIDTH])
    return ImportDetail(**msgspec.structs.asdict(run), application=summary_from_row(rows[0][IMPORT_WIDTH:]))


async def get_alone(db: Db, id: UUID) -> Import:
    """Return an import without its application, as in the response to a request that creates the import."""
    rows = await fetch_rows(db, f"SELECT {IMPORT_COLUMNS} FROM application_imports r WHERE r.id = %(id)s", id=id)
    return import_from_row(rows[0])


def _item(row: Sequence[Any]) -> ImportItem:
    return ImportItem(*(*row[:-SUMMARY_WIDTH], summary_from_row(row[-SUMMARY_WIDTH:])))


IMPORTS = Listing(
    table="application_imports",
    row="r",
    columns=f"r.id, 'Application Import', r.number, r.type, r.status, r.build_start, r.build_end, {SUMMARY_COLUMNS}",
    joins="JOIN applications a ON a.id = r.application_id",
    make=_item,
    facets=("application_id",),
    newest_first=True,
)


async def newest_first(db: Db, page: int, application_id: UUID | None) -> Page[ImportItem]:
    """Return a page of imports: first those that wait to start, then the others by start, newest first."""
    return await fetch_listed(db, IMPORTS, page, application_id=application_id)


async def status_of(db: Db, id: UUID) -> ImportStatus | None:
    status = await fetch_value(db, "SELECT status FROM application_imports WHERE id = %(id)s", id=id)
    return status and ImportStatus(status)


async def failure_of(db: Db, id: UUID) -> str | None:
    """Return why an import failed, or None if it did not."""
    reason: str | None = await fetch_value(db, "SELECT failure FROM application_imports WHERE id = %(id)s", id=id)
    return reason


# Include an application that is no longer marked as the identity source: a rollback would still change people.
_IS_IDENTITY_SOURCE = """(a.is_identity_source OR EXISTS (
    SELECT FROM identity_versions v WHERE v.application_id = a.id AND v.until_import IS NULL))"""


async def is_of_identity_source(db: Db, import_id: UUID) -> bool:
    found = await fetch_value(
        db,
        f"""SELECT {_IS_IDENTITY_SOURCE} FROM application_imports r JOIN applications a ON a.id = r.application_id
            WHERE r.id = %(id)s""",
        id=import_id,
    )
    return bool(found)


async def target(db: Db, application_id: UUID) -> ImportTarget | None:
    rows = await fetch_rows(
        db,
        f"""SELECT a.is_archived, {_IS_IDENTITY_SOURCE},
                  EXISTS (SELECT FROM schedules s WHERE s.application_id = a.id)
                  OR EXISTS (SELECT FROM sources s WHERE s.application_id = a.id),
                  coalesce(c.is_file_based, false),
                  (SELECT json_agg(json_build_array(g.id, g.name, g.is_optional, g.is_multiple) ORDER BY g.position)
                   FROM file_groups g WHERE g.connector_id = c.id)
           FROM applications a LEFT JOIN connectors c ON c.application_id = a.id WHERE a.id = %(id)s""",
        id=application_id,
    )
    if not rows:
        return None
    is_archived, is_identity_source, has_schedule, is_file_based, groups = rows[0]
    files = [FileGroup(UUID(id), *rest) for id, *rest in groups or ()]
    return ImportTarget(is_archived, is_identity_source, has_schedule, files if is_file_based else None)


class Hold(msgspec.Struct, frozen=True):
    """The reason why the guard holds an import.

    `is_own` means that the caller also supplied the data of the import. For a token, its owner is compared.
    """

    reason: str
    lowers_risk: bool
    is_own: bool


async def hold_of(db: Db, import_id: UUID, caller_id: UUID) -> Hold | None:
    return await fetch_one(
        db,
        Hold,
        """SELECT u.held AS reason, u.lowers_risk,
                  coalesce(coalesce(supplier.owner_id, i.supplied_by) = coalesce(asking.owner_id, %(caller)s), false)
                  AS is_own
           FROM import_runs u JOIN application_imports i ON i.id = u.import_id
           LEFT JOIN tokens supplier ON supplier.id = i.supplied_by LEFT JOIN tokens asking ON asking.id = %(caller)s
           WHERE u.import_id = %(id)s AND u.held IS NOT NULL AND i.status = 'Running'""",
        id=import_id,
        caller=caller_id,
    )


async def file_of(db: Db, import_id: UUID, file_id: UUID) -> DownloadableFile:
    found = await fetch_one(
        db,
        DownloadableFile,
        "SELECT name, size, location FROM import_files WHERE import_id = %(import)s AND id = %(file)s",
        **{"import": import_id, "file": file_id},
    )
    if found:
        return found
    raise NotFound("ImportFile", file_id)


_REJECTS = FrozenListing(
    columns="r.file_id, f.name, r.line, r.reason, r.row",
    rows="FROM import_rejects r JOIN import_files f ON f.id = r.file_id WHERE r.import_id = %(id)s",
    key={"f.position": "int", "r.line": "int"},
    make=lambda row: RejectItem(*row),
)


async def rejects_of(db: Db, import_id: UUID, page: int) -> Page[RejectItem]:
    """Return a page of rejected rows, sorted by file and line. They are stored when the import ends or is held."""
    run = await get(db, import_id)
    name = f"rejects of {import_id}, {run.status}"
    return await fetch_frozen(db, _REJECTS, name, page, id=import_id)


async def is_finished(db: Db, application_id: UUID, number: int) -> bool:
    found = await fetch_value(
        db,
        """SELECT true FROM application_imports
           WHERE application_id = %(application)s AND number = %(number)s AND status = 'Finished'""",
        application=application_id,
        number=number,
    )
    return found is True


async def failing_schedules(db: Db) -> list[FailingSchedule]:
    """Return unarchived applications whose last three scheduled imports failed; canceled imports do not count."""
    rows = await fetch_rows(
        db,
        """SELECT a.id, a.name FROM applications a JOIN schedules s ON s.application_id = a.id
           WHERE NOT a.is_archived AND (
               SELECT count(*) FILTER (WHERE status = 'Failed') FROM (
                   SELECT i.status FROM application_imports i
                   WHERE i.application_id = a.id AND i.type = 'Scheduled' AND i.status IN ('Finished', 'Failed')
                   ORDER BY i.number DESC LIMIT 3) AS last) = 3
           ORDER BY a.name_key, a.id""",
    )
    return [FailingSchedule(*row) for row in rows]


async def count_failing_schedules(db: Db) -> int:
    return len(await failing_schedules(db))


async def numbers(db: Db, now: datetime) -> ImportNumbers:
    at_work = await fetch_rows(
        db,
        """SELECT s.status, count(i.id), count(r.held), min(i.created_at)
           FROM unnest(ARRAY['Pending', 'Running', 'Canceling']) AS s (status)
           LEFT JOIN application_imports i ON i.status = s.status AND i.status IN ('Pending', 'Running', 'Canceling')
           LEFT JOIN import_runs r ON r.import_id = i.id AND i.status = 'Running'
           GROUP BY s.status""",
    )
    ended = await fetch_all(
        db,
        EndedImports,
        """SELECT s.status, count(i.id) AS count,
                  coalesce(sum(extract(epoch FROM i.build_end - coalesce(i.build_start, i.build_end))), 0)::float8
                  AS seconds
           FROM unnest(ARRAY['Canceled', 'Failed', 'Finished']) AS s (status)
           LEFT JOIN application_imports i ON i.status = s.status GROUP BY s.status ORDER BY s.status""",
    )
    rows = await fetch_rows(
        db,
        """SELECT outcome, coalesce(sum((file ->> outcome)::bigint), 0)::bigint
           FROM unnest(ARRAY['applied', 'rejected', 'unchanged']) AS outcome
           LEFT JOIN (import_runs r CROSS JOIN jsonb_array_elements(r.totals) AS file) ON true
           GROUP BY outcome ORDER BY outcome""",
    )
    oldest = {status: since for status, _, _, since in at_work}["Pending"]
    return ImportNumbers(
        {status: count for status, count, _, _ in at_work},
        sum(held for _, _, held, _ in at_work),
        max((now - oldest).total_seconds(), 0.0) if oldest else 0.0,
        ended,
        dict(rows),
        await fetch_value(db, "SELECT coalesce(sum(skipped), 0)::bigint FROM schedule_firings"),
    )


async def progress_of(db: Db, id: UUID) -> ReadProgress | None:
    """Return how much of its files an import or a dry run has read; None if no progress is recorded."""
    rows = await fetch_rows(db, "SELECT read, total FROM read_progress WHERE id = %(id)s AND total > 0", id=id)
    return ReadProgress(*rows[0]) if rows else None


async def is_current(db: Db, import_id: UUID) -> bool:
    """Return whether an import is the last finished one of its application, whose data is the current data."""
    found = await fetch_value(
        db,
        """SELECT true FROM application_imports i WHERE i.id = %(id)s AND i.status = 'Finished' AND NOT EXISTS
           (SELECT FROM application_imports later WHERE later.application_id = i.application_id
            AND later.status = 'Finished' AND later.number > i.number)""",
        id=import_id,
    )
    return found is True
