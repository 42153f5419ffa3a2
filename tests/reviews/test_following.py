"""Test what later imports, requests, archiving and the end of an acceptance do to the items of a review."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.access_models import actions as models
from rolecall.access_requests import actions as requests
from rolecall.applications.actions import change_application
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.reviews import following
from rolecall.reviews.coverage import numbers
from tests.builders import an_access_model, facts
from tests.duties.separating import finish_again
from tests.holdings import a_finished_import
from tests.reviews.company import Reviewed, a_reviewed_company, follow, give_back, take_away
from tests.reviews.reviewing import DUE, an_open_review, decide, items_of, post, submit_all
from tests.stand_ins.standing_in import caller_of

RISKY = "Release run"


async def decide_all(client: httpx2.AsyncClient, review: str, risky: str = "Keep", **fields: Any) -> None:
    """Decide the risky access as given, keep the rest, and submit."""
    for item in await items_of(client, review):
        is_risky = item["entitlement"]["name"] == RISKY
        await decide(client, item, risky if is_risky else "Keep", **(fields if is_risky else {}))
    await submit_all(client, review)


async def risky_item(client: httpx2.AsyncClient, review: str) -> dict[str, Any]:
    [item] = [each for each in await items_of(client, review) if each["entitlement"]["name"] == RISKY]
    return item


async def status_of(client: httpx2.AsyncClient, review: str) -> str:
    return str((await client.get(f"/api/reviews/{review}")).json()["status"])


async def archive(db: Db, company: Reviewed, is_archived: bool) -> None:
    await change_application(db, company.ledger, {"isArchived": is_archived}, facts())
    async with db.transaction():
        await following.withdraw_archived(db, datetime.now(UTC))


async def event_names(db: Db, review: str) -> list[str]:
    """Return the names of the events of a review, oldest first."""
    rows = await fetch_rows(db, "SELECT name FROM review_events WHERE review_id = %(id)s ORDER BY number", id=review)
    return [name for (name,) in rows]


async def import_without(db: Db, company: Reviewed, username: str) -> int:
    """Import data in which an account is missing, with everything that it held."""
    run = await a_finished_import(db, company.ledger)
    for table, column in (
        ("account_versions", "account_number"),
        ("memberships", "account_number"),
        ("assignments", "holder_number"),
    ):
        await execute(
            db,
            f"""UPDATE {table} SET until_import = %(run)s WHERE until_import IS NULL
                AND {column} = (SELECT number FROM accounts WHERE username = %(username)s)""",
            run=run,
            username=username,
        )
    await finish_again(db, run)
    return run


async def test_account_that_disappears_withdraws_its_undecided_items(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)

    await import_without(db, company, "joana")
    await follow(db)

    withdrawn = await items_of(client, review, status="Withdrawn")
    assert [item["account"]["username"] for item in withdrawn] == ["joana", "joana"]


async def test_account_that_disappears_remediates_its_flagged_items(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")

    run = await import_without(db, company, "joana")
    await follow(db)

    assert (await risky_item(client, review))["remediatedImport"] == run


async def test_access_missing_in_one_import_is_reviewed_when_it_returns(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await take_away(db, company, "joana", RISKY)
    await follow(db)

    await give_back(db, company, "joana", RISKY)
    await follow(db)

    item = await risky_item(client, review)
    assert item["status"] == "Pending"
    assert (await decide(client, item, "Revoke"))["status"] == "Flagged"


async def test_review_whose_items_were_all_withdrawn_is_canceled_and_covers_nothing(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    await execute(db, "UPDATE applications SET review_every_months = 6")
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '10 months'")
    review = await an_open_review(client)

    await archive(db, company, True)
    await archive(db, company, False)

    [ledger] = (await client.get("/api/reviews/coverage")).json()["items"]
    assert (await status_of(client, review), ledger["isOverdue"], ledger["lastReview"]) == ("Canceled", True, None)


async def test_items_of_an_application_that_is_no_longer_archived_are_reviewed(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    [first, *rest] = await items_of(client, review)
    await decide(client, first, "Keep")

    await archive(db, company, True)
    await archive(db, company, False)

    assert len(await items_of(client, review, status="Pending")) == len(rest)


async def test_request_completed_by_a_person_waits_until_an_import_proves_it(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")
    [request] = (await client.get("/api/access-requests")).json()["items"]

    done = await post(client, f"/api/access-requests/{request['id']}/resolve")
    await follow(db)

    item = await risky_item(client, review)
    assert (done["status"], item["status"], await status_of(client, review)) == ("Completed", "Flagged", "Closed")
    activity = (await client.get(f"/api/review-items/{item['id']}")).json()["activity"]
    assert activity[-1]["action"] == "Awaiting Proof"
    run = await take_away(db, company, "joana", RISKY)
    await follow(db)
    assert (await risky_item(client, review))["remediatedImport"] == run
    assert await status_of(client, review) == "Completed"


@pytest.mark.parametrize("supplier", ["joana", "carla"])
async def test_data_supplied_by_an_involved_person_proves_nothing(
    client: httpx2.AsyncClient, db: Db, supplier: str
) -> None:
    """Joana holds the account, and Carla carried out the request."""
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")
    [request] = (await client.get("/api/access-requests")).json()["items"]
    await execute(
        db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=company.carla
    )
    await requests.resolve(db, await caller_of(db, company.carla), request["id"], {}, facts())
    await follow(db)

    run = await take_away(db, company, "joana", RISKY)
    person = msgspec.structs.asdict(company)[supplier]
    await execute(db, "UPDATE application_imports SET supplied_by = %(id)s WHERE number = %(run)s", id=person, run=run)
    await follow(db)

    assert (await risky_item(client, review))["status"] == "Flagged"
    proof = await a_finished_import(db, company.ledger)
    await finish_again(db, proof)
    await follow(db)
    assert (await risky_item(client, review))["remediatedImport"] == proof


async def test_undecided_item_stays_if_its_holder_supplied_the_data(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)

    run = await take_away(db, company, "joana", RISKY)
    await execute(
        db, "UPDATE application_imports SET supplied_by = %(id)s WHERE number = %(run)s", id=company.joana, run=run
    )
    await follow(db)

    assert (await risky_item(client, review))["status"] == "Pending"


async def change_model(db: Db, id: UUID, changes: dict[str, Any]) -> None:
    async with db.transaction():
        await models.change_model(db, str(id), changes, facts())
        await models.commit_model(db, SYSTEM, str(id), datetime.now(UTC), allow_unknown=True)


@pytest.mark.parametrize("on_silence", ["escalate", "flag"])
async def test_flagged_model_is_remediated_by_a_change_of_its_access_not_of_its_description(
    client: httpx2.AsyncClient, db: Db, on_silence: str
) -> None:
    company = await a_reviewed_company(db)
    granted = [{"applicationId": str(company.ledger), "groups": ["Bookkeeper"]}]
    model = await an_access_model(db, "Accounting", access=granted, ownerId=str(company.greta))
    review = await an_open_review(client, "Model", onSilence=on_silence)
    if on_silence == "flag":
        await execute(db, "UPDATE reviews SET due_on = now() - interval '1 hour'")
    else:
        [item] = await items_of(client, review)
        await decide(client, item, "Revoke")
        await submit_all(client, review)
    await follow(db)

    await change_model(db, model, {"description": "a new text"})
    await follow(db)

    assert await status_of(client, review) == "Closed"
    await change_model(db, model, {"access": [{"applicationId": str(company.ledger), "groups": ["Approvers"]}]})
    await follow(db)
    assert await status_of(client, review) == "Completed"


async def test_access_to_keep_until_a_date_is_flagged_if_its_removal_is_canceled(
    client: httpx2.AsyncClient, db: Db
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Keep Until", until=DUE)
    [request] = (await client.get("/api/access-requests")).json()["items"]

    await post(client, f"/api/access-requests/{request['id']}/cancel")
    await follow(db)

    assert (await risky_item(client, review))["status"] == "Flagged"
    assert "ReviewRemovalCanceled" in await event_names(db, review)


async def test_accepted_access_is_not_removed_until_the_acceptance_ends(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")
    item = await risky_item(client, review)
    until = datetime.now(UTC) + timedelta(days=30)
    accepted = {"reason": "needed for the audit", "until": until.isoformat(), "identityId": str(company.owen)}

    await post(client, f"/api/review-items/{item['id']}/accept", accepted)

    [request] = (await client.get("/api/access-requests")).json()["items"]
    assert (request["status"], await status_of(client, review)) == ("Snoozed", "Completed")
    await follow(db)
    assert (await numbers(db, datetime.now(UTC))).flagged_items == 0
    async with db.transaction():
        await following.follow_due(db, until)
    assert "ReviewAcceptanceEnded" in await event_names(db, review)
    assert (await numbers(db, until)).flagged_items == 1


async def test_removal_of_returned_access_is_requested_and_counted(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")
    await take_away(db, company, "joana", RISKY)
    await follow(db)

    await give_back(db, company, "joana", RISKY)
    await follow(db)

    item = await risky_item(client, review)
    [newest, *_] = (await client.get("/api/access-requests")).json()["items"]
    assert item["relatedItems"][0]["id"] == newest["id"]
    assert (newest["action"], newest["status"]) == ("Remove", "Open")
    assert (await numbers(db, datetime.now(UTC))).flagged_items == 1


async def test_changes_by_the_service_are_audited_with_a_digest(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)

    run = await take_away(db, company, "joana", RISKY)
    await follow(db)

    audit = (await client.get("/api/audit-events", params={"entityId": review})).json()["items"]
    changed = {name: value for entry in audit for name, value in (entry["after"] or {}).items()}
    *_, change = [value for name, value in sorted(changed.items()) if name.startswith("changes.")]
    assert (change["change"], change["itemCount"], change["importNumber"]) == ("Withdrawn", 1, run)
    assert len(change["digest"]) == 64
    assert changed["populations.0"]["held"] == 5


@pytest.mark.parametrize("on_silence", ["flag", "approve"])
async def test_close_with_many_unsubmitted_revocations_is_held(
    client: httpx2.AsyncClient, db: Db, on_silence: str
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client, onSilence=on_silence)
    for item in await items_of(client, review):
        await decide(client, item, "Revoke")
    await execute(db, "UPDATE reviews SET due_on = now() - interval '1 hour'")

    await follow(db)

    shown = (await client.get(f"/api/reviews/{review}")).json()
    assert (shown["status"], shown["held"]) == (
        "Open",
        "Closing would flag 4 of 4 accounts of Finance Ledger. Confirm to close the review anyway",
    )
    assert (await client.get("/api/access-requests")).json()["items"] == []
    later = (datetime.now(UTC) + timedelta(days=3)).isoformat()
    extended = (await client.patch(f"/api/reviews/{review}", json={"dueOn": later})).json()
    assert extended["held"] is None


async def return_account(db: Db, company: Reviewed, username: str) -> None:
    """Import data in which an account exists again, without the access that it had."""
    run = await a_finished_import(db, company.ledger)
    await execute(
        db,
        """INSERT INTO account_versions SELECT account_number, %(run)s, NULL, name, '', '', '', '', true, false, '', '',
                                               '{}', '', ''
           FROM account_versions WHERE name = %(name)s""",
        run=run,
        name=username,
    )
    await finish_again(db, run)
    await follow(db)


@pytest.mark.parametrize(("is_requested", "status"), [(True, "Remediated"), (False, "Flagged")])
async def test_account_that_returns_is_flagged_again_unless_it_was_requested(
    client: httpx2.AsyncClient, db: Db, is_requested: bool, status: str
) -> None:
    company = await a_reviewed_company(db)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=company.emre)
    review = await an_open_review(client, "Leavers")
    [item] = await items_of(client, review)
    await decide(client, item, "Revoke")
    await submit_all(client, review)
    await import_without(db, company, "emre")
    await follow(db)
    await execute(db, "UPDATE identities SET status = 'Active' WHERE id = %(id)s", id=company.emre)
    if is_requested:
        body = {"action": "Add", "applicationId": str(company.ledger), "identityId": str(company.emre)}
        await post(client, "/api/access-requests", {**body, "targetName": "emre"}, 201)
        await execute(db, "UPDATE access_requests SET status = 'Open' WHERE action = 'Add'")

    await return_account(db, company, "emre")

    assert [each["status"] for each in await items_of(client, review)] == [status]
