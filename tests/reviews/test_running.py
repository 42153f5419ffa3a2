"""Test the course of reviews: due date, closing, reminders, replaced owners, new access and unexplained access."""

from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx2

from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.reviews import actions, closing, following, new_access, templates, workspace
from tests.builders import an_identity, facts, own_tokens
from tests.duties.separating import finish_again
from tests.evidence.test_genuine_reviews import a_model
from tests.holdings import a_finished_import, an_account
from tests.reviews.company import a_reviewed_company, follow
from tests.reviews.reviewing import a_draft, an_open_review, decide, items_of, post, submit_all
from tests.stand_ins.standing_in import caller_of


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


async def test_due_date_without_a_time_is_the_end_of_that_day(client: httpx2.AsyncClient, db: Db) -> None:
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


AUCKLAND = ZoneInfo("Pacific/Auckland")


async def test_days_in_texts_are_those_of_the_time_zone(client: httpx2.AsyncClient, db: Db) -> None:
    """Noon of 31 March in UTC is already 1 April in Auckland."""
    company = await a_reviewed_company(db)
    review = await an_open_review(client, onSilence="approve")
    await execute(db, "UPDATE reviews SET due_on = '2035-03-31T12:30:00Z'")
    caller = await caller_of(db, company.owen)
    zone = facts(zone=AUCKLAND, now=datetime(2035, 3, 1, tzinfo=UTC))
    async with db.transaction():
        await actions.change_review(db, caller, review, {"dueOn": "2035-04-02T00:30:00"}, zone)
    detail = await fetch_value(db, "SELECT detail FROM review_steps")

    async with db.transaction():
        await closing.close_review(db, caller, review, False, datetime(2035, 5, 1, tzinfo=UTC), AUCKLAND)

    [comment] = {item["comment"] for item in await items_of(client, review)}
    assert detail == "From 2035-04-01 to 2035-04-02"
    assert comment.startswith("No decision by 2035-04-02.")


async def test_review_of_a_template_has_the_month_of_the_time_zone(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    body = {"name": "Monthly", "everyMonths": 1, "nextOn": "2035-03-31T11:00:00Z", "review": {"type": "Application"}}
    template = await post(client, "/api/review-templates", body, 201)
    now = datetime(2035, 3, 31, 11, tzinfo=UTC)

    async with db.transaction():
        await templates.follow_template(db, UUID(template["id"]), now, facts(now=now, zone=AUCKLAND))

    assert await fetch_value(db, "SELECT name FROM reviews") == "Monthly, April 2035"


async def test_administrators_can_be_reminded(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client, "Unmatched", stages=[{"reviewer": "Supervisor"}])
    await execute(db, "UPDATE review_items SET reviewer_id = administrators_id()")

    reminded = await client.post(f"/api/reviews/{review}/remind", json={"reviewerIds": [str(UUID(int=2))]})
    body = {"reviewerIds": [str(ADMINISTRATORS.id)]}

    assert reminded.status_code == 400
    assert (await client.post(f"/api/reviews/{review}/remind", json=body)).status_code == 200


async def test_null_empties_the_fallback_and_the_period_of_a_draft(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    period = {"from": "2026-01-01", "until": "2026-06-30"}
    draft = await a_draft(client, fallback={"reviewer": "Application Owner"}, period=period)

    changed = (await client.patch(f"/api/reviews/{draft}", json={"fallback": None, "period": None})).json()

    assert (changed["fallback"], changed["period"]) == (None, {"from": None, "until": None})


async def test_items_that_a_model_decides_are_not_grouped_by_access(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await a_model(db, company)
    review = await an_open_review(client, explained="by model")
    [model] = [item for item in await items_of(client, review) if item["subject"] == "Model"]

    grouped = await workspace.by_access(db, UUID(review), [UUID(model["reviewer"]["id"])], 1)

    rows = await fetch_rows(db, "SELECT count(*) FROM review_items WHERE under_id IS NOT NULL")
    left = [item for item in await items_of(client, review, reviewerId=model["reviewer"]["id"]) if item["entitlement"]]
    assert rows[0][0] > 0
    assert sum(one.count for one in grouped.items) == len(left) - rows[0][0]
