"""Make random allowed and forbidden API calls, and compare the results with a small model of a review.

Set `ROLECALL_MODEL_CALLS=20000` for a long run; the default is short.
"""

import os
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from rolecall.core.db import Db
from tests.figures import measured
from tests.reviews.company import Reviewed, a_reviewed_company
from tests.reviews.reviewing import an_open_review, items_of

CALLS = int(os.environ.get("ROLECALL_MODEL_CALLS", "300"))
STATUS = {"Keep": "Approved", "Revoke": "Flagged"}


class ModelledReview:
    """The expected state of an open review with one reviewer and one stage."""

    def __init__(self, ids: list[str]) -> None:
        self.status = "Open"
        self.items = dict.fromkeys(ids, "Pending")
        self.submitted: set[str] = set()
        self.accepted: set[str] = set()

    def decide(self, id: str, decision: str) -> bool:
        if self.status != "Open" or id in self.submitted or self.items[id] == "Withdrawn":
            return False
        self.items[id] = STATUS[decision]
        return True

    def undo(self, id: str) -> bool:
        if self.status != "Open" or id in self.submitted or self.items[id] not in ("Approved", "Flagged"):
            return False
        self.items[id] = "Pending"
        return True

    def decide_several(self, decision: str) -> bool:
        if self.status != "Open":
            return False
        for id, status in self.items.items():
            self.items[id] = STATUS[decision] if status == "Pending" else status
        return True

    def submit(self) -> bool:
        own = [id for id in self.items if id not in self.submitted]
        if self.status != "Open" or not own or any(self.items[id] == "Pending" for id in own):
            return False
        self.submitted |= set(own)
        self.status = "Closed"
        self.complete()
        return True

    def complete(self) -> None:
        flagged = {id for id, status in self.items.items() if status == "Flagged"}
        if self.status == "Closed" and flagged <= self.accepted:
            self.status = "Completed"

    def accept(self, id: str) -> bool:
        if self.items[id] != "Flagged" or id not in self.submitted or self.status == "Canceled":
            return False
        self.accepted.add(id)
        self.complete()
        return True

    def cancel(self) -> bool:
        if self.status not in ("Open", "Closed"):
            return False
        self.status = "Canceled"
        for id, status in self.items.items():
            # Items whose removal was requested stay flagged.
            self.items[id] = status if status == "Flagged" and id in self.submitted else "Withdrawn"
        return True


class ReviewWalk:
    def __init__(self, client: httpx2.AsyncClient, company: Reviewed, review: str, ids: list[str]) -> None:
        self.client, self.company, self.review = client, company, review
        self.model, self.by = ModelledReview(ids), {"reviewerId": str(company.greta), "comment": "as agreed"}

    async def step(self, chance: random.Random) -> tuple[bool, httpx2.Response]:
        """Make one call; return whether the model allows it, and the response."""
        id = chance.choice(list(self.model.items))
        decision = chance.choice(list(STATUS))
        own, item = f"/api/reviews/{self.review}", f"/api/review-items/{id}"
        later = {"until": (datetime.now(UTC) + timedelta(days=9)).isoformat(), "reason": "Needed"}
        calls: list[tuple[int, Any, str, dict[str, Any]]] = [
            (8, lambda: self.model.decide(id, decision), f"{item}/decide", {**self.by, "decision": decision}),
            (3, lambda: self.model.undo(id), f"{item}/undo", self.by),
            (2, lambda: self.model.decide_several(decision), f"{own}/decide",
             {**self.by, "decision": decision, "filters": {}}),
            (2, self.model.submit, f"{own}/submit", self.by),
            (2, lambda: self.model.accept(id), f"{item}/accept", {**later, "identityId": str(self.company.owen)}),
            (1, self.model.cancel, f"{own}/cancel", {}),
            (1, lambda: False, f"{own}/close", {}),
            (1, lambda: False, f"{own}/open", {}),
        ]  # fmt: skip
        [(_, expect, path, body)] = chance.choices(calls, [weight for weight, *_ in calls])
        return expect(), await self.client.post(path, json=body)


async def test_random_calls_agree_with_the_model(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    chance, made = random.Random(7), 0
    stages = [{"reviewer": "Identity", "identityId": str(company.greta)}]
    while made < CALLS:
        review = await an_open_review(client, "Application", stages=stages)
        walk = ReviewWalk(client, company, review, [item["id"] for item in await items_of(client, review)])
        for _ in range(40):
            allowed, answer = await walk.step(chance)
            assert answer.status_code == (200 if allowed else 409), answer.text
            made += 1
        shown = {item["id"]: item["status"] for item in await items_of(client, review)}
        assert shown == walk.model.items
        assert (await client.get(f"/api/reviews/{review}")).json()["status"] == walk.model.status
    measured(f"{made:,} calls of reviews agree with the model")
