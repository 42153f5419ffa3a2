"""Simulate three reviews of the sample company: one completed, one open and half decided, one overdue."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from rolecall.access_requests import actions as requests
from rolecall.access_requests.model import Response
from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, fetch_rows
from rolecall.demo.applications import CORPORATE_DIRECTORY, FINANCE_LEDGER, PAYROLL, SOURCE_CONTROL, Application
from rolecall.demo.signing import signed
from rolecall.reviews import actions, deciding, item_queries, submitting
from rolecall.reviews.item_queries import ItemFilters
from rolecall.reviews.model import Decision, ReviewItemStatus, ReviewType
from rolecall.reviews.shapes import ReviewerProgress, ReviewItem
from rolecall.settings.policy import RequirementType


class ReviewStory(NamedTuple):
    """A simulated review: `submitters` reviewers submit, one more decides half of the items, the others decide none."""

    name: str
    description: str
    type: ReviewType
    applications: tuple[Application, ...]
    opened: int
    due: int
    decided: int
    submitters: int
    min_risk: str = ""
    revokes: str = ""


# Every reviewer submits; the next export shows the revocations.
COMPLETED = ReviewStory(
    "Finance Ledger, first half",
    "Who can post, prepare and release, before the half-year report.",
    ReviewType.SUPERVISOR,
    (FINANCE_LEDGER,),
    opened=-105,
    due=-84,
    decided=-98,
    submitters=99,
    revokes="Reverse journal",
)
OVERDUE = ReviewStory(
    "Payroll, every quarter",
    "Access to salaries, requested by the works council.",
    ReviewType.APPLICATION,
    (PAYROLL,),
    opened=-40,
    due=-5,
    decided=-30,
    submitters=0,
)
OPEN = ReviewStory(
    "Finance systems, second half",
    "All access to money and personal data, for the annual report.",
    ReviewType.SUPERVISOR,
    (FINANCE_LEDGER, PAYROLL, CORPORATE_DIRECTORY),
    opened=-15,
    due=11,
    decided=-9,
    submitters=4,
    min_risk="Moderate",
)
EVERY_MONTHS = {FINANCE_LEDGER.name: 6, PAYROLL.name: 3, CORPORATE_DIRECTORY.name: 12, SOURCE_CONTROL.name: 6}
# The day of the export that shows the revocations of the completed review.
PROVEN_ON = -90
# The seconds between two actions of a reviewer; the evidence of a review shows how fast they decide.
_SECONDS = 24
_SCOPES = frozenset(Scope)


class Reviewing:
    """Simulate reviews; `by_clerk` opens a transaction of the clerk, `travel` sets the clock to a day and an hour."""

    def __init__(
        self,
        pool: Pool,
        config: Config,
        clerk: Caller,
        by_clerk: Callable[[str], AbstractAsyncContextManager[Db]],
        travel: Callable[[int, int], None],
    ) -> None:
        self.pool, self.config, self.clerk, self.by_clerk, self.travel = pool, config, clerk, by_clerk, travel

    def _facts(self) -> Facts:
        return Facts(now=clock.now(), zone=self.config.timezone)

    async def play(self, story: ReviewStory, applications: Mapping[str, UUID], owner: str, midnight: datetime) -> UUID:
        """Open a review, simulate the decisions of its reviewers, and return its id."""
        self.travel(story.opened, 8)
        scope: Json = {"applicationIds": [str(applications[one.name]) for one in story.applications]}
        if story.min_risk:
            scope["minRisk"] = story.min_risk
        raw: Json = {
            "name": story.name,
            "description": story.description,
            "type": story.type,
            "scope": scope,
            "dueOn": (midnight + timedelta(days=story.due)).isoformat(),
            "ownerId": owner,
        }
        async with self.by_clerk("create_review") as db:
            id = (await actions.create_review(db, self.clerk, raw, self._facts())).id
        async with self.by_clerk("open_review") as db:
            review = await actions.open_review(db, self.clerk, id, clock.now())
        for n, one in enumerate(review.progress.reviewers):
            # Skip the items of the reviewer Administrators: the company has no administrator yet.
            if one.reviewer.id != ADMINISTRATORS.id and n <= story.submitters:
                self.travel(story.decided + n, 10)
                await self._decide(id, one, story, n)
        return id

    async def _decide(self, review_id: UUID, one: ReviewerProgress, story: ReviewStory, n: int) -> None:
        """Decide as a reviewer. The last one who submits keeps all items in bulk; the others decide item by item."""
        submits, at_once = n < story.submitters, n == story.submitters - 1
        person = Caller(one.reviewer.id, one.reviewer.name, _SCOPES, is_person=True)
        async with self.pool.connection() as db:
            filters = ItemFilters(reviewer_id=person.id, status=ReviewItemStatus.PENDING)
            items = (await item_queries.items(db, review_id, 1, filters)).items
        chosen = items if submits else items[: len(items) // 2]
        if at_once:
            await self._keep_all(person, review_id, chosen)
        else:
            for item in chosen:
                clock.travel_to(clock.now() + timedelta(seconds=_SECONDS))
                await self._decide_one(person, item, story.revokes)
        if submits:
            async with signed(self.pool, person, "submit_review") as db:
                await submitting.submit(db, person, str(review_id), {}, self._facts())

    async def _decide_one(self, person: Caller, item: ReviewItem, unwanted: str) -> None:
        is_unwanted = item.entitlement is not None and item.entitlement.name == unwanted
        revokes = is_unwanted or item.recommendation.verdict is Decision.REVOKE
        decision = Decision.REVOKE if revokes else Decision.KEEP
        raw = {"decision": decision, "comment": "No longer needed for the job." if revokes else ""}
        async with signed(self.pool, person, "decide_review_item") as db:
            await deciding.mark_opened(db, item.id, clock.now())
            clock.travel_to(clock.now() + timedelta(seconds=_SECONDS))
            await deciding.decide(db, person, str(item.id), raw, self._facts())

    async def _keep_all(self, person: Caller, review_id: UUID, items: list[ReviewItem]) -> None:
        raw: Json = {"itemIds": [str(item.id) for item in items], "decision": Decision.KEEP, "comment": "All needed."}
        async with signed(self.pool, person, "decide_review_items") as db:
            await deciding.decide_several(db, person, str(review_id), raw, self._facts())

    async def carry_out(self, review_id: UUID, engineer: Caller) -> None:
        """Carry out the revocations of a review; the next import verifies them."""
        async with self.pool.connection() as db:
            found = await fetch_rows(
                db,
                "SELECT DISTINCT request_id FROM review_items WHERE review_id = %(id)s AND request_id IS NOT NULL",
                id=review_id,
            )
        raw = {"type": RequirementType.RESOLVE, "response": Response.APPROVED, "reviewerId": str(engineer.id)}
        for (id,) in found:
            async with signed(self.pool, engineer, "respond") as db:
                await requests.respond(db, engineer, str(id), raw, self._facts())
