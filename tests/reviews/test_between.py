"""Test reviews between a decision and the import that verifies it: new requests, wrong files, changed models."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import moving
from rolecall.access_requests.model import APPROVE, START
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.reviews import following
from rolecall.reviews.coverage import numbers
from tests.builders import an_access_model, an_application, an_identity
from tests.duties.separating import finish_again
from tests.evidence.test_genuine_reviews import problems
from tests.holdings import a_finished_import
from tests.reviews.company import Reviewed, a_reviewed_company, follow, give_back, take_away
from tests.reviews.reviewing import an_open_review, decide, items_of, post, submit_all
from tests.reviews.test_coverage import covered
from tests.reviews.test_following import (
    RISKY,
    archive,
    change_model,
    decide_all,
    event_names,
    risky_item,
    status_of,
)
from tests.reviews.test_rollback import AFTER, BEFORE, Ledger


@pytest.fixture
async def ledger(client: httpx2.AsyncClient, db: Db, config: Config) -> Ledger:
    owner = await an_identity(db, "Owen", "Park")
    return Ledger(client, db, config, await an_application(db, "Ledger", ownerId=str(owner)))


async def approve_again(
    client: httpx2.AsyncClient, db: Db, company: Reviewed, access: str, action: str = "Change"
) -> None:
    """Request this access to the risky permission for Joana, and approve the request."""
    body = {"action": "Change", "applicationId": str(company.ledger), "identityId": str(company.joana)}
    asked = {"header": "Payments", "section": "", "permission": RISKY, "access": access}
    made = await post(client, "/api/access-requests", {**body, "targetName": "joana", "privileges": [asked]}, 201)
    id = UUID(made["id"])
    sql = "UPDATE privileges SET approved_access = %(access)s WHERE request_id = %(id)s"
    await execute(db, sql, id=id, access=access)
    await execute(
        db, "UPDATE access_requests SET status = 'Open', action = %(action)s WHERE id = %(id)s", id=id, action=action
    )


async def removed(client: httpx2.AsyncClient, db: Db) -> tuple[Reviewed, str]:
    """Create a review in which Joana's risky permission was revoked and removed; return the company and the review."""
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")
    await take_away(db, company, "joana", RISKY)
    await follow(db)
    return company, review


@pytest.mark.parametrize(
    ("access", "action", "status"),
    [("Modify", "Change", "Remediated"), ("Grant", "Change", "Flagged"), ("Modify", "Restore", "Flagged")],
)
async def test_returned_access_is_approved_only_by_a_new_request_for_at_least_that_access(
    client: httpx2.AsyncClient, db: Db, access: str, action: str, status: str
) -> None:
    """Access that came back is not approved by a request for lower access, or by the restore after a leave."""
    company, review = await removed(client, db)

    await approve_again(client, db, company, access, action)
    await give_back(db, company, "joana", RISKY)
    await follow(db)

    assert (await risky_item(client, review))["status"] == status


