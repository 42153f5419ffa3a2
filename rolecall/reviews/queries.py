"""Read reviews, their progress and their submissions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import Listing, Page, fetch_listed, fetch_page, totals_of
from rolecall.reviews.model import (
    Explained,
    OnSilence,
    ReviewItemStatus,
    ReviewScope,
    ReviewStage,
    ReviewStatus,
    ReviewType,
)
from rolecall.reviews.shapes import (
    NamedReference,
    ReviewDetail,
    ReviewerProgress,
    ReviewItemCounts,
    ReviewListItem,
    ReviewPeriod,
    ReviewPopulation,
    ReviewProgress,
    SubmissionDetail,
)
from rolecall.work_items.shapes import PersonReference, person

_COLUMNS = """r.id, r.number, r.name, r.description, r.type, r.status, r.due_on, r.created_by, r.created_at,
    r.opened_on, r.closed_on, r.completed_on, r.canceled_on, r.held"""
NAME = "coalesce({row}.first_name || ' ' || {row}.last_name, '" + ADMINISTRATORS.name + "')"
_NONE = ReviewItemCounts()


def _listed(row: Sequence[Any]) -> ReviewListItem:
    id, number, name, description, type, status, *times, held = row
    named = (id, "Review", number, name, description, ReviewType(type), ReviewStatus(status))
    return ReviewListItem(*(*named, *times, held, _NONE))


REVIEWS = Listing(
    table="reviews",
    row="r",
    columns=_COLUMNS,
    make=_listed,
    facets=("status", "type"),
    newest_first=True,
)


async def newest_first(
    db: Db,
    page: int,
    *,
    status: ReviewStatus | None = None,
    type: ReviewType | None = None,
    application_id: UUID | None = None,
) -> Page[ReviewListItem]:
    """List reviews, newest first; with `application_id`, only reviews that include the application."""
    if application_id is None:
        found = await fetch_listed(db, REVIEWS, page, status=status, type=type)
    else:
        found = await _of_application(db, page, status, type, application_id)
    return await found.completed(db, _with_counts)


async def _of_application(
    db: Db, page: int, status: ReviewStatus | None, type: ReviewType | None, application_id: UUID
) -> Page[ReviewListItem]:
    covered = """FROM reviews r WHERE (%(status)s::text IS NULL OR r.status = %(status)s)
        AND (%(type)s::text IS NULL OR r.type = %(type)s)
        AND (EXISTS (SELECT FROM review_populations p WHERE p.review_id = r.id AND p.application_id = %(id)s)
             OR r.scope -> 'applicationIds' ? %(id)s::text)"""
    return await fetch_page(
        db,
        _listed,
        page,
        total=f"SELECT count(*) {covered}",
        items=f"SELECT {_COLUMNS} {covered} ORDER BY r.list_key DESC",
        status=status,
        type=type,
        id=application_id,
    )


async def _with_counts(db: Db, items: Sequence[ReviewListItem]) -> list[ReviewListItem]:
    facets = [{"review_id": str(item.id), "status": status.value} for item in items for status in ReviewItemStatus]
    totals = await totals_of(db, "review_items", facets)
    step = len(ReviewItemStatus)
    return [
        msgspec.structs.replace(item, items=ReviewItemCounts(*totals[n * step : (n + 1) * step]))
        for n, item in enumerate(items)
    ]


_DETAIL = f"""SELECT {_COLUMNS}, r.owner_id, o.first_name || ' ' || o.last_name, r.scope, r.stages, r.fallback,
        r.period_from, r.period_until, r.explained, r.on_silence, r.statement, r.digest
    FROM reviews r LEFT JOIN identities o ON o.id = r.owner_id"""


async def get(db: Db, id: str | UUID) -> ReviewDetail:
    """Get one review with its population and progress."""
    review = await plan_of(db, id)
    progress = await progress_of(db, review.id)
    return msgspec.structs.replace(
        review, items=progress.items, population=await populations(db, review.id), progress=progress
    )


async def plan_of(db: Db, id: str | UUID, *, lock: bool = False) -> ReviewDetail:
    """Get one review without its population and progress. With `lock`, lock it until the transaction ends."""
    known = known_guid("Review", str(id))
    locking = " FOR UPDATE OF r" if lock else ""
    rows = await fetch_rows(db, f"{_DETAIL} WHERE r.id = %(id)s{locking}", id=known)
    if not rows:
        raise NotFound("Review", id)
    # The row has no columns for the fields `kind` and `items`.
    columns = len(ReviewListItem.__struct_fields__) - 2
    listed = _listed(rows[0][:columns])
    owner_id, owner, scope, stages, fallback, since, until, explained, silence, statement, digest = rows[0][columns:]
    shared = [getattr(listed, name) for name in ReviewListItem.__struct_fields__]
    settings = (
        person(owner_id, owner),
        msgspec.convert(scope, ReviewScope),
        msgspec.convert(stages, list[ReviewStage]),
        msgspec.convert(fallback, ReviewStage | None),
        ReviewPeriod(since, until),
        Explained(explained),
        OnSilence(silence),
        statement,
        digest,
    )
    return ReviewDetail(*(*shared, *settings, [], ReviewProgress(_NONE, [])))


async def find_by_number(db: Db, number: int) -> UUID:
    found: UUID | None = await fetch_value(db, "SELECT id FROM reviews WHERE number = %(number)s", number=number)
    if found is None:
        raise NotFound("Review", f"#{number}")
    return found


async def populations(db: Db, review_id: UUID) -> list[ReviewPopulation]:
    rows = await fetch_rows(
        db,
        """SELECT p.application_id, a.name, p.import_number, p.file_rows, p.accounts, p.held, p.items, p.excluded
           FROM review_populations p LEFT JOIN applications a ON a.id = p.application_id
           WHERE p.review_id = %(id)s ORDER BY p.position""",
        id=review_id,
    )
    return [
        ReviewPopulation(NamedReference(application_id, name) if application_id else None, *rest)
        for application_id, name, *rest in rows
    ]


async def applications_of(db: Db, review_id: UUID) -> list[tuple[UUID, str]]:
    """Return the applications that a review covers, ordered by name."""
    covered = await populations(db, review_id)
    return [(each.application.id, each.application.name) for each in covered if each.application]


async def reviewers_of(db: Db, review_id: UUID) -> list[tuple[UUID, str]]:
    """Return the reviewers of a review, ordered by name. The query reads only one item per reviewer."""
    return await fetch_rows(
        db,
        f"""WITH RECURSIVE found AS (
                (SELECT reviewer_id FROM review_items WHERE review_id = %(id)s ORDER BY reviewer_id LIMIT 1)
                UNION ALL
                SELECT (SELECT c.reviewer_id FROM review_items c
                        WHERE c.review_id = %(id)s AND c.reviewer_id > found.reviewer_id
                        ORDER BY c.reviewer_id LIMIT 1)
                FROM found WHERE found.reviewer_id IS NOT NULL)
            SELECT f.reviewer_id, {NAME.format(row="i")} FROM found f LEFT JOIN identities i ON i.id = f.reviewer_id
            WHERE f.reviewer_id IS NOT NULL ORDER BY i.list_key NULLS LAST""",
        id=review_id,
    )


async def progress_of(db: Db, review_id: UUID) -> ReviewProgress:
    """Count items by status and reviewer, and the items that each reviewer has not submitted yet."""
    rows = await fetch_rows(
        db,
        f"""SELECT c.reviewer_id, {NAME.format(row="i")}, c.pending, c.approved, c.flagged, c.remediated, c.withdrawn,
                   c.to_submit, s.submitted_on
            FROM (SELECT reviewer_id, count(*) FILTER (WHERE status = 'Pending') AS pending,
                         count(*) FILTER (WHERE status = 'Approved') AS approved,
                         count(*) FILTER (WHERE status = 'Flagged') AS flagged,
                         count(*) FILTER (WHERE status = 'Remediated') AS remediated,
                         count(*) FILTER (WHERE status = 'Withdrawn') AS withdrawn,
                         count(*) FILTER (WHERE submission_id IS NULL AND status <> 'Withdrawn') AS to_submit
                  FROM review_items WHERE review_id = %(id)s GROUP BY reviewer_id) AS c
            LEFT JOIN identities i ON i.id = c.reviewer_id
            LEFT JOIN LATERAL (SELECT max(s.submitted_on) AS submitted_on FROM review_submissions s
                               WHERE s.review_id = %(id)s AND s.reviewer_id = c.reviewer_id) AS s ON true
            ORDER BY i.list_key NULLS LAST""",
        id=review_id,
    )
    reviewers = [
        ReviewerProgress(
            PersonReference(id, name), ReviewItemCounts(*counts), to_submit, None if to_submit else submitted_on
        )
        for id, name, *counts, to_submit, submitted_on in rows
    ]
    sums = [sum(getattr(each.items, name) for each in reviewers) for name in ReviewItemCounts.__struct_fields__]
    return ReviewProgress(ReviewItemCounts(*sums), reviewers)


async def submissions(db: Db, review_id: UUID) -> list[SubmissionDetail]:
    """Return the signed statements of a review, oldest first."""
    rows = await fetch_rows(
        db,
        """SELECT id, review_id, reviewer_id, reviewer_name, statement, counts, digest, submitted_by_name, submitted_on
           FROM review_submissions WHERE review_id = %(id)s ORDER BY number""",
        id=review_id,
    )
    return [
        SubmissionDetail(id, "Review Submission", of, PersonReference(reviewer_id, name), *rest)
        for id, of, reviewer_id, name, *rest in rows
    ]


class WaitingReview(msgspec.Struct, frozen=True, rename="camel"):
    """An open review in which a person must decide or submit items of `reviewer`, as that reviewer or as a stand-in."""

    id: UUID
    number: int
    name: str
    due_on: datetime
    reviewer: PersonReference
    to_decide: int
    to_submit: int


async def waiting_for(db: Db, person_id: UUID, also_for: Sequence[UUID] = ()) -> list[WaitingReview]:
    """Return the open reviews that wait for a person, or for people in `also_for`, ordered by due date."""
    rows = await fetch_rows(
        db,
        f"""SELECT r.id, r.number, r.name, r.due_on, w.reviewer_id, {NAME.format(row="i")}, w.to_decide, w.to_submit
            FROM reviews r CROSS JOIN LATERAL (
                SELECT c.reviewer_id, count(*) FILTER (WHERE c.status = 'Pending') AS to_decide,
                       count(*) FILTER (WHERE c.status <> 'Pending') AS to_submit
                FROM review_items c WHERE c.review_id = r.id AND c.reviewer_id = ANY(%(people)s)
                  AND c.submission_id IS NULL AND c.status <> 'Withdrawn' GROUP BY 1) AS w
            LEFT JOIN identities i ON i.id = w.reviewer_id
            WHERE r.status = 'Open' ORDER BY r.due_on, r.number, i.list_key""",
        people=[person_id, *also_for],
    )
    return [
        WaitingReview(id, number, name, due_on, PersonReference(reviewer_id, reviewer), *counts)
        for id, number, name, due_on, reviewer_id, reviewer, *counts in rows
    ]


async def get_id(db: Db, id: str) -> UUID:
    known = known_guid("Review", id)
    if not await fetch_value(db, "SELECT true FROM reviews WHERE id = %(id)s", id=known):
        raise NotFound("Review", id)
    return known
