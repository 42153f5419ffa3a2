from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.core.authors import Author
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute
from rolecall.core.exporting import Outcome, Plan
from rolecall.exports.model import ExportStatus

# Longer than a download can take: if an export is still Running after this time, its process has died.
_LOST_AFTER = timedelta(hours=6)


async def start_export(db: Db, plan: Plan, author: Author) -> None:
    """Record a new export as Running."""
    await execute(
        db,
        """INSERT INTO exports (id, list, filters, columns, format, status, caller_id, caller_kind, caller_name,
                                started_on, report_id, location)
           VALUES (%(id)s, %(list)s, %(filters)s, %(columns)s, %(format)s, 'Running', %(caller_id)s, %(caller_kind)s,
                   %(caller_name)s, %(now)s, %(report_id)s, %(location)s)""",
        id=plan.id,
        list=plan.list,
        filters=Jsonb(plan.filters),
        columns=[column.name for column in plan.columns],
        format=plan.format,
        # Authors other than tokens and people have no id, but the column is not nullable.
        caller_id=author.caller.id or SYSTEM.id,
        caller_kind=author.caller.kind,
        caller_name=author.caller.name,
        now=author.created_date,
        report_id=plan.report_id,
        location=plan.location,
    )


async def finish_export(db: Db, id: UUID, outcome: Outcome, now: datetime) -> None:
    """Record how an export ended, with a digest only if the export is complete."""
    is_whole = outcome.status == ExportStatus.FINISHED
    # An export that `close_lost_exports` marked as failed stays failed.
    await execute(
        db,
        """UPDATE exports SET status = %(status)s, reason = %(reason)s, finished_on = %(now)s,
                  row_count = %(rows)s, byte_count = %(bytes)s, sha256 = %(sha256)s,
                  no_data_before = %(missing)s
           WHERE id = %(id)s AND status = 'Running'""",
        id=id,
        status=outcome.status,
        reason=outcome.reason,
        now=now,
        rows=outcome.row_count,
        bytes=outcome.byte_count,
        sha256=outcome.sha256 if is_whole else None,
        missing=Jsonb(msgspec.to_builtins(outcome.no_data_before)),
    )


async def close_lost_exports(db: Db, now: datetime) -> None:
    """Mark as failed the exports that began more than six hours ago and did not end.

    Skip scheduled exports, because a worker writes their files again.
    """
    await execute(
        db,
        """UPDATE exports SET status = 'Failed', reason = 'The service stopped', finished_on = %(now)s
           WHERE status = 'Running' AND location IS NULL AND started_on < %(before)s""",
        now=now,
        before=now - _LOST_AFTER,
    )
