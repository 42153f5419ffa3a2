"""Query the numbers of the home page and the navigation, and the additional columns of request lists."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from rolecall.access_requests import queries as requests
from rolecall.access_requests.model import AWAITED
from rolecall.access_requests.permitted import CARRIED_OUT_BY, NOT_PARTY
from rolecall.access_requests.shapes import AccessRequestDetail, AccessRequestItem
from rolecall.applications.model import ImportStatus
from rolecall.console.model import Person
from rolecall.core.db import Db, fetch_all, fetch_one, fetch_rows, fetch_value
from rolecall.core.paging import LAST_KEY, PAGE_SIZE, Page, Whole, whole
from rolecall.core.text import some_of
from rolecall.settings.policy import Level, RequirementType

OVERDUE = timedelta(days=7)
TROUBLE_LASTS = timedelta(days=7)
CHART_DAYS = 30

# Pending responses of a person and of the reviewers for whom they stand in, except:
# - responses to rules that are already met;
# - responses to requests to which the person is a party, and approvals for a group that the person is in;
# - verifications of access that the person or the reviewer provisioned;
# - approvals and verifications as a stand-in, if the person also responds to the request in another capacity.
_ASKED = f"""
    FROM responses p JOIN access_requests r ON r.id = p.request_id
    WHERE p.reviewer_id = ANY(%(me)s) AND p.response = 'Pending' AND p.asked AND p.type = %(type)s
      AND r.status = %(status)s AND {NOT_PARTY}
      AND NOT (p.type = 'Approve' AND r.identity_id IS NULL AND %(own)s = ANY(barred_members(r)))
      AND NOT ARRAY[%(own)s, p.reviewer_id] && {CARRIED_OUT_BY}
      AND (p.reviewer_id IN (%(own)s, administrators_id()) OR p.type = 'Resolve' OR NOT EXISTS (
               SELECT FROM responses o
               WHERE o.request_id = p.request_id AND o.type = p.type AND o.reviewer_id <> p.reviewer_id
                 AND (o.reviewer_id = %(own)s AND o.asked OR o.stand_in_id = %(own)s)))
      AND NOT EXISTS (SELECT FROM responses met WHERE met.request_id = p.request_id AND met.type = p.type
                                                  AND met.rule = p.rule AND met.response = 'Approved')"""


# The navigation shows 99+ for this number or more.
_MOST_COUNTED = 100


async def waiting(db: Db, person: Person) -> dict[RequirementType, int]:
    """Count the requests that wait for this person's response, up to a limit to keep pages fast."""
    # One query counts all types, so replace the parameters with columns.
    asked = _ASKED.replace("%(type)s", "each.type").replace("%(status)s", "each.status")
    # Use the reviewers of each type, because a person may stand in for one type of response only.
    asked = asked.replace("%(me)s", "ARRAY(SELECT m.id FROM reviewers m WHERE m.type = each.type)")
    reviewers, answered = person.reviewers()
    rows = await fetch_rows(
        db,
        f"""WITH reviewers AS MATERIALIZED (
                SELECT * FROM unnest(%(reviewers)s::uuid[], %(answered)s::text[]) AS m (id, type))
            SELECT each.type, found.rows, found.requests
            FROM unnest(%(types)s::text[], %(statuses)s::text[]) AS each (type, status)
            CROSS JOIN LATERAL (SELECT count(*) AS rows, count(DISTINCT request_id) AS requests
                                FROM (SELECT p.request_id {asked} LIMIT {_MOST_COUNTED}) AS asked) AS found""",
        own=person.id,
        reviewers=reviewers,
        answered=answered,
        types=list(AWAITED.keys()),
        statuses=list(AWAITED.values()),
    )
    # If the query reached its row limit, return the limit: the rows beyond it may contain more requests.
    return {RequirementType(type): found if count < _MOST_COUNTED else count for type, count, found in rows}


class Tiles(msgspec.Struct, frozen=True):
    """The numbers on the home page: work that waits for this person, coming events, and all overdue or failed work."""

    to_approve: int
    to_provision: int
    to_verify: int
    overdue: int
    coming_events: int
    troubled_imports: int
    failing_hooks: int