async def test_access_approved_again_before_an_import_proved_its_removal_stays(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")
    await approve_again(client, db, company, "Modify")
    await take_away(db, company, "joana", RISKY)
    await follow(db)

    await give_back(db, company, "joana", RISKY)
    await follow(db)

    assert (await risky_item(client, review))["status"] == "Remediated"


async def import_the_same(db: Db, company: Reviewed) -> int:
    run = await a_finished_import(db, company.ledger)
    await finish_again(db, run)
    await follow(db)
    return run


@pytest.mark.parametrize("decision", ["Revoke", "Keep Until"])
async def test_removal_that_was_completed_without_effect_is_requested_once_more(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path, decision: str
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    until = {"until": (datetime.now(UTC) + timedelta(days=1)).isoformat()} if decision == "Keep Until" else {}
    await decide_all(client, review, decision, **until)
    [request] = (await client.get("/api/access-requests")).json()["items"]
    await execute(db, "UPDATE access_requests SET status = 'Open', started_on = now()")
    await post(client, f"/api/access-requests/{request['id']}/resolve")
    await follow(db)
    assert len((await client.get("/api/access-requests")).json()["items"]) == 1

    run = await import_the_same(db, company)
    item = await risky_item(client, review)
    again, _ = (await client.get("/api/access-requests")).json()["items"]

    assert (item["status"], item["reopenedImport"]) == ("Flagged", run)
    assert (item["relatedItems"][0]["id"], again["action"]) == (again["id"], "Remove")
    assert "ReviewItemReopened" in await event_names(db, review)
    assert await problems(db, review, tmp_path) == []
    await execute(db, "UPDATE access_requests SET status = 'Open' WHERE id = %(id)s", id=UUID(again["id"]))
    await post(client, f"/api/access-requests/{again['id']}/resolve")
    await import_the_same(db, company)
    assert len((await client.get("/api/access-requests")).json()["items"]) == 2


async def test_import_from_before_the_removal_was_completed_contradicts_nothing(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")
    run = await a_finished_import(db, company.ledger)
    [request] = (await client.get("/api/access-requests")).json()["items"]
    await post(client, f"/api/access-requests/{request['id']}/resolve")

    await finish_again(db, run)
    await follow(db)

    assert (await risky_item(client, review))["reopenedOn"] is None


async def test_access_missing_from_a_wrong_file_does_not_count_as_reviewed(
    client: httpx2.AsyncClient, ledger: Ledger, db: Db, tmp_path: Path
) -> None:
    """A file lacks Ada's access, so the review is completed without it; then the import of the file is rolled back."""
    good = await ledger.upload(AFTER)
    review = await an_open_review(client, "Application")
    await ledger.upload(BEFORE)
    for item in await items_of(client, review, status="Pending"):
        await decide(client, item, "Keep")
    await submit_all(client, review)
    before = await covered(client)

    await ledger.roll_back(good)

    assert (before["Ledger"] is not None, await status_of(client, review)) == (True, "Completed")
    assert (await covered(client))["Ledger"] is None
    assert "ReviewItemReopened" in await event_names(db, review)
    assert await problems(db, review, tmp_path) == []


async def test_import_without_a_file_of_memberships_proves_no_removal(
    client: httpx2.AsyncClient, db: Db, ledger: Ledger
) -> None:
    """A rollback shows old data without the access; the next import has only a file of users."""
    first = await ledger.upload(BEFORE)
    await ledger.upload(AFTER)
    await execute(db, "UPDATE file_groups SET is_optional = true")
    undecided, decided = [await an_open_review(client, "Application") for _ in range(2)]
    for item in await items_of(client, decided):
        await decide(client, item, "Revoke" if item["entitlement"]["name"] == "Payers" else "Keep")
    await submit_all(client, decided)
    await ledger.roll_back(first)

    await ledger.upload(None, "Username\nada\nbob\ncy\n")

    assert (await ledger.statuses(undecided))["Payers"] == "Pending"
    assert (await ledger.statuses(decided))["Payers"] == "Flagged"
    await ledger.upload(BEFORE)
    assert (await ledger.statuses(undecided))["Payers"] == "Withdrawn"
    assert await status_of(client, decided) == "Completed"


async def test_file_of_memberships_proves_nothing_about_an_account_that_is_not_listed(
    client: httpx2.AsyncClient, db: Db, ledger: Ledger
) -> None:
    """After a rollback to data without the account, a file of memberships does not prove that its access is gone."""
    first = await ledger.upload(BEFORE, "Username\nbob\n")
    await ledger.upload(AFTER)
    await execute(db, "UPDATE file_groups SET is_optional = true")
    review = await an_open_review(client, "Application")
    await ledger.roll_back(first)

    await ledger.upload(BEFORE + "bob,Staff\n", None)
    by_memberships = (await ledger.statuses(review))["Payers"]
    await ledger.upload(BEFORE, "Username\nbob\n")

    assert by_memberships == "Pending"
    assert (await ledger.statuses(review))["Payers"] == "Withdrawn"


async def flagged_model(client: httpx2.AsyncClient, db: Db) -> tuple[Reviewed, UUID, str]:
    company = await a_reviewed_company(db)
    granted = [{"applicationId": str(company.ledger), "groups": ["Bookkeeper"]}]
    model = await an_access_model(db, "Accounting", access=granted, ownerId=str(company.greta))
    review = await an_open_review(client, "Model")
    [item] = await items_of(client, review)
    await decide(client, item, "Revoke")
    await submit_all(client, review)
    return company, model, review


async def give(db: Db, company: Reviewed, model: UUID, *groups: str) -> None:
    await change_model(db, model, {"access": [{"applicationId": str(company.ledger), "groups": list(groups)}]})
    await follow(db)


async def test_model_that_gives_more_access_is_not_remediated(client: httpx2.AsyncClient, db: Db) -> None:
    company, model, review = await flagged_model(client, db)

    await give(db, company, model, "Bookkeeper", "Approvers")

    assert await status_of(client, review) == "Closed"


async def test_model_that_gives_the_same_access_again_is_flagged_again(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company, model, review = await flagged_model(client, db)
    await give(db, company, model, "Approvers")
    completed = await status_of(client, review)

    await give(db, company, model, "Bookkeeper")

    [item] = await items_of(client, review)
    assert (completed, item["status"], item["reopenedImport"]) == ("Completed", "Flagged", None)
    assert item["reopenedOn"] is not None
    assert await problems(db, review, tmp_path) == []


async def test_review_ends_when_the_application_of_its_flagged_access_is_archived(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")

    await archive(db, company, True)

    assert (await status_of(client, review), (await risky_item(client, review))["status"]) == ("Completed", "Flagged")
    assert (await numbers(db, datetime.now(UTC))).flagged_items == 0
    assert await problems(db, review, tmp_path) == []


async def test_removal_is_requested_when_the_application_is_no_longer_archived(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review):
        await decide(client, item, "Revoke" if item["entitlement"]["name"] == RISKY else "Keep")
    await archive(db, company, True)
    await submit_all(client, review)
    async with db.transaction():
        await following.withdraw_archived(db, datetime.now(UTC))
    assert (await status_of(client, review), await requests_made(client)) == ("Completed", 0)

    await archive(db, company, False)
    await archive(db, company, False)

    assert await requests_made(client) == 1
    assert (await numbers(db, datetime.now(UTC))).flagged_items == 1


async def requests_made(client: httpx2.AsyncClient) -> int:
    return len((await client.get("/api/access-requests")).json()["items"])


@pytest.mark.parametrize("username", ["svc\tbot", "\u200b"])
async def test_account_with_invisible_characters_in_its_name_can_be_revoked(
    client: httpx2.AsyncClient, db: Db, username: str
) -> None:
    await a_reviewed_company(db)
    await execute(db, "UPDATE accounts SET username = %(name)s WHERE username = 'svc'", name=username)
    review = await an_open_review(client, "Unmatched")
    [item] = await items_of(client, review)
    await decide(client, item, "Revoke")

    await submit_all(client, review)

    [request] = (await client.get("/api/access-requests")).json()["items"]
    assert request["target"]["name"] == username


def acceptance(company: Reviewed, days: int) -> dict[str, Any]:
    until = datetime.now(UTC) + timedelta(days=days)
    return {"reason": "needed for the audit", "until": until.isoformat(), "identityId": str(company.owen)}


async def snoozed_until(db: Db) -> datetime | None:
    found: datetime | None = await fetch_value(db, "SELECT snoozed_until FROM access_requests")
    return found


async def test_longer_acceptance_postpones_the_removal_further(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")
    item = await risky_item(client, review)
    await post(client, f"/api/review-items/{item['id']}/accept", acceptance(company, 30))
    first = await snoozed_until(db)

    longer = acceptance(company, 60)
    await post(client, f"/api/review-items/{item['id']}/accept", longer)

    assert first is not None
    assert await snoozed_until(db) == datetime.fromisoformat(longer["until"])


async def test_removal_that_starts_while_the_access_is_accepted_is_postponed(
    client: httpx2.AsyncClient, db: Db
) -> None:
    """The request waits for an approval when the owner accepts the access."""
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")
    await execute(db, "UPDATE access_requests SET status = 'Pending', approved_on = NULL, started_on = NULL")
    item = await risky_item(client, review)
    await post(client, f"/api/review-items/{item['id']}/accept", acceptance(company, 30))
    pending = await snoozed_until(db)

    ids = [await fetch_value(db, "SELECT id FROM access_requests")]
    async with db.transaction():
        for move in (APPROVE, START):
            await moving.move(db, move, ids, SYSTEM, datetime.now(UTC))
    await follow(db)

    [request] = (await client.get("/api/access-requests")).json()["items"]
    assert (pending, request["status"]) == (None, "Snoozed")
