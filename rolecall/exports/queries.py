from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import Listing, Page, WithoutData, fetch_listed
from rolecall.exports.shapes import ExportCaller, ExportItem

_COLUMNS = """
    e.id, 'Export' AS kind, e.list, e.filters, e.columns, e.format, e.status, e.caller_id, e.caller_kind, e.caller_name,
    e.reason, e.started_on, e.finished_on, e.row_count, e.byte_count,
    encode(e.sha256, 'hex') AS sha256, e.report_id, e.location, e.no_data_before"""


def _item(row: Sequence[Any]) -> ExportItem:
    *first, caller_id, caller_kind, caller_name = row[:10]
    caller, missing = ExportCaller(caller_id, caller_kind, caller_name), msgspec.convert(row[-1], list[WithoutData])
    return ExportItem(*(*first, caller, *row[10:-1], missing))


EXPORTS = Listing(table="exports", row="e", columns=_COLUMNS, make=_item, newest_first=True)


def _own(caller: Caller) -> UUID | None:
    """Return the id of a caller who may see only their own exports; None for a caller who may read the audit."""
    return None if Scope.AUDIT_READ in caller.scopes else caller.id


async def newest_first(db: Db, page: int, caller: Caller) -> Page[ExportItem]:
    return await fetch_listed(db, EXPORTS, page, caller_id=_own(caller))


async def of_report(db: Db, report_id: UUID, page: int) -> Page[ExportItem]:
    """List the runs of a report, newest first."""
    return await fetch_listed(db, EXPORTS, page, report_id=report_id)


async def last_of_reports(db: Db, report_ids: Sequence[UUID]) -> dict[UUID, ExportItem]:
    """Return the last run of each report that has one."""
    # LATERAL with LIMIT reads one index entry for each report, however many runs it has.
    rows = await fetch_rows(
        db,
        f"""SELECT {_COLUMNS} FROM unnest(%(ids)s::uuid[]) AS asked (id) CROSS JOIN LATERAL (
                SELECT * FROM exports x WHERE x.report_id = asked.id ORDER BY list_key DESC LIMIT 1) AS e""",
        ids=list(report_ids),
    )
    runs = [_item(row) for row in rows]
    return {run.report_id: run for run in runs if run.report_id}


async def get(db: Db, id: str, caller: Caller | None = None) -> ExportItem:
    """Get one export; raise NotFound if `caller` is set and must not see it."""
    # `own` is NULL if all exports are visible; the comparison is then NULL, and `coalesce` returns true.
    rows = await fetch_rows(
        db,
        f"""SELECT {_COLUMNS} FROM exports e
            WHERE e.id = %(id)s AND coalesce(e.caller_id = %(own)s, %(own)s::uuid IS NULL)""",
        id=known_guid("Export", id),
        own=caller and _own(caller),
    )
    if not rows:
        raise NotFound("Export", id)
    return _item(rows[0])
