"""Test missing, unsubmitted and invalid decisions: what closing a review does, and when the reviewer changes."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2

from rolecall.core.db import Db, execute, fetch_rows
from rolecall.reviews.closing import close_review
from tests.builders import facts
from tests.reviews.company import Reviewed, a_reviewed_company, follow
from tests.reviews.reviewing import an_open_review, decide, items_of, post
from tests.reviews.test_following import risky_item
from tests.stand_ins.standing_in import caller_of


async def make_overdue(db: Db) -> None:
    await execute(db, "UPDATE reviews SET due_on = now() - interval '1 hour' WHERE status = 'Open'")


async def confirm_close(db: Db, company: Reviewed, review: str) -> None:
    for confirm in (False, True):
        async with db.transaction():
            owner = await caller_of(db, company.owen)
            closed = await close_review(db, owner, review, confirm, datetime.now(UTC), facts().zone)
        if not closed.held:
            return


async def approvals(db: Db) -> set[tuple[str, str]]:
    rows = await fetch_rows(db, "SELECT reviewer_name, reason FROM responses WHERE type = 'Approve'")
    return {(name, reason.partition(": ")[2]) for name, reason in rows}


async def test_undecided_item_is_attributed_to_the_system(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, onSilence="flag")
    await make_overdue(db)

    await confirm_close(db, company, review)

    assert {name for name, _ in await approvals(db)} == {"System"}
    assert not [said for _, said in await approvals(db) if "decided" in said]


async def test_decision_made_for_the_reviewer_cites_the_person_who_made_it(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review, reviewerId=str(company.carla)):
        await decide(client, item, "Revoke" if item["entitlement"]["name"] == "Release run" else "Keep")
    await execute(db, "UPDATE review_items SET decided_by = %(id)s WHERE decision = 'Revoke'", id=company.owen)
    await post(client, f"/api/reviews/{review}/submit", {"reviewerId": str(company.carla)})

    assert await approvals(db) == {("Carla Abadi", "Owen Park decided Revoke for Carla Abadi")}


async def test_closing_a_review_of_groups_counts_the_accounts_in_them(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await execute(
        db,
        """INSERT INTO assignments SELECT g.number, p.number, 'Modify', %(run)s, NULL, ''
           FROM groups g, permissions p WHERE g.name = 'Bookkeeper'""",
        run=company.run,
    )
    review = await an_open_review(client, "Group Contents", onSilence="flag")
    await make_overdue(db)

    closed = await post(client, f"/api/reviews/{review}/close")

    assert closed["status"] == "Open"
    assert closed["held"].startswith("Closing would flag 3 of 4 accounts of Finance Ledger")


async def test_decision_to_revoke_that_was_not_submitted_sends_its_event(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, onSilence="approve")
    item = await risky_item(client, review)
    await decide(client, item, "Revoke")
    await make_overdue(db)

    await confirm_close(db, company, review)

    rows = await fetch_rows(db, "SELECT item_id FROM review_events WHERE name = 'ReviewItemFlagged'")
    assert rows == [(UUID(item["id"]),)]


async def test_decision_of_a_reviewer_who_meanwhile_holds_the_account_does_not_count(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, "Application", onSilence="flag")
    for item in await items_of(client, review):
        await decide(client, item, "Keep")
    await execute(
        db, "UPDATE accounts SET identity_id = %(id)s, matched_on = now() WHERE username = 'svc'", id=company.owen
    )
    await make_overdue(db)

    await confirm_close(db, company, review)

    service = await of_account(client, review, "svc")
    assert (service["status"], service["reviewer"]["name"] != "Owen Park") == ("Flagged", True)


async def of_account(client: httpx2.AsyncClient, review: str, username: str) -> dict[str, Any]:
    [found] = [item for item in await items_of(client, review) if item["account"]["username"] == username]
    return found


async def test_item_goes_to_another_person_when_its_reviewer_gets_the_account(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, "Application")
    await execute(
        db, "UPDATE accounts SET identity_id = %(id)s, matched_on = now() WHERE username = 'svc'", id=company.owen
    )

    await follow(db)

    item = await of_account(client, review, "svc")
    assert item["reviewer"]["name"] == "Administrators"
    assert item["moved"].startswith("Owen Park now holds the account or owns the model")


async def test_reviewer_who_must_not_decide_passes_on_but_cannot_choose_the_next(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, "Application")
    item = await of_account(client, review, "svc")
    await execute(
        db, "UPDATE accounts SET identity_id = %(id)s, matched_on = now() WHERE username = 'svc'", id=company.owen
    )
    body = {"decision": "Not Mine", "reviewerId": str(company.owen), "comment": "it is mine now"}
    path = f"/api/review-items/{item['id']}/decide"

    chosen = await client.post(path, json={**body, "identityId": str(company.greta)})
    passed = await client.post(path, json=body)

    assert (chosen.status_code, passed.status_code) == (409, 200)
    assert passed.json()["reviewer"]["name"] == "Administrators"


async def test_access_kept_without_a_decision_counts_as_not_reviewed(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    await execute(db, "UPDATE applications SET review_every_months = 6")
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '10 months'")
    review = await an_open_review(client, "Application", onSilence="approve")
    [first, *rest] = await items_of(client, review)
    await decide(client, first, "Keep")
    await execute(db, "UPDATE reviews SET due_on = now() - interval '1 hour'")
    await follow(db)

    [ledger] = (await client.get("/api/reviews/coverage")).json()["items"]
    changed = await items_of(client, await an_open_review(client, "Changed"))

    assert (await client.get(f"/api/reviews/{review}")).json()["status"] == "Completed"
    assert (ledger["isOverdue"], ledger["lastReview"]) == (True, None)
    assert len(changed) == len(rest)
