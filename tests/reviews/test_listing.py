"""Test that every filter lists exactly the matching items, before and after the worker has stored their reasons."""

from itertools import combinations
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db, fetch_rows
from rolecall.reviews import reason_lists
from rolecall.reviews.model import ItemFact
from tests.reviews.company import Reviewed, a_reviewed_company
from tests.reviews.reviewing import an_open_review, decide, items_of


async def filters_in(db: Db, company: Reviewed, review: str) -> list[dict[str, str]]:
    """Return every combination of filters, with values that occur."""
    values = {
        "status": "Pending",
        "reviewerId": str(company.carla),
        "applicationId": str(company.ledger),
        "identityId": str(company.joana),
        "reason": ItemFact.NO_RECORD.value,
    }
    return [{name: values[name] for name in chosen} for size in range(6) for chosen in combinations(values, size)]


async def assert_listed(client: httpx2.AsyncClient, db: Db, company: Reviewed, review: str) -> None:
    rows = await fetch_rows(
        db,
        """SELECT id::text, status, reviewer_id::text, application_id::text, identity_id::text, facts
           FROM review_items WHERE review_id = %(id)s ORDER BY list_key""",
        id=UUID(review),
    )
    columns = ("status", "reviewerId", "applicationId", "identityId")
    for given in await filters_in(db, company, review):
        wanted = [
            id
            for id, *values, facts in rows
            if all(values[columns.index(name)] == text for name, text in given.items() if name != "reason")
            and given.get("reason", facts[0]) in facts
        ]
        assert [item["id"] for item in await items_of(client, review, **given)] == wanted, given


async def list_all(db: Db) -> int:
    batches = 0
    while True:
        async with db.transaction():
            if not await reason_lists.list_next(db):
                return batches
        batches += 1


@pytest.mark.parametrize("batch", [1, 2, 10_000])
async def test_every_filter_lists_exactly_the_matching_items(
    client: httpx2.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(reason_lists, "_BATCH", batch)
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    first, second, *_ = [item for item in await items_of(client, review) if item["reviewer"]["name"] == "Carla Abadi"]

    await assert_listed(client, db, company, review)
    await decide(client, first, "Keep")
    await list_all(db)
    await assert_listed(client, db, company, review)
    await decide(client, second, "Not Mine", identityId=str(company.greta))
    await decide(client, first, "Revoke")

    await assert_listed(client, db, company, review)


async def test_decisions_between_two_batches_are_listed(
    client: httpx2.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reason_lists, "_BATCH", 2)
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    mine: list[dict[str, Any]] = await items_of(client, review)

    async with db.transaction():
        await reason_lists.list_next(db)
    for item in mine:
        await decide(client, item, "Keep")
    await list_all(db)

    await assert_listed(client, db, company, review)
    assert [item["status"] for item in await items_of(client, review, reason="No Record")] == ["Approved"] * len(mine)
