"""Test the figures about reviewers, the coverage of applications and the progress of a review."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx2

from rolecall.core.db import Db, execute, fetch_rows
from rolecall.reviews import workspace
from rolecall.reviews.quality import ReviewerQuality, quality_of_reviewers
from tests.reviews.company import a_reviewed_company
from tests.reviews.reviewing import an_open_review, decide, items_of, post

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)


async def figures(db: Db, review: str) -> dict[str, ReviewerQuality]:
    return {one.reviewer: one for one in await quality_of_reviewers(db, UUID(review))}


async def test_every_figure_of_a_reviewer_is_computed(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)
    mine = [item for item in await items_of(client, review) if item["reviewer"]["name"] == "Carla Abadi"]
    for item, decision in zip(mine, ("Keep", "Keep", "Revoke"), strict=True):
        await decide(client, item, decision)
    for n, item in enumerate(mine):
        await execute(
            db,
            """UPDATE review_items SET decided_on = %(on)s, read_on = %(read)s, facts = %(facts)s
               WHERE id = %(id)s""",
            id=UUID(item["id"]),
            on=NOON + timedelta(seconds=20 * n),
            read=NOON - timedelta(minutes=1) if n == 0 else None,
            facts=["Person Left"] if n == 1 else [],
        )

    found = await figures(db, review)

    carla = found["Carla Abadi"]
    assert (carla.items, carla.decided, carla.kept, carla.flagged, carla.pending) == (3, 3, 2, 1, 0)
    assert (carla.approval_rate, carla.bulk_share, carla.opened_share) == (2 / 3, 0, 1 / 3)
    assert (carla.median_seconds, carla.others_median_seconds) == (20, None)
    assert (carla.longest_run, carla.known_wrong_kept, carla.state) == (2, 1, "Deciding")
    assert (found["Greta Das"].state, found["Greta Das"].approval_rate) == ("Not started", None)


async def test_time_of_a_bulk_decision_is_divided_among_its_items(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)
    mine = [item for item in await items_of(client, review) if item["reviewer"]["name"] == "Carla Abadi"]
    first, *others = mine
    await decide(client, first, "Keep")
    both = {"itemIds": [item["id"] for item in others], "reviewerId": first["reviewer"]["id"], "decision": "Keep"}
    await post(client, f"/api/reviews/{review}/decide", {**both, "comment": "needed"})
    await execute(db, "UPDATE review_items SET decided_on = %(on)s WHERE id = %(id)s", on=NOON, id=UUID(first["id"]))
    await execute(
        db,
        "UPDATE review_items SET decided_on = %(on)s WHERE bulk_id IS NOT NULL",
        on=NOON + timedelta(seconds=8),
    )

    carla = (await figures(db, review))["Carla Abadi"]

    assert (carla.median_seconds, carla.longest_run, carla.bulk_share) == (4, 3, 2 / 3)


async def test_chart_counts_the_items_left_after_each_day_of_decisions(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)
    items = await items_of(client, review)
    for item in items[:3]:
        await decide(client, item, "Keep")
    days = [NOON, NOON, NOON + timedelta(days=2)]
    for item, day in zip(items, days, strict=False):
        await execute(
            db, "UPDATE review_items SET decided_on = %(day)s WHERE id = %(id)s", day=day, id=UUID(item["id"])
        )

    left = await workspace.items_left(db, UUID(review), NOON - timedelta(days=1), "UTC")

    assert left == [(NOON - timedelta(days=1), 5), (NOON, 3), (NOON + timedelta(days=2), 2)]


async def test_map_shows_the_share_of_decided_items_per_application(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    items = await items_of(client, review)
    await decide(client, items[0], "Keep")
    before = datetime.now(UTC) - timedelta(days=90)
    withdrawn = "UPDATE review_items SET status = 'Withdrawn', withdrawn_import = 1 WHERE id = %(id)s"
    await execute(db, withdrawn, id=UUID(items[1]["id"]))

    [found] = await workspace.covering_reviews(db, before)

    assert (found.application_id, str(found.id), found.status) == (company.ledger, review, "Open")
    assert (found.decided, found.completed_on) == (25, None)
    assert await workspace.covering_reviews(db, datetime.now(UTC) + timedelta(days=400)) == []


async def test_progress_counts_decisions_and_requests_to_make(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    mine = [item for item in await items_of(client, review) if item["reviewer"]["name"] == "Carla Abadi"]
    await decide(client, mine[0], "Revoke")
    await decide(client, mine[1], "Revoke")

    mine_now = await workspace.progress_of(db, UUID(review), [company.carla])
    rows = await fetch_rows(db, "SELECT count(DISTINCT account_number) FROM review_items WHERE status = 'Flagged'")

    assert (mine_now.total, mine_now.left, mine_now.flagged, mine_now.kept) == (3, 1, 2, 0)
    assert mine_now.requests_to_make == rows[0][0]
    assert [part for part in mine_now.parts if part[1]] == [("revoke", 2)]
    assert await workspace.count_waiting(db, [company.carla]) == 1
    assert await workspace.count_waiting(db, [company.joana]) == 0
