"""Read what the console shows about reviews apart from lists of items, such as progress and reassignments."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core.db import Db, fetch_all, fetch_rows, fetch_value
from rolecall.core.paging import Page, fetch_page
from rolecall.reviews.coverage import COVERS
from rolecall.reviews.queries import NAME
from rolecall.settings.policy import Level

# The CSS class and the label of each decision in the progress bar.
DECISION_PARTS = {
    "Keep": ("keep", "Keep"),
    "Keep Until": ("until", "Keep until"),
    "Change": ("change", "Change"),
    "Revoke": ("revoke", "Revoke"),
}
WITHDRAWN = ("withdrawn", "Withdrawn")
# At most this many undecided items are listed on one page, or decided together.
MOST_HOLDERS = 1000
# The maximum number of moved items, and of reasons for moving items, that a page shows.
_MOST_MOVED = 50


class OwnProgress(msgspec.Struct, frozen=True):
    """The progress of a reviewer. `decisions` counts items by decision, and withdrawn items under `Withdrawn`."""

    total: int
    left: int
    decisions: dict[str, int]
    # Counts of Approved and Flagged items. Items whose access was removed are Remediated, so they are not counted here.
    kept: int
    flagged: int
    requests_to_make: int
    submitted_on: datetime | None

    @property
    def parts(self) -> list[tuple[str, int]]:
        parts = [(part, self.decisions.get(decision, 0)) for decision, (part, _) in DECISION_PARTS.items()]
        return [*parts, (WITHDRAWN[0], self.decisions.get("Withdrawn", 0))]

    @property
    def words(self) -> dict[str, str]:
        return dict([*DECISION_PARTS.values(), WITHDRAWN])


async def progress_of(db: Db, review_id: UUID, reviewer_ids: Sequence[UUID]) -> OwnProgress:
    """Return the progress of several reviewers together, because a stand-in can decide for more than one."""
    rows = await fetch_rows(
        db,
        """SELECT status, CASE status WHEN 'Withdrawn' THEN status WHEN 'Pending' THEN '' ELSE decision END, count(*)
           FROM review_items WHERE review_id = %(review)s AND reviewer_id = ANY(%(reviewers)s) GROUP BY 1, 2""",
        review=review_id,
        reviewers=list(reviewer_ids),
    )
    # Count requests as `remediating.request_removals` groups them.
    requests: int = await fetch_value(
        db,
        """SELECT count(DISTINCT (account_number, group_number, CASE decision WHEN 'Keep Until' THEN until END))
           FROM review_items WHERE review_id = %(review)s AND reviewer_id = ANY(%(reviewers)s)
             AND status IN ('Approved', 'Flagged') AND decision IN ('Revoke', 'Change', 'Keep Until')
             AND request_id IS NULL AND application_id IS NOT NULL""",
        review=review_id,
        reviewers=list(reviewer_ids),
    )
    signed = await fetch_rows(
        db,
        """SELECT max(submitted_on) FROM review_submissions
           WHERE review_id = %(review)s AND reviewer_id = ANY(%(reviewers)s)""",
        review=review_id,
        reviewers=list(reviewer_ids),
    )
    statuses, decisions = Counter[str](), Counter[str]()
    for status, decision, count in rows:
        statuses[status] += count
        decisions[decision] += count
    left = decisions.pop("", 0)
    return OwnProgress(
        statuses.total(),
        left,
        dict(decisions),
        statuses["Approved"],
        statuses["Flagged"],
        requests,
        signed[0][0] if not left else None,
    )


class LastDecision(msgspec.Struct, frozen=True):
    """A person's newest decision that is not submitted yet; `together` counts the items of its bulk decision."""

    id: UUID
    number: int
    access: str
    decision: str
    together: int


# SQL for the name of what an item `i` is about.
_ACCESS = "coalesce(nullif(e.display_name, ''), nullif(e.name, ''), e.section, a.username, m.name, '')"
_ABOUT = """LEFT JOIN entitlements e ON e.id = i.entitlement_id LEFT JOIN accounts a ON a.number = i.account_number
    LEFT JOIN access_models m ON m.id = i.model_id"""


async def last_decision(db: Db, review_id: UUID, reviewer_id: UUID, person_id: UUID) -> LastDecision | None:
    """Find the decision that a person would undo: their newest one about the items of a reviewer."""
    found = await fetch_all(
        db,
        LastDecision,
        f"""SELECT i.id, i.number, {_ACCESS} AS access, i.decision, i.together FROM (
                SELECT c.*, CASE WHEN c.bulk_id IS NULL THEN 1 ELSE count(*) OVER (PARTITION BY c.bulk_id) END
                           AS together
                FROM review_items c
                WHERE c.review_id = %(review)s AND c.reviewer_id = %(reviewer)s AND c.decided_by = %(person)s
                  AND c.submission_id IS NULL AND c.under_id IS NULL AND c.status IN ('Approved', 'Flagged')
                ORDER BY c.decided_on DESC, c.list_key LIMIT 1) AS i {_ABOUT}""",
        review=review_id,
        reviewer=reviewer_id,
        person=person_id,
    )
    return found[0] if found else None


