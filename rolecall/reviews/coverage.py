"""Report when each application was last reviewed, and which reviews are overdue."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.paging import Page, fetch_page, totals_of
from rolecall.reviews.shapes import NamedReference

# SQL that is true if the scope of review `r` is narrowed by nothing, or only by application.
IS_WHOLE = """NOT EXISTS (SELECT FROM jsonb_each(r.scope) AS part
    WHERE part.key <> 'applicationIds' AND part.value NOT IN ('[]', 'null'))"""
# SQL that is true for an item `{row}` that the service kept because nobody decided about it.
KEPT_BY_SILENCE = f"""({{row}}.decision = 'Keep' AND {{row}}.decided_by = '{SYSTEM.id}' AND NOT {{row}}.is_carried)"""
# SQL that is true if review `r` skipped no item in the application of `p`: each withdrawn item has an import that no
# longer shows its access, and no item was kept because nobody decided. The second check reads items only if the
# service kept some.
WAS_SEEN = f"""NOT EXISTS (SELECT FROM review_items w WHERE w.review_id = r.id AND w.application_id = p.application_id
    AND w.status = 'Withdrawn' AND w.withdrawn_import IS NULL)
    AND NOT EXISTS (SELECT FROM review_changes k JOIN review_items w ON w.review_id = k.review_id
                    WHERE r.on_silence = 'approve' AND k.review_id = r.id AND k.change = 'No Response'
                      AND w.application_id = p.application_id AND {KEPT_BY_SILENCE.format(row="w")})"""
# SQL that is true if review `r` covers the whole application of its population `p`: its type includes all access of
# accounts, its scope is narrowed only by application, no item was skipped, and it was not opened because of an import.
COVERS = f"""r.opened_by_import IS NULL AND r.type IN ('Application', 'Supervisor', 'Entitlement')
      AND {IS_WHOLE} AND {WAS_SEEN}"""
# SQL that is true if `r` is a review of access, was completed no later than %(moment)s, and has the scope %(scope)s;
# applications and accounts in the scope are ignored.
SAME_SCOPE = """r.status = 'Completed' AND r.completed_on <= %(moment)s
    AND r.type IN ('Application', 'Supervisor', 'Entitlement', 'Changed')
    AND r.scope - 'applicationIds' - 'accountIds' = %(scope)s::jsonb - 'applicationIds' - 'accountIds'"""


class CoveringReview(msgspec.Struct, frozen=True, rename="camel"):
    id: UUID
    number: int
    name: str
    due_on: datetime
    completed_on: datetime | None


class ApplicationCoverage(msgspec.Struct, frozen=True, rename="camel"):
    """When an application was reviewed last, and when the next review must be complete.

    `reviewEveryMonths` is null if the application need not be reviewed. `dueOn` counts from the last completed review
    or, without one, from the first import.
    """

    application: NamedReference
    review_every_months: int | None
    last_review: CoveringReview | None
    open_review: CoveringReview | None
    due_on: datetime | None
    is_overdue: bool


# Reviews that cover the whole application `a`.
_COVERING = f"""SELECT r.id, r.number, r.name, r.due_on, r.completed_on FROM reviews r
    JOIN review_populations p ON p.review_id = r.id AND p.application_id = a.id
    WHERE {COVERS}"""
_FROM = f"""FROM applications a
    LEFT JOIN LATERAL ({_COVERING} AND r.status = 'Completed' ORDER BY r.completed_on DESC LIMIT 1) AS last ON true
    LEFT JOIN LATERAL ({_COVERING} AND r.status IN ('Open', 'Closed') ORDER BY r.number DESC LIMIT 1) AS now ON true
    LEFT JOIN LATERAL (SELECT min(i.build_end) AS seen FROM application_imports i
                       WHERE i.application_id = a.id AND i.status = 'Finished') AS first ON true
    CROSS JOIN LATERAL (SELECT coalesce(last.completed_on, first.seen)
                               + make_interval(months => a.review_every_months) AS due_on) AS next
    WHERE NOT a.is_archived"""
_COLUMNS = """a.id, a.name, a.review_every_months, last.id, last.number, last.name, last.due_on, last.completed_on,
    now.id, now.number, now.name, now.due_on, now.completed_on, next.due_on"""


async def coverage(db: Db, page: int, now: datetime) -> Page[ApplicationCoverage]:
    """List applications, ordered by name, with the reviews that cover them."""

    def from_row(row: Sequence[Any]) -> ApplicationCoverage:
        id, name, every, *rest = row
        last, current, due_on = rest[:5], rest[5:10], rest[10]
        return ApplicationCoverage(
            NamedReference(id, name),
            every,
            CoveringReview(*last) if last[0] else None,
            CoveringReview(*current) if current[0] else None,
            due_on,
            due_on is not None and due_on <= now,
        )

    return await fetch_page(
        db,
        from_row,
        page,
        total="SELECT count(*) FROM applications a WHERE NOT a.is_archived",
        items=f"SELECT {_COLUMNS} {_FROM} ORDER BY a.list_key",
    )


async def overdue_count(db: Db, now: datetime) -> int:
    """Count the applications whose review is overdue."""
    count: int = await fetch_value(db, f"SELECT count(*) {_FROM} AND next.due_on <= %(now)s", now=now)
    return count


class ReviewNumbers(msgspec.Struct, frozen=True):
    """Metrics: unfinished reviews and items, overdue reviews, and applications whose review is overdue."""

    by_status: dict[str, int]
    pending_items: int
    flagged_items: int
    overdue_reviews: int
    overdue_applications: int


# Count access that returned, or whose acceptance ended, after its review was completed, except in archived
# applications.
_FLAGGED_AFTERWARDS = """
    SELECT count(*) FROM review_items c JOIN reviews r ON r.id = c.review_id AND r.status = 'Completed'
    LEFT JOIN applications a ON a.id = c.application_id
    WHERE c.status = 'Flagged' AND coalesce(c.accepted_until, '-infinity') <= %(now)s AND a.is_archived IS NOT TRUE"""


async def numbers(db: Db, now: datetime) -> ReviewNumbers:
    rows = await fetch_rows(
        db, "SELECT id, status, due_on FROM reviews WHERE status IN ('Draft', 'Open', 'Closed') ORDER BY number"
    )
    by_status = {status: sum(each == status for _, each, _ in rows) for status in ("Draft", "Open", "Closed")}
    running = [id for id, status, _ in rows if status != "Draft"]
    pending, flagged = [
        sum(await totals_of(db, "review_items", [{"review_id": str(id), "status": status} for id in running]))
        for status in ("Pending", "Flagged")
    ]
    flagged += await fetch_value(db, _FLAGGED_AFTERWARDS, now=now)
    overdue = sum(status == "Open" and due_on <= now for _, status, due_on in rows)
    return ReviewNumbers(by_status, pending, flagged, overdue, await overdue_count(db, now))
