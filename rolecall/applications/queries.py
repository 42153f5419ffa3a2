"""Read applications. Queries of other packages use `SUMMARY_COLUMNS` to return an application."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.applications.shapes import (
    ApplicationConfiguration,
    ApplicationConnector,
    ApplicationDetail,
    ApplicationSummary,
    FileGroup,
    Import,
    ImportFile,
    Metrics,
)
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, mentioned_ids
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.errors import NotFound
from rolecall.core.paging import Listing, Page, fetch_listed, fetch_small

# The columns of ApplicationSummary for an application `a`.
SUMMARY_COLUMNS = "a.id, 'Application' AS kind, a.name, a.priority, a.is_archived, a.last_updated"
SUMMARY_WIDTH = len(ApplicationSummary.__struct_fields__)

# The columns of Import for an import `r`.
IMPORT_COLUMNS = """
    r.id, 'Application Import' AS kind, r.number, r.type, r.status, r.created_by, r.build_start, r.build_end,
    (SELECT string_agg(l.line, E'\\n' ORDER BY l.number) FROM import_log l WHERE l.import_id = r.id) AS log,
    (SELECT json_agg(json_build_array(f.id, f.file_group_id, f.file_group, f.name) ORDER BY f.position)
     FROM import_files f WHERE f.import_id = r.id) AS files, r.metrics"""
IMPORT_WIDTH = len(Import.__struct_fields__)


def summary_from_row(row: Sequence[Any]) -> ApplicationSummary:
    return ApplicationSummary(*row)


APPLICATIONS = Listing(table="applications", row="a", columns=SUMMARY_COLUMNS, make=summary_from_row)


async def lock_application(db: Db, id: UUID) -> None:
    """Lock an application until the transaction ends, before what a change depends on is read.

    This is a statement of its own: a statement that waits for a lock reads other tables as they were before the wait.
    New requests and imports refer to the application, and do not wait for this lock.
    """
    await execute(db, "SELECT FROM applications WHERE id = %(id)s FOR NO KEY UPDATE", id=id)


async def names(db: Db, ids: Iterable[UUID]) -> dict[UUID, str]:
    return dict(await fetch_rows(db, "SELECT id, name FROM applications WHERE id = ANY(%(ids)s)", ids=list(ids)))


async def summaries(db: Db, ids: Iterable[UUID]) -> dict[UUID, ApplicationSummary]:
    rows = await fetch_rows(
        db, f"SELECT {SUMMARY_COLUMNS} FROM applications a WHERE a.id = ANY(%(ids)s)", ids=list(ids)
    )
    return {row[0]: summary_from_row(row) for row in rows}


def import_from_row(row: Sequence[Any]) -> Import:
    *plain, files, metrics = row
    listed = [ImportFile(UUID(id), UUID(group), *names) for id, group, *names in files or ()]
    return Import(*(*plain, listed, metrics and msgspec.convert(metrics, Metrics)))


async def get(db: Db, id: UUID) -> ApplicationDetail:
    rows = await fetch_rows(
        db,
        f"""SELECT {SUMMARY_COLUMNS}, c.id, c.name, c.vendor, c.is_file_based,
                   (SELECT json_agg(json_build_array(g.id, g.name, g.is_optional, g.is_multiple) ORDER BY g.position)
                    FROM file_groups g WHERE g.connector_id = c.id),
                   last.*
            FROM applications a LEFT JOIN connectors c ON c.application_id = a.id
            LEFT JOIN LATERAL (SELECT {IMPORT_COLUMNS} FROM application_imports r
                               WHERE r.application_id = a.id ORDER BY r.number DESC LIMIT 1) AS last ON true
            WHERE a.id = %(id)s""",
        id=id,
    )
    if not rows:
        raise NotFound("Application", id)
    summary, rest = rows[0][:SUMMARY_WIDTH], rows[0][SUMMARY_WIDTH:]
    connector, last = rest[:-IMPORT_WIDTH], rest[-IMPORT_WIDTH:]
    return ApplicationDetail(*(*summary, _connector(connector), import_from_row(last) if last[0] else None))


def _connector(row: Sequence[Any]) -> ApplicationConnector | None:
    id, name, vendor, is_file_based, groups = row
    if id is None:
        return None
    files = [FileGroup(UUID(group), *rest) for group, *rest in groups or ()]
    return ApplicationConnector(id, name, vendor, files if is_file_based else None)


async def configurations(db: Db, *, id: UUID | None = None, name: str | None = None) -> list[ApplicationConfiguration]:
    """Return the configurations of all applications, sorted by name, or of one application."""
    rows = await fetch_rows(
        db,
        """SELECT jsonb_build_object(
                      'id', a.id, 'name', a.name, 'priority', a.priority, 'isIdentitySource', a.is_identity_source,
                      'isArchived', a.is_archived, 'ownerId', a.owner_id, 'provisionerIds', a.provisioner_ids,
                      'guard', a.guard, 'reviewEveryMonths', a.review_every_months,
                      'surpriseReviews', a.surprise_reviews,
                      'schedule', (SELECT jsonb_build_object('cron', s.cron, 'locations', s.locations)
                                   FROM schedules s WHERE s.application_id = a.id),
                      'connector', (SELECT jsonb_build_object('name', c.name, 'vendor', c.vendor, 'files',
                          CASE WHEN c.is_file_based THEN coalesce((
                              SELECT jsonb_agg(jsonb_build_object(
                                  'name', g.name, 'isOptional', g.is_optional, 'isMultiple', g.is_multiple,
                                  'content', g.content, 'columns', g.columns, 'encoding', g.encoding,
                                  'allowRejects', g.allow_rejects, 'shape', g.shape) ORDER BY g.position)
                              FROM file_groups g WHERE g.connector_id = c.id), '[]') END)
                          FROM connectors c WHERE c.application_id = a.id))
           FROM applications a
           WHERE (%(id)s::uuid IS NULL OR a.id = %(id)s) AND (%(name)s::text IS NULL OR a.name = %(name)s)
           ORDER BY a.list_key""",
        id=id,
        name=name,
    )
    return [msgspec.convert(row, ApplicationConfiguration) for (row,) in rows]


async def configuration(db: Db, id: UUID) -> ApplicationConfiguration:
    for found in await configurations(db, id=id):
        return found
    raise NotFound("Application", id)


async def by_name(db: Db, page: int) -> Page[ApplicationSummary]:
    return await fetch_listed(db, APPLICATIONS, page)


async def readable_by(db: Db, caller: Caller, page: int) -> Page[ApplicationSummary]:
    """Return a page of applications.

    People who see only their own records get the applications that they own or provision.
    """
    if not caller.is_limited:
        return await by_name(db, page)
    own = "FROM applications a WHERE a.owner_id = %(me)s OR %(me)s = ANY(a.provisioner_ids)"
    return await fetch_small(
        db, summary_from_row, page, columns=SUMMARY_COLUMNS, rows=own, order="a.list_key", me=caller.id
    )


async def with_mentioned_applications(db: Db, facts: Facts, raw: Json) -> Facts:
    """Add to the facts which applications of the body exist, and which of them are archived."""
    ids = mentioned_ids(raw)
    rows = await fetch_rows(db, "SELECT id, is_archived FROM applications WHERE id = ANY(%(ids)s)", ids=ids)
    return msgspec.structs.replace(
        facts,
        applications=frozenset(id for id, _ in rows),
        archived_applications=frozenset(id for id, is_archived in rows if is_archived),
    )
