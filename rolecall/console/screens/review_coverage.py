"""Show the coverage map: in which quarters each application was reviewed, and which reviews are due."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler

from rolecall.console.answers import HtmlPage
from rolecall.console.frame import screen
from rolecall.core.caller import Scope
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.reviews.coverage import ApplicationCoverage, coverage
from rolecall.reviews.model import ReviewStatus
from rolecall.reviews.workspace import ReviewInMap, covering_reviews

# How many quarters before and after the current one are shown.
_BEFORE, _AFTER = 3, 2


class Quarter(msgspec.Struct, frozen=True, order=True):
    year: int
    number: int

    @property
    def name(self) -> str:
        return f"Q{self.number} {self.year}"

    def plus(self, quarters: int) -> "Quarter":
        place = self.year * 4 + self.number - 1 + quarters
        return Quarter(place // 4, place % 4 + 1)


def quarter_of(moment: datetime) -> Quarter:
    return Quarter(moment.year, (moment.month - 1) // 3 + 1)


class CoverageMark(msgspec.Struct, frozen=True):
    text: str
    tone: str
    href: str = ""


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%b}"


def _mark(review: ReviewInMap, now: datetime) -> tuple[datetime, CoverageMark]:
    """Return when a review was completed or is due, in the time zone of `now`, and its mark in the map."""
    href = f"/reviews/{review.id}"
    if review.completed_on:
        done = review.completed_on.astimezone(now.tzinfo)
        return done, CoverageMark(f"Done {_day(done)}", "covered", href)
    late = review.status == ReviewStatus.OPEN and review.due_on < now
    words = f"Overdue, {review.decided} %" if late else f"{review.status}, {review.decided} %"
    return review.due_on.astimezone(now.tzinfo), CoverageMark(words, "overdue" if late else "open", href)


def cells_of(
    found: ApplicationCoverage, reviews: list[ReviewInMap], quarters: list[Quarter], now: datetime
) -> list[list[CoverageMark]]:
    """Return the marks of an application by quarter; the first and last quarter also get earlier and later marks.

    An overdue application is marked as overdue even while a review of it is open, as on the home page.
    """
    marks = [_mark(review, now) for review in reviews]
    if found.due_on and (found.is_overdue or not found.open_review):
        due = found.due_on.astimezone(now.tzinfo)
        words = f"Overdue since {_day(due)}" if found.is_overdue else f"Due {_day(due)}"
        marks.append((due, CoverageMark(words, "overdue" if found.is_overdue else "due")))
    cells: list[list[CoverageMark]] = [[] for _ in quarters]
    for moment, mark in marks:
        place = min(max(quarter_of(moment), quarters[0]), quarters[-1])
        cells[quarters.index(place)].append(mark)
    return cells


@screen("GET", "/reviews/coverage", scope=Scope.REVIEWS_READ)
async def show_coverage(db: Db, query: dict[str, Any], now: datetime, config: Config) -> HtmlPage:
    now = now.astimezone(config.timezone)
    here = quarter_of(now)
    quarters = [here.plus(n) for n in range(-_BEFORE, _AFTER + 1)]
    since = datetime(quarters[0].year, quarters[0].number * 3 - 2, 1, tzinfo=config.timezone)
    page = await coverage(db, query["page"], now)
    reviews: dict[UUID, list[ReviewInMap]] = {}
    for review in await covering_reviews(db, since):
        reviews.setdefault(review.application_id, []).append(review)
    rows = [(one, cells_of(one, reviews.get(one.application.id, []), quarters, now)) for one in page.items]
    values = {"quarters": [quarter.name for quarter in quarters], "rows": rows, "page": page, "query": query}
    return HtmlPage("review_coverage.html", values)


HANDLERS: list[HTTPRouteHandler] = [show_coverage]
