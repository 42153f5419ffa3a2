"""Test exceptions on record, statements by people and tokens, samples, items passed on, and shared requests."""

from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Conflict
from rolecall.reviews import actions, closing, deciding
from tests.builders import facts, own_tokens
from tests.evidence.test_genuine_reviews import bundle_of, problems
from tests.reviews.company import Reviewed, a_reviewed_company
from tests.reviews.reviewing import an_open_review, decide, items_of, keep_all, post, submit_all
from tests.reviews.test_independence import a_carried_review, decide_as, items_about, submit_as
from tests.reviews.test_running import later
from tests.stand_ins.standing_in import caller_of


async def notified(db: Db) -> list[tuple[UUID, str]]:
    rows = await fetch_rows(db, "SELECT identity_id, part FROM notifications ORDER BY created_date, id")
    return [(person, part) for person, part in rows]


async def an_owned_review(client: httpx2.AsyncClient, db: Db, company: Reviewed, **fields: Any) -> str:
    review = await an_open_review(client, ownerId=str(company.greta), **fields)
    await execute(db, "DELETE FROM notifications")
    return review


async def test_steps_by_a_person_with_access_in_the_review_are_listed_as_exceptions(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company = await a_reviewed_company(db)
    review = await an_owned_review(client, db, company)
    joana = await caller_of(db, company.joana)

    async with db.transaction():
        await actions.change_review(db, joana, review, {"dueOn": later(40)}, facts())
    async with db.transaction():
        await closing.cancel_review(db, joana, review, facts().now)

    bundle = await bundle_of(db, review, tmp_path)
    steps = bundle["steps.json"]
    own = sorted(item["number"] for item in await items_about(client, review, company.joana))
    assert [(step["step"], step["doneByName"], step["ownItems"]) for step in steps] == [
        ("Extended", "Joana Moreau", own), ("Canceled", "Joana Moreau", own),
    ]  # fmt: skip
    assert bundle["exceptions.json"]["interested"] == ["Extended by Joana Moreau", "Canceled by Joana Moreau"]
    assert await notified(db) == [(company.greta, "ReviewStepByHolder")] * 2
    assert await problems(db, review, tmp_path) == []


async def test_canceling_after_a_revocation_is_listed_as_an_exception_and_notifies_the_owner(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company = await a_reviewed_company(db)
    review = await an_owned_review(client, db, company)
    [item] = await items_about(client, review, company.emre)
    await decide(client, item, "Revoke")

    await post(client, f"/api/reviews/{review}/cancel")

    bundle = await bundle_of(db, review, tmp_path)
    assert bundle["exceptions.json"]["discarded"] == [item["number"]]
    assert bundle["steps.json"][0]["detail"] == "Decisions to revoke or change access that were not carried out: 1"
    assert await notified(db) == [(company.greta, "ReviewCanceled")]


async def test_administrators_are_notified_if_the_owner_cancels_a_review_of_their_own_access(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, ownerId=str(company.joana))
    await execute(db, "DELETE FROM notifications")
    for person in (company.owen, company.joana):
        await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=person)

    async with db.transaction():
        await closing.cancel_review(db, await caller_of(db, company.joana), review, facts().now)

    assert await notified(db) == [(company.owen, "ReviewStepByHolder")]


async def test_token_without_an_owner_cannot_lift_the_hold(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, onSilence="flag")
    await execute(db, "UPDATE reviews SET due_on = now() - interval '1 hour'")
    await post(client, f"/api/reviews/{review}/close")

    refused = await client.post(f"/api/reviews/{review}/close", json={"confirm": True})
    await own_tokens(db, company.greta)
    closed = await post(client, f"/api/reviews/{review}/close", {"confirm": True})

    assert (refused.status_code, closed["status"]) == (409, "Closed")
    assert "A person must confirm this" in refused.json()["message"]
    assert await fetch_rows(db, "SELECT step, done_by_name FROM review_steps") == [
        ("Hold Confirmed", "API Token - tests")
    ]


async def test_decision_after_the_original_due_date_is_late_despite_an_extension(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)
    await execute(db, "UPDATE reviews SET first_due_on = now() - interval '1 day', due_on = now() - interval '1 day'")
    await client.patch(f"/api/reviews/{review}", json={"dueOn": later(40)})
    items = await items_of(client, review)
    for item in items:
        await decide(client, item, "Keep")
    await submit_all(client, review)

    bundle = await bundle_of(db, review, tmp_path)

    assert bundle["exceptions.json"]["late"] == [item["number"] for item in items]
    assert await problems(db, review, tmp_path) == []


async def test_statement_that_a_token_records_says_so_and_the_reviewer_is_notified(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_owned_review(client, db, company, statement="I looked at every item.")
    mine = await items_of(client, review, reviewerId=str(company.carla))
    for item in mine:
        await decide(client, item, "Keep")
    body = {"reviewerId": str(company.carla)}

    other = await client.post(f"/api/reviews/{review}/submit", json={**body, "statement": "I looked at nothing."})
    signed = await post(client, f"/api/reviews/{review}/submit", {**body, "statement": "I looked at every item."})

    assert (other.status_code, other.json()["errors"][0]["field"]) == (400, "statement")
    assert signed["statement"] == "Recorded by API Token - tests for Carla Abadi: I looked at every item."
    assert await notified(db) == [(company.carla, "ReviewRecorded")]


async def test_person_signs_the_statement_of_the_review(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_owned_review(client, db, company, statement="I looked at every item.")
    for item in await items_of(client, review, reviewerId=str(company.carla)):
        await decide_as(db, company.carla, item, "Keep")

    signed = await submit_as(db, company.carla, review)

    assert signed.statement == "I looked at every item."
    assert await notified(db) == []


async def test_sample_is_decided_after_its_details_were_opened(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company = await a_reviewed_company(db)
    review = await a_carried_review(client, db, company)
    [sample] = [item for item in await items_of(client, review) if item["isSample"]]
    path = f"/api/review-items/{sample['id']}/decide"
    body = {"decision": "Keep", "reviewerId": sample["reviewer"]["id"]}

    with pytest.raises(Conflict, match="open its details"):
        await decide_as(db, company.carla, sample, "Keep")
    silent = await client.post(path, json=body)
    await post(client, path, {**body, "comment": "Carla looked at the list"})
    unread = (await bundle_of(db, review, tmp_path))["exceptions.json"]["unread"]
    await deciding.mark_opened(db, UUID(sample["id"]), facts().now)
    decided = await decide_as(db, company.carla, sample, "Keep")

    assert (silent.status_code, silent.json()["errors"][0]["field"]) == (400, "comment")
    assert unread == [sample["number"]]
    assert decided.status == "Approved"


async def test_unknown_filter_is_refused(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    body = {"decision": "Keep", "reviewerId": str(company.carla), "comment": "as agreed"}

    refused = await client.post(
        f"/api/reviews/{review}/decide", json={**body, "filters": {"applicationID": "x", "risk": "Low"}}
    )
    filters = {"applicationId": str(company.ledger), "reason": None}
    await post(client, f"/api/reviews/{review}/decide", {**body, "filters": filters})

    assert refused.status_code == 400
    assert "no filter named applicationID, risk; choose from" in refused.json()["errors"][0]["message"]
    assert await fetch_rows(db, "SELECT selection, item_count FROM review_bulks") == [
        ({"applicationId": str(company.ledger)}, 3)
    ]


async def test_two_reviews_share_one_request_to_remove_the_same_access(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    for _ in range(2):
        review = await an_open_review(client, scope={"identityIds": [str(company.emre)]})
        [item] = await items_of(client, review)
        await decide(client, item, "Revoke")
        await submit_all(client, review)

    requests = (await client.get("/api/access-requests")).json()["items"]
    detail = (await client.get(f"/api/access-requests/{requests[0]['id']}")).json()
    items = await fetch_value(db, "SELECT count(DISTINCT request_id) FROM review_items WHERE request_id IS NOT NULL")

    assert (len(requests), items) == (1, 1)
    assert [item["kind"] for item in detail["relatedItems"]] == ["Review Item"] * 2
    assert detail["comments"][-1]["content"].endswith("Carla Abadi decided Revoke")


async def test_item_cannot_be_passed_back_to_the_person_who_passed_it_on(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    [item] = await items_about(client, review, company.emre)
    await decide(client, item, "Not Mine", identityId=str(company.greta))
    path = f"/api/review-items/{item['id']}/decide"

    back = {"decision": "Not Mine", "reviewerId": str(company.greta), "comment": "No", "identityId": str(company.carla)}
    refused = await client.post(path, json=back)
    del back["identityId"]
    passed = await post(client, path, back)

    assert refused.status_code == 400
    assert "Carla Abadi has already passed this item on" in refused.json()["errors"][0]["message"]
    assert passed["reviewer"]["name"] == "Owen Park"


async def test_changed_review_contains_access_of_an_account_that_got_another_person(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    before = await an_open_review(client)
    await keep_all(client, before)
    await execute(
        db,
        "UPDATE accounts SET identity_id = %(joana)s, matched_on = now() WHERE username = 'emre'",
        joana=company.joana,
    )

    review = await an_open_review(client, "Changed")

    assert [item["account"]["username"] for item in await items_of(client, review)] == ["emre"]
    assert (await post(client, f"/api/reviews/{review}/check"))["isSame"] is True
