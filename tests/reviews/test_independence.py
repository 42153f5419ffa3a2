"""Test who must not decide: people involved in the access or an earlier stage, and stand-ins whom they chose."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.console import actions as console
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Invalid
from rolecall.core.roles import Role
from rolecall.reviews import accepting, deciding, moving, submitting
from rolecall.reviews.shapes import ReviewItemDetail, SubmissionDetail
from tests.builders import an_access_model, facts, own_tokens
from tests.reviews.company import Reviewed, a_reviewed_company, follow
from tests.reviews.reviewing import an_open_review, decide, items_of, keep_all, post
from tests.stand_ins.standing_in import a_leave, a_stand_in, caller_of

TWO_STAGES = [{"reviewer": "Supervisor"}, {"reviewer": "Application Owner"}]


async def decide_as(db: Db, person: UUID, item: dict[str, Any], decision: str, **fields: Any) -> ReviewItemDetail:
    raw = {"decision": decision, "comment": "as agreed", **fields}
    async with db.transaction():
        return await deciding.decide(db, await caller_of(db, person), item["id"], raw, facts())


async def submit_as(db: Db, person: UUID, review: str, **fields: Any) -> SubmissionDetail:
    async with db.transaction():
        return await submitting.submit(db, await caller_of(db, person), review, fields, facts())


async def items_about(client: httpx2.AsyncClient, review: str, person: UUID) -> list[dict[str, Any]]:
    return await items_of(client, review, identityId=str(person))


async def a_model(db: Db, company: Reviewed, owner: UUID) -> None:
    granted = [{"applicationId": str(company.ledger), "groups": ["Bookkeeper"]}]
    await an_access_model(db, "Accounting", access=granted, ownerId=str(owner))


async def test_owner_of_a_model_does_not_decide_about_their_own_account(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await a_model(db, company, company.joana)
    review = await an_open_review(client, explained="by model")
    items = await items_of(client, review)
    [model] = [item for item in items if item["subject"] == "Model"]

    await decide_as(db, company.joana, model, "Keep")

    own = {item["entitlement"]["name"]: item for item in await items_about(client, review, company.joana)}
    assert (own["Bookkeeper"]["reviewer"]["name"], own["Bookkeeper"]["status"]) == ("Carla Abadi", "Pending")
    assert own["Bookkeeper"]["moved"]
    assert [item["status"] for item in await items_about(client, review, company.emre)] == ["Approved"]


async def test_item_about_the_new_reviewer_of_a_model_is_released(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await a_model(db, company, company.greta)
    review = await an_open_review(client, explained="by model")
    [model] = [item for item in await items_of(client, review) if item["subject"] == "Model"]
    [below] = await items_about(client, review, company.emre)

    refused = await client.post(
        f"/api/review-items/{below['id']}/reassign", json={"identityId": str(company.owen), "comment": "please"}
    )
    body = {"identityId": str(company.emre), "comment": "Greta is busy"}
    await post(client, f"/api/review-items/{model['id']}/reassign", body)

    [own] = await items_about(client, review, company.emre)
    joana = [item for item in await items_about(client, review, company.joana) if item["why"]["accessModels"]]
    assert refused.status_code == 409
    assert own["reviewer"]["name"] == "Carla Abadi"
    assert [item["reviewer"]["name"] for item in joana] == ["Emre Berg"]


async def test_stand_in_whom_the_holder_chose_cannot_decide(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    item, *_ = await items_about(client, review, company.joana)
    await a_stand_in(db, company.carla, company.joana)
    await a_stand_in(db, company.joana, company.emre)

    with pytest.raises(Conflict, match="own account"):
        await decide_as(db, company.emre, item, "Keep")
    body = {"decision": "Keep", "itemIds": [item["id"]], "reviewerId": str(company.carla), "comment": "as agreed"}
    async with db.transaction():
        several = await deciding.decide_several(db, await caller_of(db, company.emre), review, body, facts())

    assert [(one.reason, one.items) for one in several.outcomes] == [("It is about their own account", 1)]


async def test_stand_in_of_a_reviewer_decides_and_submits(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await a_stand_in(db, company.carla, company.owen)
    items = [item for item in await items_of(client, review) if item["reviewer"]["name"] == "Carla Abadi"]

    for item in items:
        await decide_as(db, company.owen, item, "Keep")
    signed = await submit_as(db, company.owen, review, reviewerId=str(company.carla))

    assert (signed.reviewer.name, signed.submitted_by, signed.counts) == ("Carla Abadi", "Owen Park", {"Keep": 3})
    with pytest.raises(Conflict, match="only items assigned to you"):
        await submit_as(db, company.emre, review, reviewerId=str(company.greta))


async def test_absent_reviewer_is_replaced_by_the_stand_in_when_the_review_is_opened(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    await a_stand_in(db, company.carla, company.owen)
    await a_leave(db, company.carla)

    review = await an_open_review(client)

    [item] = await items_about(client, review, company.emre)
    assert item["reviewer"]["name"] == "Owen Park"
    assert item["moved"] == "Carla Abadi is absent; Owen Park stands in"


async def test_reviewer_who_got_the_account_after_opening_cannot_decide(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, "Application")
    [item] = [item for item in await items_of(client, review) if item["account"]["username"] == "svc"]
    await decide(client, item, "Keep")
    await execute(db, "UPDATE accounts SET identity_id = %(id)s WHERE username = 'svc'", id=company.owen)

    with pytest.raises(Conflict, match="own account"):
        await decide_as(db, company.owen, item, "Revoke")
    for other in await items_of(client, review, reviewerId=str(company.owen), status="Pending"):
        await decide(client, other, "Keep")
    with pytest.raises(Conflict, match=f"item #{item['number']}. It is about their own account"):
        await submit_as(db, company.owen, review)


async def test_person_who_decided_a_stage_cannot_decide_the_next(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, stages=TWO_STAGES)
    [item] = await items_about(client, review, company.emre)
    for one in await items_of(client, review, reviewerId=str(company.carla)):
        await decide_as(db, company.carla, one, "Keep")
    await submit_as(db, company.carla, review)
    await a_stand_in(db, company.owen, company.carla)

    with pytest.raises(Conflict, match="earlier stage"):
        await decide_as(db, company.carla, item, "Keep")
    with pytest.raises(Invalid) as refused:
        await decide_as(db, company.owen, item, "Not Mine", identityId=str(company.carla))
    again = await client.post(
        f"/api/review-items/{item['id']}/reassign", json={"identityId": str(company.carla), "comment": "again"}
    )

    assert "earlier stage" in refused.value.problems[0].message
    assert again.status_code == 400


async def test_assignee_and_owner_of_the_requesting_token_cannot_review(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    [item] = await items_about(client, review, company.emre)
    token = await fetch_value(db, "SELECT id FROM tokens LIMIT 1")
    await execute(
        db,
        """INSERT INTO access_requests (id, action, status, reporter_id, reporter_name, assignee_id, assignee_name,
                                        target_type, target_name, identity_id, application_id, created_at, status_since)
           VALUES (gen_random_uuid(), 'Add', 'Completed', %(token)s, 'Token', %(owen)s, 'Owen Park', 'User', 'emre',
                   %(emre)s, %(ledger)s, now(), now())""",
        token=token,
        owen=company.owen,
        emre=company.emre,
        ledger=company.ledger,
    )
    sql = "UPDATE review_items SET request_ids = ARRAY(SELECT id FROM access_requests) WHERE id = %(id)s"
    await execute(db, sql, id=UUID(item["id"]))
    await own_tokens(db, company.greta)

    said = {}
    for person in (company.owen, company.greta):
        raw = {"identityId": str(person), "comment": "please"}
        with pytest.raises(Invalid) as refused:
            await moving.reassign(db, await caller_of(db, company.joana), item["id"], raw, facts())
        said[person] = refused.value.problems[0].message

    assert "carried out" in said[company.owen]
    assert "made the request" in said[company.greta]


async def test_holder_of_the_account_cannot_choose_the_reviewer(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    item, *_ = await items_about(client, review, company.joana)
    await console.set_role(db, company.joana, Role.ADMINISTRATOR, "joana@example.com")

    raw = {"identityId": str(company.emre), "comment": "please"}
    with pytest.raises(Conflict, match="cannot choose the reviewer of this item"):
        await moving.reassign(db, await caller_of(db, company.joana), item["id"], raw, facts())


async def a_carried_review(client: httpx2.AsyncClient, db: Db, company: Reviewed) -> str:
    """Open a review in which some items are carried over from an earlier one, and one is a sample."""
    await a_model(db, company, company.greta)
    before = await an_open_review(client)
    await keep_all(client, before)
    return await an_open_review(client, explained="carry over")


async def test_bulk_decision_leaves_samples_undecided(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await a_carried_review(client, db, company)

    body = {"decision": "Keep", "filters": {}, "reviewerId": str(company.carla), "comment": "as agreed"}
    result = await post(client, f"/api/reviews/{review}/decide", body)

    assert {"reason": "Samples of carried-over items are decided one by one", "items": 1} in result["outcomes"]


async def test_item_that_nobody_decided_is_not_carried_over(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await a_model(db, company, company.greta)
    await an_open_review(client, onSilence="approve")
    await execute(db, "UPDATE reviews SET due_on = now() - interval '1 hour'")
    await follow(db)

    review = await an_open_review(client, explained="carry over")

    items = await items_of(client, review)
    assert {(item["isCarried"], item["isSample"]) for item in items} == {(False, False)}
    assert not any("Kept Before" in item["reasons"] for item in items)


async def test_decision_about_one_person_is_not_carried_over_to_another(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await a_model(db, company, company.greta)
    before = await an_open_review(client)
    await keep_all(client, before)
    await execute(
        db,
        """UPDATE accounts SET identity_id = CASE username WHEN 'emre' THEN %(joana)s ELSE %(emre)s END
           WHERE username IN ('emre', 'joana')""",
        joana=company.joana,
        emre=company.emre,
    )

    review = await an_open_review(client, explained="carry over")

    items = await items_about(client, review, company.joana) + await items_about(client, review, company.emre)
    assert not any(item["isCarried"] or item["isSample"] for item in items)


async def test_administrators_decide_items_that_have_no_other_reviewer(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await execute(db, "UPDATE applications SET owner_id = NULL")
    await execute(db, "UPDATE identities SET supervisor_id = NULL")
    review = await an_open_review(client, "Application")
    await console.set_role(db, company.greta, Role.ADMINISTRATOR, "greta@example.com")
    items = await items_of(client, review)

    for item in items:
        await decide_as(db, company.greta, item, "Keep")
    signed = await submit_as(db, company.greta, review, reviewerId=items[0]["reviewer"]["id"])

    assert {item["reviewer"]["name"] for item in items} == {"Administrators"}
    assert (signed.reviewer.name, signed.submitted_by) == ("Administrators", "Greta Das")
    assert (await client.get(f"/api/reviews/{review}")).json()["status"] == "Completed"


@pytest.mark.parametrize("becomes", ["Removed", "Auditor"])
async def test_reviewer_who_leaves_before_submitting_is_replaced(
    client: httpx2.AsyncClient, db: Db, becomes: str
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    mine = [item for item in await items_of(client, review) if item["reviewer"]["name"] == "Carla Abadi"]
    for item in mine:
        await decide(client, item, "Revoke")
    if becomes == "Auditor":
        await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Auditor')", id=company.carla)
    else:
        await execute(db, "UPDATE identities SET status = 'Removed' WHERE id = %(id)s", id=company.carla)

    body = {"reviewerId": str(company.carla)}
    signed = await client.post(f"/api/reviews/{review}/submit", json=body)
    changed = await client.post(
        f"/api/review-items/{mine[0]['id']}/decide", json={**body, "decision": "Keep", "comment": "x"}
    )
    await follow(db)

    assert (signed.status_code, changed.status_code) == (409, 409)
    assert {(item["reviewer"]["name"], item["status"]) for item in await items_of(client, review)} == {
        ("Greta Das", "Pending"), ("Owen Park", "Pending"),
    }  # fmt: skip


async def test_stand_in_who_flagged_access_cannot_accept_it(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await a_stand_in(db, company.carla, company.owen)
    for item in await items_of(client, review, reviewerId=str(company.carla)):
        await decide_as(db, company.owen, item, "Revoke")
    await submit_as(db, company.owen, review, reviewerId=str(company.carla))
    flagged, *_ = await items_of(client, review, status="Flagged")

    raw = {"reason": "Needed", "until": (datetime.now(UTC) + timedelta(days=9)).isoformat()}
    with pytest.raises(Conflict, match="cannot accept it"):
        await accepting.accept(db, await caller_of(db, company.owen), flagged["id"], raw, facts())


async def test_new_reviewer_of_an_item_is_notified(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, stages=TWO_STAGES)
    await execute(db, "DELETE FROM notifications")
    item, *others = await items_of(client, review, reviewerId=str(company.carla))

    await decide_as(db, company.carla, item, "Not Mine", identityId=str(company.greta))
    passed = await fetch_rows(db, "SELECT identity_id FROM notifications")
    for other in others:
        await decide_as(db, company.carla, other, "Keep")
    await submit_as(db, company.carla, review)

    assert passed == [(company.greta,)]
    assert (company.owen,) in await fetch_rows(db, "SELECT identity_id FROM notifications")


async def test_person_who_resolved_the_request_cannot_decide(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    granted = [{"header": "Payments", "section": "", "permission": "Release run", "requestedAccess": "Modify"}]
    body = {"action": "Change", "applicationId": str(company.ledger), "identityId": str(company.joana)}
    request = await post(client, "/api/access-requests", {**body, "targetName": "joana", "privileges": granted}, 201)
    await execute(db, "UPDATE access_requests SET status = 'Resolved', resolved_on = now() - interval '1 hour'")
    await execute(db, "UPDATE privileges SET approved_access = 'Modify'")
    await execute(
        db,
        """INSERT INTO access_request_events (request_id, application_id, name, created_at, caller_id, caller_name,
                                              request)
           VALUES (%(id)s, %(application)s, 'AccessRequestResolved', now(), %(carla)s, 'Carla Abadi', '{}')""",
        id=request["id"],
        application=company.ledger,
        carla=company.carla,
    )

    review = await an_open_review(client)

    items = {item["entitlement"]["name"]: item for item in await items_about(client, review, company.joana)}
    assert items["Release run"]["moved"].startswith("Carla Abadi carried out request #")
    await execute(db, "UPDATE review_items SET reviewer_id = %(id)s", id=company.carla)
    with pytest.raises(Conflict, match="approved or carried out"):
        await decide_as(db, company.carla, items["Release run"], "Keep")


async def test_item_does_not_return_to_the_person_who_passed_it_on(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    item, *_ = await items_about(client, review, company.joana)
    await decide(client, item, "Not Mine")

    body = {"identityId": str(company.carla), "comment": "after all"}
    answer = await client.post(f"/api/review-items/{item['id']}/reassign", json=body)

    assert "Carla Abadi has already passed this item on" in answer.json()["errors"][0]["message"]
