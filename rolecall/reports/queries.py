"""Read reports and their last runs."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import Page, fetch_page
from rolecall.exports import queries as exports
from rolecall.reports.shapes import ReportDetail, ReportSchedule
from rolecall.work_items.shapes import PersonReference, person

_REPORTS = "FROM reports r LEFT JOIN identities o ON o.id = r.owner_id WHERE r.deleted_on IS NULL"
_COLUMNS = """r.id, 'Report' AS kind, r.name, r.description, r.list, r.filters, r.columns, r.period, r.format,
    r.cron, r.location, o.id, o.first_name || ' ' || o.last_name,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'name', p.first_name || ' ' || p.last_name)
                               ORDER BY at), '[]')
     FROM unnest(r.recipient_ids) WITH ORDINALITY AS each (id, at) JOIN identities p USING (id)), r.created_date"""


def _detail(row: Sequence[Any]) -> ReportDetail:
    *plain, cron, location, owner_id, owner, recipients, created_date = row
    schedule = ReportSchedule(cron, location) if cron else None
    people = msgspec.convert(recipients, list[PersonReference])
    return ReportDetail(*(*plain, schedule, person(owner_id, owner), people, created_date, None))


async def by_name(db: Db, page: int) -> Page[ReportDetail]:
    """List reports, ordered by name, each with its last run."""
    found = await fetch_page(
        db,
        _detail,
        page,
        total="SELECT count(*) FROM reports WHERE deleted_on IS NULL",
        items=f"SELECT {_COLUMNS} {_REPORTS} ORDER BY lower(r.name), r.id",
    )
    last = await exports.last_of_reports(db, [report.id for report in found.items])
    return found.map(lambda report: msgspec.structs.replace(report, last_run=last.get(report.id)))


async def named(db: Db, name: str | None = None) -> list[ReportDetail]:
    """Return the report with this name, or all reports sorted by name, without their runs."""
    condition = "" if name is None else " AND r.name = %(name)s"
    rows = await fetch_rows(db, f"SELECT {_COLUMNS} {_REPORTS}{condition} ORDER BY lower(r.name), r.id", name=name)
    return [_detail(row) for row in rows]


async def get(db: Db, id: str | UUID) -> ReportDetail:
    known = known_guid("Report", str(id))
    rows = await fetch_rows(db, f"SELECT {_COLUMNS} {_REPORTS} AND r.id = %(id)s", id=known)
    if not rows:
        raise NotFound("Report", id)
    last = await exports.last_of_reports(db, [known])
    return msgspec.structs.replace(_detail(rows[0]), last_run=last.get(known))


class FailingReport(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    reason: str


async def failing(db: Db) -> list[FailingReport]:
    """List the scheduled reports whose last file could not be written; ignore runs that have not ended."""
    rows = await fetch_rows(
        db,
        """SELECT r.id, r.name, coalesce(e.reason, '') FROM reports r CROSS JOIN LATERAL (
               SELECT status, reason FROM exports WHERE report_id = r.id AND location IS NOT NULL
               AND status <> 'Running' ORDER BY list_key DESC LIMIT 1) AS e
           WHERE r.deleted_on IS NULL AND r.cron IS NOT NULL AND e.status = 'Failed' ORDER BY lower(r.name), r.id""",
    )
    return [FailingReport(*row) for row in rows]
