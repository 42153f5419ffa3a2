"""Measure how reviewers decide. The figures are not combined into a score, so that each can be judged by itself."""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, fetch_all
from rolecall.reviews.model import ItemFact

# A longer time between two decisions is a pause, not the duration of a decision.
_PAUSE_SECONDS = 600
# Keeping an item with one of these facts counts as a wrong decision.
KNOWN_WRONG = (ItemFact.LEAVER, ItemFact.CONFLICT)
# The page of a review marks reviewers who made at least SHORTEST_RUN decisions if their share of bulk decisions is at
# least BULKY_SHARE or their median time is at most FEW_SECONDS.
BULKY_SHARE, FEW_SECONDS, SHORTEST_RUN = 0.8, 3, 10


class ReviewerQuality(msgspec.Struct, frozen=True, rename="camel"):
    """How one reviewer decided in one review. Shares are fractions of the decisions made by hand.

    `median_seconds` is the median time since the reviewer's previous decision, without pauses; the time of a bulk
    decision is divided evenly among its items. `others_median_seconds` is the median of that figure over the other
    reviewers.
    """

    reviewer_id: UUID
    reviewer: str
    title: str
    items: int
    decided: int
    kept: int
    flagged: int
    pending: int
    carried: int
    approval_rate: float | None
    bulk_share: float | None
    median_seconds: float | None
    others_median_seconds: float | None
    longest_run: int
    opened_share: float | None
    known_wrong_kept: int
    submitted_on: datetime | None

    @property
    def state(self) -> str:
        if self.submitted_on:
            return "Submitted"
        return "Deciding" if self.decided else "Not started"

    @property
    def is_bulky(self) -> bool:
        return self.decided >= SHORTEST_RUN and (self.bulk_share or 0) >= BULKY_SHARE

    @property
    def is_hasty(self) -> bool:
        hasty = self.median_seconds is not None and self.median_seconds <= FEW_SECONDS
        return hasty and self.decided >= SHORTEST_RUN


# `islands` finds runs of equal decisions: within a run, the difference between the two row numbers is the same.
_QUALITY = f"""
    WITH own AS MATERIALIZED (
        SELECT i.reviewer_id, i.status, i.decision, i.decided_on, i.number, i.bulk_id, i.facts, i.is_carried,
               i.read_on <= i.decided_on AS was_read, i.decided_by <> %(system)s AS by_hand
        FROM review_items i WHERE i.review_id = %(review)s AND i.status <> 'Withdrawn'),
    made AS (SELECT * FROM own WHERE status <> 'Pending' AND by_hand),
    acts AS (
        SELECT reviewer_id, decided_on, coalesce(bulk_id::text, number::text) AS act, count(*) AS items
        FROM made GROUP BY 1, 2, 3),
    paces AS (
        SELECT reviewer_id, items, extract(epoch FROM decided_on - lag(decided_on) OVER one) AS seconds
        FROM acts WINDOW one AS (PARTITION BY reviewer_id ORDER BY decided_on, act)),
    times AS (
        SELECT reviewer_id, seconds / items AS seconds FROM paces CROSS JOIN generate_series(1, items)
        WHERE seconds <= {_PAUSE_SECONDS}),
    medians AS MATERIALIZED (
        SELECT reviewer_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds FROM times GROUP BY 1),
    islands AS (
        SELECT reviewer_id, row_number() OVER (PARTITION BY reviewer_id ORDER BY decided_on, number)
               - row_number() OVER (PARTITION BY reviewer_id, decision ORDER BY decided_on, number) AS island, decision
        FROM made),
    runs AS (
        SELECT reviewer_id, max(length) AS length
        FROM (SELECT reviewer_id, count(*) AS length FROM islands GROUP BY reviewer_id, decision, island) AS r
        GROUP BY 1),
    counts AS (
        SELECT reviewer_id, count(*) AS items,
               count(*) FILTER (WHERE by_hand AND status <> 'Pending') AS decided,
               count(*) FILTER (WHERE by_hand AND decision IN ('Keep', 'Keep Until')) AS kept,
               count(*) FILTER (WHERE by_hand AND decision IN ('Revoke', 'Change')) AS flagged,
               count(*) FILTER (WHERE status = 'Pending') AS pending,
               count(*) FILTER (WHERE is_carried) AS carried,
               count(*) FILTER (WHERE by_hand AND bulk_id IS NOT NULL) AS in_bulk,
               count(*) FILTER (WHERE by_hand AND was_read) AS was_read,
               count(*) FILTER (WHERE decision IN ('Keep', 'Keep Until') AND facts && %(wrong)s::text[]) AS wrong
        FROM own GROUP BY 1),
    signed AS (
        SELECT reviewer_id, max(submitted_on) AS submitted_on FROM review_submissions
        WHERE review_id = %(review)s GROUP BY 1)
    SELECT c.reviewer_id, coalesce(p.first_name || ' ' || p.last_name, 'Administrators') AS reviewer,
           coalesce(p.title, '') AS title, c.items, c.decided, c.kept, c.flagged, c.pending, c.carried,
           c.kept::float8 / nullif(c.decided, 0) AS approval_rate,
           c.in_bulk::float8 / nullif(c.decided, 0) AS bulk_share, m.seconds AS median_seconds,
           (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY o.seconds) FROM medians o
            WHERE o.reviewer_id <> c.reviewer_id) AS others_median_seconds,
           coalesce(r.length, 0) AS longest_run, c.was_read::float8 / nullif(c.decided, 0) AS opened_share,
           c.wrong AS known_wrong_kept, s.submitted_on
    FROM counts c LEFT JOIN identities p ON p.id = c.reviewer_id LEFT JOIN medians m USING (reviewer_id)
    LEFT JOIN runs r USING (reviewer_id) LEFT JOIN signed s USING (reviewer_id)"""


async def quality_of_reviewers(db: Db, review_id: UUID) -> list[ReviewerQuality]:
    """Return the figures of every reviewer of a review, ordered by name."""
    return await fetch_all(
        db,
        ReviewerQuality,
        f"{_QUALITY} ORDER BY reviewer, c.reviewer_id",
        review=review_id,
        wrong=list(KNOWN_WRONG),
        system=SYSTEM.id,
    )