async def tiles(db: Db, person: Person, now: datetime) -> Tiles:
    asked = [await _count_asked(db, person, type) for type in RequirementType]
    rows = await fetch_rows(
        db,
        f"""SELECT
              (SELECT count(*) FROM waiting_requests WHERE list_key >= '' AND list_key < time_key(%(overdue)s, 0)),
              (SELECT count(*) FROM personnel_events WHERE status IN ('Scheduled', 'Pending', 'Open')
               AND list_key >= time_key(%(now)s, 0) AND list_key < time_key(%(now)s + interval '7 days', 0)),
              (SELECT count(*) {_TROUBLED}),
              (SELECT count(*) FROM webhooks WHERE deleted_on IS NULL
               AND (failing_since IS NOT NULL OR disabled_reason IS NOT NULL))""",
        overdue=now - OVERDUE,
        now=now,
        since=now - TROUBLE_LASTS,
    )
    return Tiles(*asked, *rows[0])


def _reviewer(person: Person, type: RequirementType) -> dict[str, Any]:
    """Return the parameters of `_ASKED` for a person and a type of response."""
    return {"own": person.id, "me": person.answers_as(type), "type": type, "status": AWAITED[type]}


async def _count_asked(db: Db, person: Person, type: RequirementType) -> int:
    count: int = await fetch_value(
        db,
        # A request occurs once for each rule under which this person is asked to respond.
        f"SELECT count(DISTINCT p.request_id) {_ASKED}",
        **_reviewer(person, type),
    )
    return count


async def asked_among(db: Db, person: Person, type: RequirementType, ids: Sequence[UUID]) -> set[UUID]:
    """Return which of these requests wait for this person's response."""
    rows = await fetch_rows(
        db,
        f"SELECT DISTINCT p.request_id {_ASKED} AND p.request_id = ANY(%(ids)s)",
        ids=list(ids),
        **_reviewer(person, type),
    )
    return {id for (id,) in rows}


