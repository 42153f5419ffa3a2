"""Test items that are decided with their model: reassignment, returning access, comments and Keep Until."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2

from rolecall.core.db import Db, execute
from tests.duties.separating import finish_again
from tests.evidence.test_genuine_reviews import a_model, problems
from tests.holdings import a_finished_import
from tests.reviews.company import Reviewed, a_reviewed_company, follow
from tests.reviews.reviewing import an_open_review, decide, items_of, post, submit_all

LATER = (datetime.now(UTC) + timedelta(days=9)).isoformat()


async def a_review_by_model(client: httpx2.AsyncClient, db: Db) -> tuple[Reviewed, str]:
    """Open a review in which an item about the model decides the items below it."""
    company = await a_reviewed_company(db)
    await a_model(db, company)
    return company, await an_open_review(client, explained="by model")


async def keep_pending(client: httpx2.AsyncClient, review: str, **filters: str) -> None:
    """Keep the pending items, except those below a model item."""
    for item in await items_of(client, review, status="Pending", **filters):
        if item["subject"] == "Model" or not item["why"]["accessModels"]:
            await decide(client, item, "Keep")


async def the_model(client: httpx2.AsyncClient, review: str) -> dict[str, Any]:
    [found] = [item for item in await items_of(client, review) if item["subject"] == "Model"]
    return found


async def emres_item(client: httpx2.AsyncClient, company: Reviewed, review: str) -> dict[str, Any]:
    [found] = await items_of(client, review, identityId=str(company.emre))
    return found


async def import_membership(db: Db, company: Reviewed, is_member: bool) -> None:
    """Import data in which Emre has left the group Bookkeeper, or is in it again."""
    run = await a_finished_import(db, company.ledger)
    account = "(SELECT number FROM accounts WHERE username = 'emre')"
    if is_member:
        sql = f"INSERT INTO memberships SELECT {account}, number, %(run)s, NULL FROM groups WHERE name = 'Bookkeeper'"
    else:
        sql = f"UPDATE memberships SET until_import = %(run)s WHERE until_import IS NULL AND account_number = {account}"
    await execute(db, sql, run=run)
    await finish_again(db, run)
    await follow(db)


async def test_item_that_returns_after_its_model_was_submitted_is_decided_by_itself(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company, review = await a_review_by_model(client, db)
    await import_membership(db, company, False)
    model = await the_model(client, review)
    await keep_pending(client, review, reviewerId=model["reviewer"]["id"])
    await post(client, f"/api/reviews/{review}/submit", {"reviewerId": model["reviewer"]["id"]})

    await import_membership(db, company, True)

    item = await emres_item(client, company, review)
    assert (item["status"], item["reviewer"]["name"]) == ("Pending", "Carla Abadi")
    assert (await decide(client, item, "Keep"))["status"] == "Approved"
    assert await problems(db, review, tmp_path) == []


async def test_items_below_a_reassigned_model_are_undecided_again(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company, review = await a_review_by_model(client, db)
    model = await the_model(client, review)
    await decide(client, model, "Revoke")

    body = {"identityId": str(company.owen), "comment": "Greta is busy"}
    await post(client, f"/api/review-items/{model['id']}/reassign", body)

    item = await emres_item(client, company, review)
    assert (item["status"], item["decision"], item["reviewer"]["name"]) == ("Pending", None, "Owen Park")
    assert item["moved"] == f"This reviewer decides item #{model['number']}, the model that explains this access"
    assert await problems(db, review, tmp_path) == []


async def test_keeping_a_model_against_a_recommendation_below_it_needs_a_comment(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company, review = await a_review_by_model(client, db)
    await execute(db, "UPDATE review_items SET recommendation = 'Revoke' WHERE account_number IS NOT NULL")
    model = await the_model(client, review)
    path = f"/api/review-items/{model['id']}/decide"

    bare = await client.post(path, json={"decision": "Keep", "reviewerId": model["reviewer"]["id"]})
    kept = await decide(client, model, "Keep")

    assert (bare.status_code, bare.json()["errors"][0]["field"]) == (400, "comment")
    assert kept["status"] == "Approved"
    assert (await emres_item(client, company, review))["decision"] == "Keep"


async def test_model_without_items_below_it_cannot_be_kept_until_a_date(client: httpx2.AsyncClient, db: Db) -> None:
    _, above = await a_review_by_model(client, db)
    alone = await an_open_review(client, "Model")
    [item] = await items_of(client, alone)
    body = {"decision": "Keep Until", "until": LATER, "reviewerId": item["reviewer"]["id"], "comment": "for now"}

    refused = await client.post(f"/api/review-items/{item['id']}/decide", json=body)
    kept = await decide(client, await the_model(client, above), "Keep Until", until=LATER)

    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "decision")
    assert kept["status"] == "Approved"


async def test_model_that_was_passed_on_is_submitted_by_its_new_reviewer(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company, review = await a_review_by_model(client, db)
    model = await the_model(client, review)
    await decide(client, model, "Keep")
    await decide(client, model, "Not Mine", identityId=str(company.owen))
    await keep_pending(client, review)
    await submit_all(client, review)

    assert (await client.get(f"/api/reviews/{review}")).json()["status"] == "Completed"
    assert await problems(db, review, tmp_path) == []
