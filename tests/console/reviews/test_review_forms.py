"""Test the forms of reviews and their templates."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx2

from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.reviews import actions, templates
from tests.builders import an_application, facts
from tests.console.reviews.reviewed import CLERK
from tests.holdings import an_account
from tests.reviews.company import Reviewed


async def test_draft_shows_its_preview_and_opens(administrator: httpx2.AsyncClient, company: Reviewed, db: Db) -> None:
    due = (datetime.now(UTC) + timedelta(days=20)).date().isoformat()
    form = {"name": "All of finance", "type": "Supervisor", "stage1": "Supervisor", "dueOn": due}

    made = await administrator.post("/reviews/new", data={**form, "applicationIds": str(company.ledger)})
    page = await administrator.get(made.headers["location"])
    opened = await administrator.post(f"{made.headers['location']}/open")
    after = await administrator.get(made.headers["location"])

    assert "Preview" in page.text
    assert "Carla Abadi" in page.text
    assert opened.headers["location"] == made.headers["location"]
    assert "Adds up" in after.text
    assert await fetch_value(db, "SELECT count(*) FROM review_items") == 5


async def test_scope_of_a_draft_can_be_limited_by_entitlement_and_identity_type(
    administrator: httpx2.AsyncClient, company: Reviewed, db: Db
) -> None:
    due = (datetime.now(UTC) + timedelta(days=20)).date().isoformat()
    form = {"name": "Releases", "type": "Application", "stage1": "Application Owner", "dueOn": due}
    risky = str(await fetch_value(db, "SELECT id FROM entitlements WHERE name = 'Release run'"))

    found = await administrator.post("/reviews/new", data={**form, "find": "release", "search": "yes"})
    none = await administrator.post("/reviews/new", data={**form, "find": "zzz"})
    narrowed = {**form, "entitlementIds": risky, "identityTypes": "Employee", "find": "release", "searched": "release"}
    made = await administrator.post("/reviews/new", data=narrowed)
    shown = await administrator.get(f"{made.headers['location']}/edit")
    await administrator.post(f"{made.headers['location']}/edit", data={**narrowed, "identityIds": str(company.joana)})
    again = await administrator.get(f"{made.headers['location']}/edit")

    assert f'name="entitlementIds" value="{risky}">' in found.text
    assert "No other group or permission has this text in its name" in none.text
    assert f'name="entitlementIds" value="{risky}" checked' in shown.text
    assert 'value="Employee" checked' in shown.text
    assert "limited to certain people" in again.text
    scope = await fetch_value(db, "SELECT scope FROM reviews")
    assert (scope["entitlementIds"], scope["identityTypes"]) == ([risky], ["Employee"])
    assert scope["identityIds"] == [str(company.joana)]


async def test_search_applies_the_scope_before_the_limit_of_results(
    administrator: httpx2.AsyncClient, company: Reviewed, db: Db
) -> None:
    early = tuple(("Payments", f"A release {n:02}", "Grant", "Low") for n in range(25))
    crowded, small = await an_application(db, "Crowded"), await an_application(db, "Small")
    await an_account(db, crowded, "ada", None, permissions=early)
    await an_account(db, small, "ada", None, permissions=(("Payments", "Z release", "Grant", "Low"),))
    crowd = await fetch_rows(db, "SELECT id::text FROM entitlements WHERE starts_with(name, 'A release')")
    form = {"name": "Releases", "type": "Application", "stage1": "Application Owner", "find": "release"}

    in_two = await administrator.post(
        "/reviews/new", data={**form, "applicationIds": [str(small), str(company.ledger)], "search": "yes"}
    )
    beyond_chosen = await administrator.post(
        "/reviews/new", data={**form, "entitlementIds": [id for (id,) in crowd], "search": "yes"}
    )
    none = await administrator.post(
        "/reviews/new", data={**form, "applicationIds": [str(small), str(company.ledger)], "find": "A release"}
    )

    for page in (in_two, beyond_chosen):
        assert "Z release" in page.text
        assert "Release run" in page.text
    assert "A release 00" not in in_two.text
    assert "No other group or permission of the chosen applications has this text in its name" in none.text


async def test_invalid_draft_says_what_to_correct(administrator: httpx2.AsyncClient, company: Reviewed) -> None:
    page = await administrator.post("/reviews/new", data={"name": "", "type": "Supervisor", "dueOn": "2020-01-01"})

    assert page.status_code == 400
    assert "Name is required" in page.text
    assert "Due on must be in the future" in page.text


async def test_new_template_drafts_its_reviews_unless_it_is_set_to_open_them(
    administrator: httpx2.AsyncClient, company: Reviewed, db: Db
) -> None:
    form = {"type": "Supervisor", "stage1": "Supervisor", "everyMonths": "3", "daysToReview": "30"}
    day = (datetime.now(UTC) + timedelta(days=30)).date()

    page = await administrator.get("/review-templates/new")
    await administrator.post("/review-templates/new", data={**form, "name": "A", "nextOn": day.isoformat()})
    drafted = await administrator.get("/review-templates")
    today = {**form, "name": "B", "nextOn": datetime.now(UTC).date().isoformat(), "opens": "yes"}
    await administrator.post("/review-templates/new", data=today)
    opened = await administrator.get("/review-templates")

    assert re.search(r'name="opens" value="yes">', page.text)
    assert f"Its next review is drafted on {day:%-d %B %Y}." in drafted.text
    assert "Its next review is opened and its reviewers are asked in a moment." in opened.text


async def test_template_is_created_changed_and_deleted(
    administrator: httpx2.AsyncClient, company: Reviewed, db: Db
) -> None:
    later = (datetime.now(UTC) + timedelta(days=9)).date().isoformat()
    form = {"name": "Quarterly", "type": "Supervisor", "stage1": "Supervisor", "nextOn": later, "opens": "yes"}

    refused = await administrator.post("/review-templates/new", data={**form, "everyMonths": "x", "daysToReview": "30"})
    made = await administrator.post("/review-templates/new", data={**form, "everyMonths": "3", "daysToReview": "30"})
    id = await fetch_value(db, "SELECT id FROM review_templates")
    shown = await administrator.get(f"/review-templates/{id}/edit")
    await administrator.post(
        f"/review-templates/{id}/edit", data={**form, "everyMonths": "6", "daysToReview": "20", "opens": ""}
    )
    rows = await fetch_rows(db, "SELECT every_months, days_to_review, opens FROM review_templates")
    listed = await administrator.get("/review-templates")
    await administrator.post(f"/review-templates/{id}/delete")

    assert (refused.status_code, made.headers["location"]) == (400, "/review-templates")
    assert 'value="3"' in shown.text
    assert rows == [(6, 20, False)]
    assert "every 6 months, as a draft" in listed.text
    assert await fetch_value(db, "SELECT count(*) FROM review_templates") == 0


async def test_form_of_an_open_or_canceled_review_explains_why_it_cannot_be_edited(
    administrator: httpx2.AsyncClient, review: str
) -> None:
    opened = await administrator.get(f"/reviews/{review}/edit")
    await administrator.post(f"/reviews/{review}/cancel")
    canceled = await administrator.get(f"/reviews/{review}/edit")

    assert "A review that is Open cannot be edited" in opened.text
    assert "A review that is Canceled cannot be edited. Draft another review" in canceled.text
    assert 'name="dueOn"' not in canceled.text


STAGES = [{"reviewer": name} for name in ("Supervisor", "Application Owner", "Entitlement Owner")]


async def test_form_of_a_draft_keeps_the_stages_that_it_does_not_show(
    administrator: httpx2.AsyncClient, company: Reviewed, db: Db
) -> None:
    due = (datetime.now(UTC) + timedelta(days=14)).date().isoformat()
    raw = {"name": "Finance", "type": "Supervisor", "dueOn": due, "stages": STAGES}
    async with db.transaction():
        draft = await actions.create_review(db, CLERK, raw, facts())
    form = {"name": "Finance systems", "type": "Supervisor", "dueOn": due, "stage1": "Supervisor"}

    await administrator.post(f"/reviews/{draft.id}/edit", data={**form, "stage2": "Application Owner"})
    kept = await fetch_value(db, "SELECT jsonb_array_length(stages) FROM reviews")
    await administrator.post(f"/reviews/{draft.id}/edit", data={**form, "stage2": ""})
    changed = await fetch_value(db, "SELECT jsonb_array_length(stages) FROM reviews")

    assert (kept, changed) == (3, 1)


async def test_form_of_a_template_keeps_fields_that_it_does_not_send(
    administrator: httpx2.AsyncClient, company: Reviewed, db: Db
) -> None:
    person = {"reviewer": "Identity", "identityId": str(company.greta)}
    review = {"type": "Supervisor", "stages": [*STAGES, person], "fallback": person, "ownerId": str(company.owen)}
    raw = {"name": "Quarterly", "everyMonths": 3, "nextOn": "2035-01-01", "review": review}
    async with db.transaction():
        template = await templates.create_template(db, raw, facts())
    form = {"type": "Supervisor", "stage1": "Supervisor", "stage2": "Application Owner", "everyMonths": "6"}

    data = {**form, "daysToReview": "30", "nextOn": "2035-01-01", "stagePerson": "Greta Das"}
    await administrator.post(f"/review-templates/{template.id}/edit", data=data)

    async with db.transaction():
        after = await templates.get(db, template.id)
    shared = {name: after.review[name] for name in ("stages", "fallback", "ownerId")}
    assert (after.every_months, shared) == (6, {name: review[name] for name in shared})


async def test_form_sets_and_shows_the_fallback_and_the_owner(
    administrator: httpx2.AsyncClient, company: Reviewed, db: Db
) -> None:
    due = (datetime.now(UTC) + timedelta(days=20)).date().isoformat()
    form = {"name": "Finance", "type": "Supervisor", "stage1": "Supervisor", "dueOn": due}
    people = {"fallback": "Identity", "fallbackPerson": "Greta Das", "ownerId": "Owen Park"}

    missing = await administrator.post("/reviews/new", data={**form, "fallback": "Identity"})
    made = await administrator.post("/reviews/new", data={**form, **people})
    shown = unescape((await administrator.get(f"{made.headers['location']}/edit")).text)

    rows = await fetch_rows(db, "SELECT fallback ->> 'identityId', owner_id FROM reviews")
    assert (missing.status_code, rows) == (400, [(str(company.greta), company.owen)])
    assert "<option selected>Identity</option>" in shown
    assert 'value="Greta Das' in shown
    assert 'value="Owen Park' in shown


async def test_form_empties_the_fallback_and_the_period(
    administrator: httpx2.AsyncClient, company: Reviewed, db: Db
) -> None:
    due = (datetime.now(UTC) + timedelta(days=20)).date().isoformat()
    form = {"name": "Finance", "type": "Supervisor", "stage1": "Supervisor", "dueOn": due}
    given = {"fallback": "Application Owner", "periodFrom": "2026-01-01", "periodUntil": "2026-06-30"}
    made = await administrator.post("/reviews/new", data={**form, **given})
    sql = "SELECT fallback ->> 'reviewer', period_from IS NULL, period_until IS NULL FROM reviews"
    before = await fetch_rows(db, sql)

    page = await administrator.get(f"{made.headers['location']}/edit")
    await administrator.post(f"{made.headers['location']}/edit", data={**form, **given, "periodFrom": ""})
    half = await fetch_rows(db, sql)
    await administrator.post(f"{made.headers['location']}/edit", data={**form, **dict.fromkeys(given, "")})

    assert '<option value="">none</option>' in page.text.partition('name="fallback"')[2].partition("</select>")[0]
    assert before == [("Application Owner", False, False)]
    assert half == [("Application Owner", True, False)]
    assert await fetch_rows(db, sql) == [(None, True, True)]
