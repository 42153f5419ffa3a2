"""Test a review from its draft to the requests that carry out its decisions."""

import httpx2

from rolecall.core.db import Db
from tests.reviews.company import a_reviewed_company, follow, give_back, take_away
from tests.reviews.reviewing import a_draft, an_open_review, decide, items_of, post, submit_all


async def test_preview_matches_what_opening_takes(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    draft = await a_draft(client)

    shown = await post(client, f"/api/reviews/{draft}/preview")
    nothing = await items_of(client, draft)
    opened = await post(client, f"/api/reviews/{draft}/open")

    assert nothing == []
    assert (shown["items"], shown["digest"]) == (5, opened["digest"])
    assert shown["population"] == opened["population"]
    [population] = opened["population"]
    assert (population["importNumber"], population["accounts"], population["held"]) == (company.run, 4, 5)
    reviewers = {each["name"]: each["items"] for each in shown["reviewers"]}
    assert reviewers == {"Carla Abadi": 3, "Greta Das": 1, "Owen Park": 1}


async def test_items_are_listed_by_person_with_reviewer_reasons_and_recommendation(
    client: httpx2.AsyncClient, db: Db
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)

    items = await items_of(client, review)

    who = [(item["identity"] or {}).get("name") for item in items]
    assert who == ["Carla Abadi", "Emre Berg", "Joana Moreau", "Joana Moreau", None]
    risky = items[2]
    assert (risky["entitlement"]["name"], risky["access"]) == ("Release run", "Modify")
    assert risky["drift"]["state"] == "Unchanged"
    assert risky["reasons"] == ["No Record"]
    assert items[4]["moved"] == "no supervisor is known; the application's owner reviews it instead"


async def test_submitted_revocations_become_one_approved_request_per_account(
    client: httpx2.AsyncClient, db: Db
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review):
        await decide(client, item, "Revoke" if item["account"]["username"] == "joana" else "Keep")

    await submit_all(client, review)

    [request] = (await client.get("/api/access-requests")).json()["items"]
    detail = (await client.get(f"/api/access-requests/{request['id']}")).json()
    assert (request["action"], request["status"], len(detail["target"]["privileges"])) == ("Remove", "Open", 2)
    assert {(item["kind"], item["status"]) for item in detail["relatedItems"]} == {("Review Item", "Flagged")}
    [approve] = [each for each in detail["requirements"] if each["type"] == "Approve"]
    assert "Carla Abadi decided Revoke" in approve["rules"][0]["reason"]
    closed = (await client.get(f"/api/reviews/{review}")).json()
    assert (closed["status"], closed["items"]["flagged"], closed["items"]["approved"]) == ("Closed", 2, 3)


async def test_population_taken_again_has_the_same_digest(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)

    again = await post(client, f"/api/reviews/{review}/check")

    assert again["isSame"] is True


async def test_import_without_the_access_remediates_items_and_completes_the_review(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review):
        await decide(client, item, "Revoke" if (item["entitlement"]["name"]) == "Release run" else "Keep")
    await submit_all(client, review)

    run = await take_away(db, company, "joana", "Release run")
    await follow(db)

    [item] = await items_of(client, review, status="Remediated")
    detail = (await client.get(f"/api/review-items/{item['id']}")).json()
    assert item["remediatedImport"] == run
    assert detail["activity"][-1]["content"].startswith(f"Import {run}")
    assert (await client.get(f"/api/reviews/{review}")).json()["status"] == "Completed"


async def test_access_that_returns_reopens_its_item(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review):
        await decide(client, item, "Revoke" if (item["entitlement"]["name"]) == "Release run" else "Keep")
    await submit_all(client, review)
    await take_away(db, company, "joana", "Release run")
    await follow(db)

    run = await give_back(db, company, "joana", "Release run")
    await follow(db)

    [item] = await items_of(client, review, status="Flagged")
    assert (item["reopenedImport"], item["drift"]["state"]) == (run, "Changed")


async def test_undecided_item_is_withdrawn_when_its_access_disappears(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)

    run = await take_away(db, company, "joana", "Release run")
    await follow(db)

    [item] = await items_of(client, review, status="Withdrawn")
    assert item["drift"] == {"state": "Gone", "access": None, "import": run}
    assert (await post(client, f"/api/reviews/{review}/check"))["isSame"] is True


async def test_canceled_request_leaves_the_item_flagged(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review):
        await decide(client, item, "Revoke" if (item["entitlement"]["name"]) == "Release run" else "Keep")
    await submit_all(client, review)
    [request] = (await client.get("/api/access-requests")).json()["items"]

    await post(client, f"/api/access-requests/{request['id']}/cancel")
    await follow(db)

    [item] = await items_of(client, review, status="Flagged")
    assert item["relatedItems"][0]["status"] == "Canceled"
