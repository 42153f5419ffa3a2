"""Test what proves that access was removed, and what then happens to its request."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.closed_loop import ask_import_to_verify
from rolecall.access_requests.opening import move_due
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from tests.builders import an_application, an_identity
from tests.reviews.company import a_reviewed_company, follow, take_away
from tests.reviews.reviewing import an_open_review, decide, items_of, post, submit_all
from tests.reviews.test_following import RISKY, decide_all, risky_item, status_of
from tests.reviews.test_rollback import AFTER, BEFORE, Ledger


@pytest.fixture
async def ledger(client: httpx2.AsyncClient, db: Db, config: Config) -> Ledger:
    owner = await an_identity(db, "Owen", "Park")
    return Ledger(client, db, config, await an_application(db, "Ledger", ownerId=str(owner)))


async def revoke_payers(client: httpx2.AsyncClient, db: Db) -> str:
    """Review the ledger, revoke the group Payers, and carry out the request, which an import must verify."""
    review = await an_open_review(client, "Application")
    for item in await items_of(client, review):
        await decide(client, item, "Revoke" if item["entitlement"]["name"] == "Payers" else "Keep")
    await submit_all(client, review)
    [request] = (await client.get("/api/access-requests")).json()["items"]
    await ask_import_to_verify(db, [UUID(request["id"])])
    await post(client, f"/api/access-requests/{request['id']}/resolve")
    return review


async def request_statuses(client: httpx2.AsyncClient) -> list[str]:
    return [each["status"] for each in (await client.get("/api/access-requests")).json()["items"]]


@pytest.mark.parametrize("state", ["No,No", "Yes,Yes"])
async def test_account_that_cannot_be_used_still_has_the_access(
    client: httpx2.AsyncClient, db: Db, ledger: Ledger, state: str
) -> None:
    """The import completes the request, but the disabled or locked account still has the membership."""
    await ledger.upload(AFTER)
    review = await revoke_payers(client, db)

    await ledger.upload(AFTER, f"Username,Active,Locked\nada,{state}\nbob,Yes,No\n")

    assert await request_statuses(client) == ["Completed"]
    assert await ledger.statuses(review) == {"Payers": "Flagged", "Readers": "Approved"}
    assert await status_of(client, review) == "Closed"
    await ledger.upload(BEFORE)
    assert await status_of(client, review) == "Completed"


async def test_request_completed_by_an_import_of_the_holder_proves_nothing(
    client: httpx2.AsyncClient, db: Db, ledger: Ledger
) -> None:
    await ledger.upload(AFTER)
    ada = await an_identity(db, "Ada", "Love")
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=ada)
    await execute(
        db,
        """UPDATE accounts SET identity_id = %(id)s, pin = 'Pinned', match = 'Pinned',
                               matched_on = now() - interval '1 day' WHERE username = 'ada'""",
        id=ada,
    )
    review = await revoke_payers(client, db)

    await execute(db, "UPDATE tokens SET owner_id = %(id)s", id=ada)
    await ledger.upload(BEFORE)

    assert await ledger.statuses(review) == {"Payers": "Flagged", "Readers": "Approved"}


async def test_open_request_is_completed_when_an_import_proves_the_removal(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Revoke")

    run = await take_away(db, company, "joana", RISKY)
    await follow(db)

    [request] = (await client.get("/api/access-requests")).json()["items"]
    detail = (await client.get(f"/api/access-requests/{request['id']}")).json()
    assert request["status"] == "Completed"
    assert detail["activity"][-1]["content"].startswith(f"Import {run}")


async def test_postponed_change_does_not_give_removed_access_back(client: httpx2.AsyncClient, db: Db) -> None:
    """The owner accepted the access for a while; an import shows that it is gone before the change is carried out."""
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    await decide_all(client, review, "Change", access="Grant")
    item = await risky_item(client, review)
    until = datetime.now(UTC) + timedelta(days=30)
    accepted = {"reason": "needed for the audit", "until": until.isoformat(), "identityId": str(company.owen)}
    await post(client, f"/api/review-items/{item['id']}/accept", accepted)

    await take_away(db, company, "joana", RISKY)
    await follow(db)
    async with db.transaction():
        await move_due(db, until)
    await follow(db)

    assert (await request_statuses(client), (await risky_item(client, review))["status"]) == (
        ["Canceled"],
        "Remediated",
    )


async def test_request_stays_open_until_all_of_its_access_is_removed(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review):
        await decide(client, item, "Revoke" if item["account"]["username"] == "joana" else "Keep")
    await submit_all(client, review)

    await take_away(db, company, "joana", RISKY)
    await follow(db)

    assert await request_statuses(client) == ["Open"]
