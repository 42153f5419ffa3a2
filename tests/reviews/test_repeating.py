"""Test templates, coverage, reviews of unexplained access, webhook events and notifications."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx2
import pytest

from rolecall.core.checking import Facts
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.notifications.model import FactContext, Reminders
from rolecall.notifications.review_facts import of_templates
from rolecall.reviews import templates
from tests.builders import an_identity
from tests.duties.separating import finish_again
from tests.holdings import a_finished_import, an_account
from tests.notifications.notifying import notified
from tests.reviews.company import a_reviewed_company, follow
from tests.reviews.reviewing import a_draft, an_open_review, decide, items_of, keep_all, post, submit_all

HOOK = {"name": "Tickets", "url": "https://hooks.example.com/rolecall"}


async def due(db: Db, now: datetime) -> None:
    for id in await templates.due_templates(db, now):
        async with db.transaction():
            await templates.follow_template(db, id, now, Facts(now=now, zone=ZoneInfo("UTC")))


async def test_a_template_opens_a_review_once_per_due_date(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    body = {"name": "Quarterly", "everyMonths": 3, "opens": True, "review": {"type": "Application"}}
    template = await post(client, "/api/review-templates", body, 201)
    now = datetime.now(UTC) + timedelta(minutes=1)

    await due(db, now)
    await due(db, now)

    [review] = (await client.get("/api/reviews")).json()["items"]
    after = (await client.get(f"/api/review-templates/{template['id']}")).json()
    assert (review["status"], review["name"]) == ("Open", f"Quarterly, {now:%B %Y}")
    assert (after["lastReviewId"], after["fault"]) == (review["id"], "")
    assert datetime.fromisoformat(after["nextOn"]) > now + timedelta(days=80)


async def test_a_template_says_why_its_review_could_not_be_opened(client: httpx2.AsyncClient, db: Db) -> None:
    body = {"name": "Quarterly", "everyMonths": 3, "opens": True, "review": {"type": "Application"}}
    template = await post(client, "/api/review-templates", body, 201)

    await due(db, datetime.now(UTC) + timedelta(minutes=1))

    after = (await client.get(f"/api/review-templates/{template['id']}")).json()
    assert after["fault"].startswith("The population is empty")
    assert (await client.get("/api/reviews")).json()["totalCount"] == 0


async def test_an_application_is_overdue_until_a_review_of_it_is_complete(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await client.patch(f"/api/applications/{company.ledger}", json={"reviewEveryMonths": 6})
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '1 year'")

    [before] = (await client.get("/api/reviews/coverage")).json()["items"]
    metrics = (await client.get("/metrics", headers={"Host": "localhost"})).text
    review = await an_open_review(client, "Application")
    await keep_all(client, review)
    [after] = (await client.get("/api/reviews/coverage")).json()["items"]

    assert (before["isOverdue"], before["lastReview"]) == (True, None)
    assert "applications_review_overdue 1" in metrics
    assert (after["isOverdue"], after["lastReview"]["id"]) == (False, review)


async def test_import_with_unexplained_access_opens_a_review_of_one_item(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await client.patch(f"/api/applications/{company.ledger}", json={"surpriseReviews": True})
    run = await a_finished_import(db, company.ledger)
    await an_account(db, company.ledger, "joana2", company.joana, groups=("Approvers", "Bookkeeper"), run=run)
    await execute(db, "UPDATE accounts SET matched_on = now() - interval '1 hour'")
    await finish_again(db, run)

    await follow(db)

    [review] = (await client.get("/api/reviews")).json()["items"]
    [item] = await items_of(client, review["id"])
    assert review["name"].startswith("Unexplained access in Finance Ledger")
    assert (item["account"]["username"], item["reviewer"]["name"]) == ("joana2", "Owen Park")


async def test_webhooks_get_the_review_events_that_they_subscribe_to(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    events = ["ReviewOpened", "ReviewItemFlagged", "ReviewSubmitted"]
    await post(client, "/api/webhooks", {**HOOK, "events": events}, 201)
    review = await an_open_review(client, "Application")
    for item in await items_of(client, review):
        await decide(client, item, "Revoke" if item["entitlement"]["name"] == "Release run" else "Keep")
    await submit_all(client, review)

    rows = await fetch_rows(db, "SELECT event, body FROM webhook_deliveries ORDER BY number")

    kinds = [(event, json.loads(bytes(body))["event"]["subject"]["kind"]) for event, body in rows]
    assert kinds == [("ReviewOpened", "Review"), ("ReviewItemFlagged", "Review Item"), ("ReviewSubmitted", "Review")]


async def test_reviewers_are_notified_when_a_review_opens_and_when_they_are_reminded(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)

    opened = await notified(db)
    await post(client, f"/api/reviews/{review}/remind", {"reviewerIds": [str(company.carla)]})
    reminded = await fetch_value(
        db, "SELECT count(*) FROM notifications WHERE identity_id = %(id)s AND kind = 'Review'", id=company.carla
    )

    assert [kind for kind, _ in opened] == ["Review"] * 3
    assert reminded == 2


async def a_template(client: httpx2.AsyncClient, **fields: Any) -> Any:
    body = {"name": "Monthly", "everyMonths": 1, "review": {"type": "Application"}, **fields}
    return await post(client, "/api/review-templates", body, 201)


async def next_on(client: httpx2.AsyncClient, template: Any) -> str:
    found = (await client.get(f"/api/review-templates/{template['id']}")).json()
    return str(found["nextOn"])[:10]


async def test_template_of_the_31st_keeps_the_day_after_a_short_month(client: httpx2.AsyncClient, db: Db) -> None:
    template = await a_template(client, nextOn="2027-01-31")
    dates = []
    for day in ("2027-01-31", "2027-02-28", "2027-03-31", "2027-08-15"):
        await due(db, datetime.fromisoformat(f"{day}T12:00:00+00:00"))
        dates.append(await next_on(client, template))

    # The form always sends the date that it shows, even if only another field was changed.
    shown = (await client.get(f"/api/review-templates/{template['id']}")).json()["nextOn"]
    await client.patch(f"/api/review-templates/{template['id']}", json={"nextOn": shown, "daysToReview": 20})
    await due(db, datetime(2027, 9, 1, tzinfo=UTC))
    await due(db, datetime(2027, 10, 1, tzinfo=UTC))

    assert dates == ["2027-02-28", "2027-03-31", "2027-04-30", "2027-08-31"]
    assert await next_on(client, template) == "2027-10-31"


async def test_people_are_notified_of_a_template_that_cannot_open_and_of_its_drafts(
    client: httpx2.AsyncClient, db: Db
) -> None:
    owner = await an_identity(db, "Olga", "Owner")
    review = {"type": "Application", "ownerId": str(owner)}
    await a_template(client, opens=True, nextOn="2027-01-31", review=review)
    await due(db, datetime(2027, 2, 1, tzinfo=UTC))
    await a_reviewed_company(db)
    await a_template(client, name="Drafted", nextOn="2027-01-31", review=review)
    await due(db, datetime(2027, 2, 1, tzinfo=UTC))

    ids = [id for (id,) in await fetch_rows(db, "SELECT id FROM notifications WHERE item_kind = 'Review Template'")]
    facts = await of_templates(db, ids, FactContext(Reminders(), ZoneInfo("UTC")))

    said = sorted((each.what, each.result.partition(":")[0], each.is_current) for each in facts.values())
    assert said == [
        ("Template Drafted", "its draft waits to be opened", True),
        ("Template Monthly", "it could not open its review", True),
    ]


async def test_template_and_draft_of_a_model_review_refuse_supervisors(client: httpx2.AsyncClient, db: Db) -> None:
    await a_reviewed_company(db)
    stages = [{"reviewer": "Supervisor"}]
    body = {"name": "Models", "everyMonths": 1, "review": {"type": "Model", "stages": stages}}

    template = await client.post("/api/review-templates", json=body)
    draft = await client.patch(f"/api/reviews/{await a_draft(client, stages=stages)}", json={"type": "Model"})

    assert [each["field"] for each in template.json()["errors"]] == ["review.stages"]
    assert [each["field"] for each in draft.json()["errors"]] == ["stages"]


async def test_unexplained_access_of_unmatched_accounts_is_reviewed_too(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await client.patch(f"/api/applications/{company.ledger}", json={"surpriseReviews": True})
    run = await a_finished_import(db, company.ledger)
    for name in ("bot", "agent"):
        await an_account(db, company.ledger, name, None, groups=("Approvers", "Bookkeeper"), run=run)
    await execute(db, "UPDATE accounts SET pin = NULL, match = 'Unmatched' WHERE identity_id IS NULL")
    await finish_again(db, run)

    await follow(db)

    reviews = (await client.get("/api/reviews")).json()["items"]
    items = [await items_of(client, review["id"]) for review in reviews]
    assert sorted(item["account"]["username"] for each in items for item in each) == ["agent", "bot"]
    assert {item["reviewer"]["name"] for each in items for item in each} == {"Owen Park"}
    for review in reviews:
        assert (await post(client, f"/api/reviews/{review['id']}/check"))["isSame"] is True


async def test_many_unmatched_accounts_share_one_review(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_reviewed_company(db)
    await client.patch(f"/api/applications/{company.ledger}", json={"surpriseReviews": True})
    run = await a_finished_import(db, company.ledger)
    for n in range(11):
        await an_account(db, company.ledger, f"bot{n}", None, groups=("Approvers",), run=run)
    await execute(db, "UPDATE accounts SET pin = NULL, match = 'Unmatched' WHERE identity_id IS NULL")
    await finish_again(db, run)

    await follow(db)

    [review] = (await client.get("/api/reviews")).json()["items"]
    assert review["name"] == "Unexplained access in Finance Ledger: 11 unmatched accounts"
    assert len(await items_of(client, review["id"])) == 11


@pytest.mark.parametrize("unknown", [{"x": "\0"}, {"\0": 1}, {"scope": {"x": "\0"}}])
async def test_template_keeps_only_the_fields_of_a_review(client: httpx2.AsyncClient, unknown: dict[str, Any]) -> None:
    body = {"name": "Ledger", "everyMonths": 3, "review": {"type": "application", **unknown}}

    made = await post(client, "/api/review-templates", body, 201)
    changed = await client.patch(f"/api/review-templates/{made['id']}", json={"review": {"type": "Model", **unknown}})

    assert made["review"]["type"] == "Application"
    assert changed.status_code == 200
    assert "x" not in changed.json()["review"]