class PassedOn(msgspec.Struct, frozen=True):
    """An item that was moved from one reviewer to another, with the reason for the move and the current reviewer."""

    number: int
    access: str
    holder: str
    reviewer: str
    reason: str
    moved_on: datetime


async def passed_on(db: Db, review_id: UUID, reviewer_id: UUID) -> list[PassedOn]:
    """Return the items that a reviewer passed on or that were reassigned from them, newest first, up to a limit."""
    return await fetch_all(
        db,
        PassedOn,
        f"""SELECT i.number, {_ACCESS} AS access, coalesce(h.first_name || ' ' || h.last_name, '') AS holder,
                   {NAME.format(row="p")} AS reviewer, v.reason, v.moved_on
            FROM (SELECT DISTINCT ON (item_id) item_id, reason, moved_on, number FROM review_moves
                  WHERE review_id = %(review)s AND from_id = %(reviewer)s ORDER BY item_id, number DESC) AS v
            JOIN review_items i ON i.id = v.item_id AND i.reviewer_id <> %(reviewer)s {_ABOUT}
            LEFT JOIN identities p ON p.id = i.reviewer_id LEFT JOIN identities h ON h.id = i.identity_id
            ORDER BY v.number DESC LIMIT {_MOST_MOVED}""",
        review=review_id,
        reviewer=reviewer_id,
    )


async def count_waiting(db: Db, reviewer_ids: Sequence[UUID]) -> int:
    """Count the open reviews in which these reviewers have items to decide or submit."""
    found: int = await fetch_value(
        db,
        """SELECT count(*) FROM reviews r WHERE r.status = 'Open' AND EXISTS (
               SELECT FROM review_items i WHERE i.review_id = r.id AND i.reviewer_id = ANY(%(reviewers)s)
                 AND i.submission_id IS NULL AND i.status <> 'Withdrawn')""",
        reviewers=list(reviewer_ids),
    )
    return found


async def count_overdue(db: Db, now: datetime) -> int:
    found: int = await fetch_value(
        db, "SELECT count(*) FROM reviews WHERE status = 'Open' AND due_on <= %(now)s", now=now
    )
    return found


class AccessToDecide(msgspec.Struct, frozen=True, rename="camel"):
    """An entitlement with the number of its undecided items, in total and by recommendation."""

    id: UUID
    name: str
    application: str
    risk: Level
    count: int
    keep: int
    revoke: int


# Items that are decided with their model are left out.
_UNDECIDED = """FROM review_items i
    WHERE i.review_id = %(review)s AND i.reviewer_id = ANY(%(reviewers)s) AND i.status = 'Pending'
      AND i.entitlement_id IS NOT NULL AND i.under_id IS NULL
      AND (%(application)s::uuid IS NULL OR i.application_id = %(application)s)"""


async def by_access(
    db: Db, review_id: UUID, reviewer_ids: Sequence[UUID], page: int, application_id: UUID | None = None
) -> Page[AccessToDecide]:
    """List the entitlements of undecided items, the ones with the most undecided items first."""
    return await fetch_page(
        db,
        lambda row: AccessToDecide(*row),
        page,
        total=f"SELECT count(DISTINCT i.entitlement_id) {_UNDECIDED}",
        items=f"""SELECT g.id, coalesce(nullif(e.display_name, ''), nullif(e.name, ''), e.section), a.name,
                         e.risk_rating, g.count, g.keep, g.revoke
                  FROM (SELECT i.entitlement_id AS id, count(*) AS count,
                               count(*) FILTER (WHERE i.recommendation = 'Keep') AS keep,
                               count(*) FILTER (WHERE i.recommendation = 'Revoke') AS revoke
                        {_UNDECIDED} GROUP BY 1) AS g
                  JOIN entitlements e ON e.id = g.id JOIN applications a ON a.id = e.application_id
                  ORDER BY g.count DESC, 2, g.id""",
        review=review_id,
        reviewers=list(reviewer_ids),
        application=application_id,
    )


async def undecided_holders(db: Db, review_id: UUID, reviewer_ids: Sequence[UUID], entitlement_id: UUID) -> list[UUID]:
    """Return the ids of these reviewers' undecided items of one entitlement, ordered by person, up to a limit."""
    rows = await fetch_rows(
        db,
        f"""SELECT i.id {_UNDECIDED} AND i.entitlement_id = %(entitlement)s
            ORDER BY i.list_key LIMIT {MOST_HOLDERS}""",
        review=review_id,
        reviewers=list(reviewer_ids),
        application=None,
        entitlement=entitlement_id,
    )
    return [id for (id,) in rows]