async def asking(
    db: Db, person: Person, type: RequirementType, page: int, size: int = PAGE_SIZE
) -> Page[AccessRequestDetail]:
    """List the requests that wait for this person's response, oldest first."""
    total = await _count_asked(db, person, type)
    rows = await fetch_rows(
        db,
        f"SELECT DISTINCT r.number, r.id {_ASKED} ORDER BY r.number LIMIT {size:d} OFFSET %(offset)s",
        **_reviewer(person, type),
        offset=(page - 1) * size,
    )
    found = await requests.details(db, [id for _, id in rows])
    return Page(found, total, page, size, -(-total // size))


def all_asking(person: Person, type: RequirementType) -> Whole[AccessRequestItem]:
    """List all requests that wait for this person's response, oldest first, to be exported."""
    return whole(
        requests.item_from_row,
        f"SELECT {requests.LISTED} WHERE r.id IN (SELECT p.request_id {_ASKED}) ORDER BY r.number",
        **_reviewer(person, type),
    )


# Imports that failed recently and were not followed by a finished import of the same application, and imports that the
# guard holds. The range of keys has both bounds: with one, the planner would expect a third of the table's rows.
_TROUBLED = f"""
    FROM (SELECT f.id FROM application_imports f
          WHERE f.status = 'Failed' AND f.list_key >= time_key(%(since)s, 0) AND f.list_key < {LAST_KEY}
            AND NOT EXISTS (SELECT FROM application_imports later
                            WHERE later.application_id = f.application_id AND later.number > f.number
                              AND later.status = 'Finished')
          UNION ALL
          SELECT i.id FROM application_imports i JOIN import_runs u ON u.import_id = i.id
          WHERE i.status = 'Running' AND u.held IS NOT NULL) AS troubled"""


class TroubledImport(msgspec.Struct, frozen=True, rename="camel"):
    id: UUID
    number: int
    application: str
    status: str
    build_start: datetime | None
    held: str | None
    failure: str | None

    @property
    def why(self) -> str:
        return self.held or self.failure or ""


_TROUBLE = "SELECT r.id, r.number, a.name AS application, r.status, r.build_start, u.held, r.failure"


async def failed_schedule(db: Db, application_id: UUID) -> TroubledImport | None:
    """Return the last scheduled import of an application if it failed and the application still has a schedule.

    Ignore imports that are running or were canceled.
    """
    last = await fetch_one(
        db,
        TroubledImport,
        f"""{_TROUBLE} FROM application_imports r JOIN applications a ON a.id = r.application_id
            LEFT JOIN import_runs u ON u.import_id = r.id JOIN schedules s ON s.application_id = a.id
            WHERE a.id = %(id)s AND r.type = 'Scheduled' AND r.status IN ('Finished', 'Failed')
            ORDER BY r.number DESC LIMIT 1""",
        id=application_id,
    )
    return last if last and last.status == ImportStatus.FAILED else None


async def troubled_imports(db: Db, now: datetime) -> list[TroubledImport]:
    """List imports that failed recently, and imports that the guard holds.

    Omit a failed import if a later one of the same application finished. Return at most one page, newest first.
    """
    return await fetch_all(
        db,
        TroubledImport,
        f"""{_TROUBLE} {_TROUBLED} JOIN application_imports r USING (id) LEFT JOIN import_runs u ON u.import_id = r.id
            JOIN applications a ON a.id = r.application_id
            ORDER BY r.number DESC LIMIT {PAGE_SIZE}""",
        since=now - TROUBLE_LASTS,
    )


class RequestColumns(msgspec.Struct, frozen=True):
    """Columns of a request list that the API item lacks; `permissions` has the first two of `count` permissions."""

    created_at: datetime
    risk: Level
    permissions: list[str]
    count: int

    @property
    def access(self) -> str:
        """Return the requested privileges as text, such as `Post journal and 2 more`; empty for a whole account."""
        return " and ".join(self.permissions) if self.count <= 2 else some_of(self.permissions, 1, self.count)


async def beside(db: Db, ids: Sequence[UUID]) -> dict[UUID, RequestColumns]:
    rows = await fetch_rows(
        db,
        # Ratings are stored as words, so compare their positions in the enum.
        """SELECT r.id, r.created_at, coalesce(p.risk, 1), coalesce(p.names[:2], '{}'), coalesce(p.count, 0)
           FROM access_requests r
           LEFT JOIN LATERAL (SELECT max(array_position(%(rising)s, risk_rating)) AS risk, count(*) AS count,
                                     array_agg(coalesce(nullif(permission, ''), section) ORDER BY position) AS names
                              FROM privileges WHERE request_id = r.id) AS p ON true
           WHERE r.id = ANY(%(ids)s)""",
        ids=list(ids),
        rising=list(Level),
    )
    return {
        id: RequestColumns(created_at, list(Level)[risk - 1], names, count)
        for id, created_at, risk, names, count in rows
    }


class MedianTimes(msgspec.Struct, frozen=True):
    """The median seconds from creation to approval, and from start to resolution, of the requests in the chart.

    A value is None if no request has reached that point.
    """

    to_approve: float | None
    to_resolve: float | None


async def medians(db: Db, now: datetime) -> MedianTimes:
    found = await fetch_one(
        db,
        MedianTimes,
        f"""SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM approved_on - created_at)::float8)
                      AS to_approve,
                  percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM resolved_on - started_on)::float8)
                      AS to_resolve
           FROM access_requests WHERE list_key >= time_key(%(since)s, 0) AND list_key < {LAST_KEY}""",
        since=now - timedelta(days=CHART_DAYS),
    )
    assert found
    return found


async def by_day(db: Db, now: datetime) -> dict[datetime, dict[str, int]]:
    """Count the requests created on each day of the chart, by current status."""
    rows = await fetch_rows(
        db,
        f"""SELECT date_trunc('day', created_at, 'UTC'), status, count(*) FROM access_requests
           WHERE list_key >= time_key(date_trunc('day', %(since)s, 'UTC'), 0) AND list_key < {LAST_KEY}
           GROUP BY 1, 2""",
        since=now - timedelta(days=CHART_DAYS - 1),
    )
    # `now` is in UTC, and so are the days of the query.
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    days: dict[datetime, dict[str, int]] = {today - timedelta(days=n): {} for n in range(CHART_DAYS - 1, -1, -1)}
    for day, status, count in rows:
        days.setdefault(day, {})[status] = count
    return days


class SetupProgress(msgspec.Struct, frozen=True):
    """Which steps of setting up a new service are done."""

    applications: bool
    imports: bool
    identities: bool
    models: bool
    requests: bool


async def setup_progress(db: Db) -> SetupProgress:
    # Require two identities, because `rolecall admin create` may have created the first one.
    found = await fetch_one(
        db,
        SetupProgress,
        """SELECT EXISTS (SELECT FROM applications) AS applications,
                  EXISTS (SELECT FROM application_imports WHERE status = 'Finished') AS imports,
                  (SELECT count(*) FROM (SELECT FROM identities LIMIT 2) AS two) > 1 AS identities,
                  EXISTS (SELECT FROM access_models) AS models,
                  EXISTS (SELECT FROM access_requests) AS requests""",
    )
    assert found
    return found
