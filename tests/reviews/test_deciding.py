"""Test who reviews which items, and which decisions are possible."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from psycopg.errors import CheckViolation

from rolecall.accounts import matching
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.identities.actions import withhold_email
from rolecall.reviews import following
from tests.builders import an_access_model, an_identity, own_tokens
from tests.reviews.company import a_reviewed_company, follow, take_away
from tests.reviews.reviewing import an_open_review, decide, items_of, keep_all, post, submit_all


async def refused(client: httpx2.AsyncClient, item: dict[str, Any], **body: Any) -> str:
    answer = await client.post(f"/api/review-items/{item['id']}/decide", json=body)
    assert answer.status_code in (400, 409), answer.text
    found = answer.json()
    return str(found["errors"][0]["message"] if "errors" in found else found["message"])


async def test_nobody_reviews_their_own_account(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    stage = {"reviewer": "Identity", "identityId": str(company.joana)}
    review = await an_open_review(client, "Application", stages=[stage])

    items = await items_of(client, review, identityId=str(company.joana))

    assert {item["reviewer"]["name"] for item in items} == {"Greta Das"}
    assert items[0]["moved"] == "Joana Moreau holds the account; the supervisor's supervisor reviews it instead"


async def test_owner_of_a_model_does_not_review_access_that_the_model_explains(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    granted = [{"applicationId": str(company.ledger), "groups": ["Bookkeeper"]}]
    await an_access_model(db, "Accounting", access=granted, ownerId=str(company.carla))
    review = await an_open_review(client)

    items = await items_of(client, review, identityId=str(company.emre))

    assert items[0]["why"]["accessModels"][0]["name"] == "Accounting"
    assert items[0]["moved"].startswith("Carla Abadi owns the model that explains it")


async def test_a_reviewer_who_left_is_replaced_before_and_during_the_review(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=company.carla)

    await follow(db)
    other = await an_open_review(client)

    during = await items_of(client, review, identityId=str(company.emre))
    before = await items_of(client, other, identityId=str(company.emre))
    assert during[0]["reviewer"]["name"] == before[0]["reviewer"]["name"] == "Greta Das"
    assert before[0]["moved"] == "Carla Abadi is Disabled; the supervisor's supervisor reviews it instead"


async def test_decision_against_the_recommendation_requires_a_comment(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await execute(db, "UPDATE account_versions SET last_login = '2020-01-01T00:00:00Z'")
    review = await an_open_review(client)
    item = (await items_of(client, review, identityId=str(company.emre)))[0]

    said = await refused(client, item, decision="Keep", reviewerId=item["reviewer"]["id"])

    assert item["recommendation"] == {"verdict": "Revoke", "facts": ["No Record", "Unused"]}
    assert said == "A comment is required, because the recommendation is Revoke"


async def test_another_person_cannot_decide(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    item = (await items_of(client, review, identityId=str(company.emre)))[0]

    said = await refused(client, item, decision="Keep", reviewerId=str(company.greta))

    assert said.startswith("Carla Abadi reviews this item")


async def test_change_must_lower_the_access(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    items = await items_of(client, review, identityId=str(company.joana))
    [risky] = [item for item in items if item["entitlement"]["name"] == "Release run"]
    carla = str(company.carla)

    said = await refused(client, risky, decision="Change", access="Unrestricted", reviewerId=carla)
    await decide(client, risky, "Change", access="Grant")

    assert said.startswith("Access must be lower than Modify")


async def test_change_of_access_that_is_no_longer_held_does_not_restore_it(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review):
        change = item["entitlement"]["name"] == "Release run"
        await (decide(client, item, "Change", access="Grant") if change else decide(client, item, "Keep"))
    await take_away(db, company, "joana", "Release run")

    await submit_all(client, review)

    asked = await fetch_rows(db, "SELECT permission, initial_access, requested_access FROM privileges")
    assert asked == [("Release run", "None", "None")]


async def test_a_decision_can_be_withdrawn_until_it_is_submitted(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)
    items = await items_of(client, review)
    for item in items:
        await decide(client, item, "Keep")

    undone = await post(client, f"/api/review-items/{items[0]['id']}/undo", {"reviewerId": items[0]["reviewer"]["id"]})
    early = await client.post(f"/api/reviews/{review}/submit", json={"reviewerId": items[0]["reviewer"]["id"]})
    await decide(client, items[0], "Keep")
    await submit_all(client, review)
    late = await client.post(
        f"/api/review-items/{items[0]['id']}/undo", json={"reviewerId": items[0]["reviewer"]["id"]}
    )

    assert (undone["status"], undone["decision"]) == ("Pending", None)
    assert [entry["decision"] for entry in undone["decisions"]] == ["Keep", None]
    assert (early.status_code, late.status_code) == (409, 409)


async def test_unsure_goes_to_the_next_stage_and_not_mine_to_the_person_named(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    stages = [{"reviewer": "Supervisor"}, {"reviewer": "Application Owner"}]
    review = await an_open_review(client, stages=stages)
    first, second = (await items_of(client, review, identityId=str(company.joana)))[:2]

    unsure = await decide(client, first, "Unsure")
    passed = await decide(client, second, "Not Mine", identityId=str(company.greta))

    assert (unsure["stage"], unsure["reviewer"]["name"], unsure["status"]) == (2, "Owen Park", "Pending")
    assert (passed["stage"], passed["reviewer"]["name"]) == (1, "Greta Das")
    assert passed["moved"] == "Carla Abadi passed it on: as agreed"


async def test_kept_items_go_to_the_next_stage_when_they_are_submitted(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    stages = [{"reviewer": "Supervisor"}, {"reviewer": "Application Owner"}]
    review = await an_open_review(client, stages=stages)
    for item in await items_of(client, review):
        await decide(client, item, "Keep")
    await post(client, f"/api/reviews/{review}/submit", {"reviewerId": str(company.carla)})

    items = await items_of(client, review, identityId=str(company.joana))

    assert {(item["stage"], item["reviewer"]["name"], item["status"]) for item in items} == {
        (2, "Owen Park", "Pending")
    }


async def test_a_bulk_decision_is_one_audit_entry_with_a_digest(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    before = await fetch_value(db, "SELECT count(*) FROM audit_events")

    body = {"decision": "Keep", "filters": {}, "reviewerId": str(company.carla), "comment": "as agreed"}
    result = await post(client, f"/api/reviews/{review}/decide", body)

    assert (result["decided"], result["outcomes"]) == (3, [{"reason": "Decided", "items": 3}])
    assert await fetch_value(db, "SELECT count(*) FROM audit_events") == before + 1
    entry = await fetch_value(db, "SELECT entry::jsonb -> 'after' FROM audit_events ORDER BY number DESC LIMIT 1")
    assert result["digest"] in str(entry)


async def test_bulk_decision_reports_items_that_it_could_not_decide(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    ids = [item["id"] for item in await items_of(client, review)]

    body = {"decision": "Keep", "itemIds": ids, "reviewerId": str(company.carla), "comment": "as agreed"}
    result = await post(client, f"/api/reviews/{review}/decide", body)

    outcomes = {each["reason"]: each["items"] for each in result["outcomes"]}
    assert outcomes == {"Decided": 3, "Reviewed by another person": 2}


async def test_token_of_a_person_does_not_decide_about_their_account(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await own_tokens(db, company.joana)

    body = {"decision": "Keep", "filters": {}, "reviewerId": str(company.carla), "comment": "as agreed"}
    result = await post(client, f"/api/reviews/{review}/decide", body)

    outcomes = {each["reason"]: each["items"] for each in result["outcomes"]}
    assert outcomes == {"Decided": 1, "It is about their own account": 2}


async def test_flagging_many_undecided_items_after_the_due_date_must_be_confirmed(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, onSilence="flag")
    await execute(db, "UPDATE reviews SET due_on = now() - interval '1 hour'")
    await own_tokens(db, company.greta)

    held = await post(client, f"/api/reviews/{review}/close")
    closed = await post(client, f"/api/reviews/{review}/close", {"confirm": True})

    assert held["status"] == "Open"
    assert held["held"].startswith("Closing would flag 4 of 4 accounts of Finance Ledger")
    assert (closed["status"], closed["items"]["flagged"], closed["held"]) == ("Closed", 5, None)


async def test_revoking_an_unmatched_account_creates_one_unknown_identity(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client, "Unmatched")
    [item] = await items_of(client, review)
    await decide(client, item, "Revoke")

    await submit_all(client, review)

    [request] = (await client.get("/api/access-requests")).json()["items"]
    person = request["target"]["affectedIdentity"]
    assert (person["type"], person["lastName"], request["target"]["name"]) == ("Unknown", "svc", "svc")


async def test_account_that_is_matched_meanwhile_gets_no_unknown_identity(
    client: httpx2.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client, "Unmatched")
    for item in await items_of(client, review):
        await decide(client, item, "Revoke")
    sven = await an_identity(db, "Sven", "Olsen")
    take_turn = matching.take_turn

    async def match_before(other: Db) -> None:
        await execute(db, "UPDATE accounts SET identity_id = %(id)s, match = 'Name' WHERE username = 'svc'", id=sven)
        await take_turn(other)

    monkeypatch.setattr(matching, "take_turn", match_before)
    await submit_all(client, review)

    [request] = (await client.get("/api/access-requests")).json()["items"]
    assert request["target"]["affectedIdentity"]["id"] == str(sven)
    assert await fetch_value(db, "SELECT count(*) FROM identities WHERE type = 'Unknown'") == 0


async def test_unknown_identity_is_removed_when_its_account_matches_a_person(
    client: httpx2.AsyncClient, db: Db
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client, "Unmatched")
    for item in await items_of(client, review):
        await decide(client, item, "Revoke")
    await submit_all(client, review)
    sven = await an_identity(db, "Sven", "Olsen", email="sven@example.com")
    # A second person with this e-mail does not count, because it is not confirmed.
    await withhold_email(db, await an_identity(db, "Eve", "Moss", email="sven@example.com"), "", datetime.now(UTC))
    await execute(
        db,
        """UPDATE account_versions SET email = 'Sven@example.com' WHERE account_number = (
               SELECT number FROM accounts WHERE username = 'svc')""",
    )

    async with db.transaction():
        await following.retire_unknown(db, datetime.now(UTC))

    assert await fetch_value(db, "SELECT identity_id FROM accounts WHERE username = 'svc'") == sven
    assert await fetch_value(db, "SELECT status FROM identities WHERE type = 'Unknown'") == "Removed"


async def test_owner_of_the_application_accepts_flagged_access(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review):
        await decide(client, item, "Revoke" if item["entitlement"]["name"] == "Release run" else "Keep")
    await submit_all(client, review)
    [item] = await items_of(client, review, status="Flagged")
    wish = {"reason": "Until the new system", "until": (datetime.now(UTC) + timedelta(days=90)).isoformat()}

    by_reviewer = await client.post(
        f"/api/review-items/{item['id']}/accept", json={**wish, "identityId": str(company.carla)}
    )
    accepted = await post(client, f"/api/review-items/{item['id']}/accept", {**wish, "identityId": str(company.owen)})

    assert by_reviewer.status_code == 409
    assert accepted["acceptance"]["acceptedBy"]["name"] == "Owen Park"
    assert (await client.get(f"/api/reviews/{review}")).json()["status"] == "Completed"


async def test_explained_items_follow_the_decision_about_their_model(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    granted = [{"applicationId": str(company.ledger), "groups": ["Bookkeeper"]}]
    await an_access_model(db, "Accounting", access=granted, ownerId=str(company.greta))
    review = await an_open_review(client, explained="by model")
    [model] = [item for item in await items_of(client, review) if item["subject"] == "Model"]

    await decide(client, model, "Keep")

    kept = await items_of(client, review, status="Approved")
    assert sorted(item["subject"] for item in kept) == ["Access", "Access", "Model"]
    assert (await post(client, f"/api/reviews/{review}/check"))["isSame"] is True


async def test_items_kept_by_hand_are_carried_over_except_a_sample(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    granted = [{"applicationId": str(company.ledger), "groups": ["Bookkeeper"]}]
    await an_access_model(db, "Accounting", access=granted, ownerId=str(company.greta))
    before = await an_open_review(client)
    await keep_all(client, before)

    review = await an_open_review(client, explained="carry over")

    items = await items_of(client, review, identityId=str(company.emre)) + await items_of(
        client, review, identityId=str(company.joana)
    )
    explained = [item for item in items if item["entitlement"]["name"] == "Bookkeeper"]
    assert sorted((item["isCarried"], item["isSample"], item["status"]) for item in explained) == [
        (False, True, "Pending"),
        (True, False, "Approved"),
    ]


@pytest.mark.parametrize(("before", "after"), [("Withdrawn", "Approved"), ("Remediated", "Approved")])
async def test_status_changes_only_as_the_table_of_moves_allows(
    client: httpx2.AsyncClient, db: Db, before: str, after: str
) -> None:
    await a_reviewed_company(db)
    await an_open_review(client)
    # Set the status by way of Flagged, because the database allows only some moves.
    await execute(db, "UPDATE review_items SET status = 'Flagged'")
    await execute(db, "UPDATE review_items SET status = %(status)s", status=before)

    with pytest.raises(CheckViolation, match=f"cannot change from {before} to {after}"):
        await execute(db, "UPDATE review_items SET status = %(status)s", status=after)
