"""Find problems of a review to show to its owner, such as hasty reviewers and removed access that came back."""

from datetime import datetime

import msgspec

from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core.db import Db
from rolecall.reviews.model import ReviewStatus
from rolecall.reviews.quality import ReviewerQuality
from rolecall.reviews.shapes import ReviewDetail
from rolecall.reviews.workspace import ReturnedAccess, returned_access

# Report reviewers who have not started after this share of the time between opening and due date.
_HALF = 0.5


class ReviewAttention(msgspec.Struct, frozen=True):
    title: str
    text: str
    href: str
    action: str


async def attention_of(
    db: Db, review: ReviewDetail, reviewers: list[ReviewerQuality], now: datetime
) -> list[ReviewAttention]:
    """List the problems of a review, the most serious first."""
    found = [_returned(one) for one in await returned_access(db, review.id)]
    found += [_wrong(review, one) for one in reviewers if one.known_wrong_kept]
    found += [_hasty(review, one) for one in reviewers if one.is_hasty or one.is_bulky]
    if review.status is ReviewStatus.OPEN and _share_of_time(review, now) >= _HALF:
        found += [_idle(review, one) for one in reviewers if not one.decided and one.pending]
    return found


def _share_of_time(review: ReviewDetail, now: datetime) -> float:
    """Return the share of the time between opening and due date that has passed."""
    assert review.opened_on
    whole = (review.due_on - review.opened_on).total_seconds()
    return (now - review.opened_on).total_seconds() / max(whole, 1)


def _returned(one: ReturnedAccess) -> ReviewAttention:
    by_import = f"It should be gone, but import #{one.import_number} shows it."
    return ReviewAttention(
        f"Access came back: {', '.join(part for part in (one.holder, one.access) if part)}",
        by_import if one.import_number else "The model was changed, and gives the same access again.",
        f"/review-items/{one.id}",
        f"Open item #{one.number}",
    )


def _about(review: ReviewDetail, one: ReviewerQuality, said: str, text: str) -> ReviewAttention:
    href = f"/reviews/{review.id}/work?tab=all&reviewerId={one.reviewer_id}"
    return ReviewAttention(f"{one.reviewer} {said}", text, href, f"Open the items of {one.reviewer}")


def _wrong(review: ReviewDetail, one: ReviewerQuality) -> ReviewAttention:
    kept = "1 kept item belongs" if one.known_wrong_kept == 1 else f"{one.known_wrong_kept} kept items belong"
    text = f"{kept} to people who left or to an open conflict of duties."
    return _about(review, one, "kept access that is known to be wrong", text)


def _hasty(review: ReviewDetail, one: ReviewerQuality) -> ReviewAttention:
    parts = []
    if one.is_bulky and one.bulk_share is not None:
        parts.append(f"{100 * one.bulk_share:.0f}\u00a0% decided in bulk")
    if one.is_hasty and one.median_seconds is not None:
        parts.append(f"{one.median_seconds:.0f} seconds for each decision")
    parts.append(f"details opened for {100 * (one.opened_share or 0):.0f}\u00a0%")
    text = f"{', '.join(parts).capitalize()}; the longest run of equal decisions has {one.longest_run} items."
    return _about(review, one, f"decided {one.decided} items quickly", text)


def _idle(review: ReviewDetail, one: ReviewerQuality) -> ReviewAttention:
    left = "1 item is left" if one.pending == 1 else f"{one.pending:,} items are left"
    verb = "have" if one.reviewer == ADMINISTRATORS.name else "has"
    return _about(review, one, f"{verb} not started", f"{left}. Remind the reviewer, or reassign the items.")
