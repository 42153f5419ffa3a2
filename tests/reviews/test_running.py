"""Test how a review is run: due date, closing, reminders, new access, and unexplained access of an import."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx2

from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.reviews import following, new_access
from tests.builders import an_identity, own_tokens
from tests.duties.separating import finish_again
from tests.holdings import a_finished_import, an_account
from tests.reviews.reviewing import (
    a_draft,
    a_reviewed_company,
    an_open_review,
    decide,
    follow,
    items_of,
    post,
    submit_all,
)


def later(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


async def test_due_date_of_an_open_review_can_only_be_moved_to_a_later_date(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)

    sooner = await client.patch(f"/api/reviews/{review}", json={"dueOn": later(1)})
    moved = await client.patch(f"/api/reviews/{review}", json={"dueOn": later(40)})

    assert (sooner.status_code, moved.status_code) == (400, 200)
    assert sooner.json()["errors"][0]["field"] == "dueOn"


async def test_close_is_held_before_it_can_be_confirmed(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, onSilence="flag")
    await execute(db, "UPDATE reviews SET due_on = now() - interval '1 hour'")

    await own_tokens(db, company.greta)
    first = await post(client, f"/api/reviews/{review}/close", {"confirm": True})
    second = await post(client, f"/api/reviews/{review}/close", {"confirm": True})

    assert (first["status"], second["status"]) == ("Open", "Closed")
    assert first["held"]


async def test_review_is_due_at_the_end_of_a_day(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    day = later(9)[:10]

    review = await a_draft(client, dueOn=day)

    due = await fetch_value(db, "SELECT due_on FROM reviews WHERE id = %(id)s", id=UUID(review))
    assert due.isoformat() == f"{day}T23:59:59+00:00"


async def test_message_about_one_unsubmitted_item_is_singular(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review):
        await decide(client, item, "Keep")
    for reviewer in (company.carla, company.owen):
        await post(client, f"/api/reviews/{review}/submit", {"reviewerId": str(reviewer)})

    answer = await client.post(f"/api/reviews/{review}/close")

    assert (
        answer.json()["message"]
        == "1 item is not submitted yet, and the due date has not passed. Remind the reviewers, or wait"
    )


async def test_reminders_have_a_limit(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)

    found = [(await client.post(f"/api/reviews/{review}/remind")).status_code for _ in range(11)]

    assert found == [200] * 10 + [409]


async def test_comment_of_invisible_characters_counts_as_empty(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    await execute(db, "UPDATE account_versions SET last_login = '2020-01-01T00:00:00Z'")
    review = await an_open_review(client)
    item, *_ = await items_of(client, review)
    body = {"reviewerId": item["reviewer"]["id"], "comment": "\u200b"}

    against = await client.post(f"/api/review-items/{item['id']}/decide", json={**body, "decision": "Keep"})
    passed = await client.post(f"/api/review-items/{item['id']}/decide", json={**body, "decision": "Not Mine"})
    far = {**body, "decision": "Keep Until", "until": "9000-01-01T00:00:00Z"}
    endless = await client.post(f"/api/review-items/{item['id']}/decide", json=far)

    assert [answer.json()["errors"][0]["field"] for answer in (against, passed, endless)] == [
        "comment", "comment", "until",
    ]  # fmt: skip


async def test_reviewer_sees_new_access_of_their_people_only(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = UUID(await an_open_review(client))
    other = await an_identity(db, "Secret", "Person")
    run = await a_finished_import(db, company.ledger)
    await an_account(db, company.ledger, "secret.admin", other, groups=("Merger room",), run=run)
    await an_account(db, company.ledger, "carla2", company.carla, groups=("Merger room",), run=run)

    everyone = await new_access.new_access(db, review, 1)
    of_greta = await new_access.new_access(db, review, 1, [company.greta])
    of_carla = await new_access.new_access(db, review, 1, [company.carla])

    assert [one.account.name for one in everyone.items] == ["carla2", "secret.admin"]
    assert [one.account.name for one in of_greta.items] == ["carla2"]
    assert of_carla.items == []


async def test_unexplained_access_of_many_people_opens_one_review(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await execute(db, "UPDATE applications SET surprise_reviews = true")
    run = await a_finished_import(db, company.ledger)
    for n in range(12):
        person = await an_identity(db, "New", f"Person {n}")
        await an_account(db, company.ledger, f"new{n}", person, groups=("Vault",), run=run)
    await execute(db, "UPDATE accounts SET matched_on = now() - interval '1 day'")
    await finish_again(db, run)

    await follow(db)

    rows = await fetch_rows(db, "SELECT name, item_count FROM reviews")
    assert rows == [("Unexplained access in Finance Ledger: 12 people", 12)]


async def test_items_of_an_archived_application_are_withdrawn(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    item, *_ = await items_of(client, review)
    await decide(client, item, "Keep")
    await execute(db, "UPDATE applications SET is_archived = true WHERE id = %(id)s", id=company.ledger)

    async with db.transaction():
        await following.withdraw_archived(db, datetime.now(UTC))

    statuses = [one["status"] for one in await items_of(client, review)]
    assert sorted(statuses) == ["Approved", *["Withdrawn"] * 4]
    shown = (
        await client.get(f"/api/review-items/{(await items_of(client, review, status='Withdrawn'))[0]['id']}")
    ).json()
    assert shown["activity"][-1]["content"] == "The application was archived"


async def test_owner_who_leaves_during_a_review_is_replaced_and_nothing_is_lost(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    await execute(
        db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=company.greta
    )
    review = await an_open_review(client, "Application", ownerId=str(company.owen))
    first, *_ = await items_of(client, review, reviewerId=str(company.owen))
    await decide(client, first, "Keep")
    await execute(db, "UPDATE identities SET status = 'Removed' WHERE id = %(id)s", id=company.owen)

    await follow(db)
    for item in await items_of(client, review, status="Pending"):
        await decide(client, item, "Keep")
    await submit_all(client, review)

    done = (await client.get(f"/api/reviews/{review}")).json()
    assert {item["reviewer"]["name"] for item in await items_of(client, review)} == {"Greta Das"}
    assert (done["status"], done["items"]["approved"]) == ("Completed", 5)
    history = (await client.get(f"/api/review-items/{first['id']}")).json()["decisions"]
    assert [(entry["reviewer"]["name"], entry["decision"]) for entry in history] == [
        ("Owen Park", "Keep"), ("Greta Das", "Keep"),
    ]  # fmt: skip