class ReviewInMap(msgspec.Struct, frozen=True):
    """A review that covers an application.

    `decided` is the percentage of its items in the application that are decided. Withdrawn items do not count.
    """

    application_id: UUID
    id: UUID
    status: str
    due_on: datetime
    completed_on: datetime | None
    decided: int


async def covering_reviews(db: Db, since: datetime) -> list[ReviewInMap]:
    """Return the reviews that cover whole applications and were completed or are due after `since`, oldest first."""
    return await fetch_all(
        db,
        ReviewInMap,
        f"""SELECT p.application_id, r.id, r.status, r.due_on, r.completed_on,
                  coalesce((SELECT 100 * count(*) FILTER (WHERE c.status <> 'Pending') / nullif(count(*), 0)
                            FROM review_items c WHERE c.review_id = r.id AND c.application_id = p.application_id
                              AND c.status <> 'Withdrawn'), 100)::int AS decided
           FROM review_populations p JOIN reviews r ON r.id = p.review_id
           WHERE p.application_id IS NOT NULL AND r.status IN ('Open', 'Closed', 'Completed')
             AND {COVERS}
             AND coalesce(r.completed_on, r.due_on) >= %(since)s
           ORDER BY coalesce(r.completed_on, r.due_on), r.number""",
        since=since,
    )


async def undecided_items(db: Db, review_id: UUID, reviewer_id: UUID) -> list[UUID]:
    """Return the ids of a reviewer's undecided items, up to a limit."""
    rows = await fetch_rows(
        db,
        f"""SELECT id FROM review_items WHERE review_id = %(review)s AND reviewer_id = %(reviewer)s
            AND status = 'Pending' ORDER BY list_key LIMIT {MOST_HOLDERS}""",
        review=review_id,
        reviewer=reviewer_id,
    )
    return [id for (id,) in rows]


async def items_left(db: Db, review_id: UUID, opened_on: datetime, zone: str) -> list[tuple[datetime, int]]:
    """Return how many items were undecided when the review was opened and after the last decision of each day.

    Withdrawn items are not counted.
    """
    rows = await fetch_rows(
        db,
        """SELECT max(decided_on), count(*) FILTER (WHERE decided_on IS NOT NULL), count(*)
           FROM review_items WHERE review_id = %(review)s AND status <> 'Withdrawn'
           GROUP BY date_trunc('day', decided_on AT TIME ZONE %(zone)s) ORDER BY 1 NULLS LAST""",
        review=review_id,
        zone=zone,
    )
    left = sum(count for _, _, count in rows)
    steps = [(opened_on, left)]
    for moment, decided, _ in rows:
        if moment is not None:
            left -= decided
            steps.append((max(moment, opened_on), left))
    return steps


class ReturnedAccess(msgspec.Struct, frozen=True):
    """An item that was flagged again, because an import shows its access or because its model gives it again."""

    id: UUID
    number: int
    access: str
    holder: str
    import_number: int | None


async def returned_access(db: Db, review_id: UUID, most: int = 5) -> list[ReturnedAccess]:
    return await fetch_all(
        db,
        ReturnedAccess,
        f"""SELECT i.id, i.number, coalesce(nullif(e.display_name, ''), e.name, m.name, '') AS access,
                   coalesce(p.first_name || ' ' || p.last_name, a.username, '') AS holder,
                   i.reopened_import AS import_number
            FROM review_items i LEFT JOIN entitlements e ON e.id = i.entitlement_id
            LEFT JOIN identities p ON p.id = i.identity_id LEFT JOIN accounts a ON a.number = i.account_number
            LEFT JOIN access_models m ON m.id = i.model_id
            WHERE i.review_id = %(review)s AND i.reopened_on IS NOT NULL ORDER BY i.number LIMIT {most:d}""",
        review=review_id,
    )


class MovedItems(msgspec.Struct, frozen=True):
    """How many items `reviewer` reviews instead of the person whom the stage names, for one reason."""

    reviewer: str
    reason: str
    count: int


async def moved_items(db: Db, review_id: UUID) -> list[MovedItems]:
    """Count the items that were moved to each reviewer, by reason: most items first, up to a limit."""
    return await fetch_all(
        db,
        MovedItems,
        f"""SELECT {NAME.format(row="p")} AS reviewer, m.reason, m.count FROM (
                SELECT c.reviewer_id, c.moved AS reason, count(*) AS count FROM review_items c
                WHERE c.review_id = %(review)s AND c.moved <> '' GROUP BY 1, 2 ORDER BY 3 DESC, 2 LIMIT {_MOST_MOVED}
            ) AS m LEFT JOIN identities p ON p.id = m.reviewer_id ORDER BY m.count DESC, m.reason""",
        review=review_id,
    )
