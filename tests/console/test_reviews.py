"""Run a review in the console: draft, preview, decisions, submission, progress and evidence."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from uuid import UUID

import httpx2
import pytest

from rolecall.console import actions as console
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.roles import Role
from rolecall.evidence import verify
from rolecall.reviews import actions, templates
from tests.builders import facts
from tests.console.test_matrix import sign_in
from tests.reviews.reviewing import Reviewed, a_reviewed_company

CLERK = Caller(UUID(int=5), "Clerk", frozenset(Scope))


@pytest.fixture
async def company(administrator: httpx2.AsyncClient, db: Db) -> Reviewed:
    return await a_reviewed_company(db)


@pytest.fixture
async def review(company: Reviewed, db: Db) -> str:
    due = (datetime.now(UTC) + timedelta(days=14)).isoformat()
    async with db.transaction():
        draft = await actions.create_review(
            db, CLERK, {"name": "Finance systems", "type": "Supervisor", "dueOn": due}, facts()
        )
        await actions.open_review(db, CLERK, draft.id, facts().now)
    return str(draft.id)


async def items_for(db: Db, review: str, name: str) -> list[str]:
    rows = await fetch_rows(
        db,
        """SELECT i.id::text FROM review_items i JOIN identities p ON p.id = i.reviewer_id
           WHERE i.review_id = %(id)s AND p.first_name = %(name)s ORDER BY i.list_key""",
        id=review,
        name=name,
    )
    return [id for (id,) in rows]


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
    assert "No other group or permission has these words in its name" in none.text
    assert f'name="entitlementIds" value="{risky}" checked' in shown.text
    assert 'value="Employee" checked' in shown.text
    assert "limited by people" in again.text
    scope = await fetch_value(db, "SELECT scope FROM reviews")
    assert (scope["entitlementIds"], scope["identityTypes"]) == ([risky], ["Employee"])
    assert scope["identityIds"] == [str(company.joana)]


async def test_invalid_draft_says_what_to_correct(administrator: httpx2.AsyncClient, company: Reviewed) -> None:
    page = await administrator.post("/reviews/new", data={"name": "", "type": "Supervisor", "dueOn": "2020-01-01"})

    assert page.status_code == 400
    assert "Name is required" in page.text
    assert "Due on must be in the future" in page.text


async def test_supervisor_without_a_role_decides_undoes_and_submits(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)
    work = f"/reviews/{review}/work"
    first, second, third = await items_for(db, review, "Carla")

    listed = await visitor.get("/reviews")
    page = await visitor.get(work)
    await visitor.post(f"/review-items/{first}/decide", data={"decision": "Keep", "comment": "Needed", "back": work})
    undone = await visitor.post(f"/review-items/{first}/undo", data={"back": work})
    status = await fetch_value(db, "SELECT status FROM review_items WHERE id = %(id)s", id=first)
    several = {"id": [first, second], "decision": "Keep", "comment": "Needed", "back": work}
    await visitor.post(f"/reviews/{review}/decide", data=several)
    await visitor.post(f"/review-items/{third}/decide", data={"decision": "Revoke", "comment": "Not needed"})
    statement = await visitor.get(f"/reviews/{review}/submit")
    unsigned = await visitor.post(f"/reviews/{review}/submit", data={})
    submitted = await visitor.post(f"/reviews/{review}/submit", data={"signed": "yes"})

    assert f'href="{work}"' in listed.text
    assert page.text.count('class="item') == 3
    assert "Joana Moreau" in page.text
    assert undone.headers["location"] == work
    assert status == "Pending"
    assert "1 request will be made" in statement.text
    assert unsigned.headers["location"].endswith("/submit")
    assert submitted.headers["location"] == f"{work}?tab=all"
    assert await fetch_value(db, "SELECT count(*) FROM review_submissions") == 1
    assert await fetch_value(db, "SELECT count(*) FROM access_requests") == 1
    await console.set_role(db, company.owen, Role.OPERATOR)
    await sign_in(visitor, db, company.owen)
    request = await fetch_value(db, "SELECT id FROM access_requests")
    assert f'href="/review-items/{third}"' in (await visitor.get(f"/requests/{request}")).text


async def test_workspace_names_each_person_and_account_once(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)

    page = (await visitor.get(f"/reviews/{review}/work")).text

    assert len(re.findall("data-id", page.partition("</tbody>")[0])) == 3
    assert (page.count('<tr class="person">'), page.count('<tr class="app">')) == (2, 2)


async def test_all_holders_of_an_entitlement_can_be_decided_at_once_with_exceptions(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)
    work = f"/reviews/{review}/work?by=access"
    entitlement = await fetch_value(db, "SELECT id::text FROM entitlements WHERE name = 'Bookkeeper'")
    emre = await fetch_value(db, "SELECT id::text FROM review_items WHERE identity_id = %(id)s", id=company.emre)

    overview = await visitor.get(work)
    holders = await visitor.get(f"{work}&entitlementId={entitlement}")
    shown = await items_for(db, review, "Carla")
    form = {"entitlementId": entitlement, "shown": shown, "except": emre, "decision": "Keep", "comment": "Needed"}
    await visitor.post(f"/reviews/{review}/decide", data=form)

    assert "Decide 2" in overview.text
    assert [name in holders.text for name in ("Joana Moreau", "Emre Berg", "Carla Abadi")] == [True, True, True]
    rows = await fetch_rows(
        db,
        """SELECT p.first_name, i.status FROM review_items i JOIN identities p ON p.id = i.identity_id
           WHERE i.entitlement_id = %(id)s ORDER BY 1""",
        id=entitlement,
    )
    assert rows == [("Emre", "Pending"), ("Joana", "Approved")]


async def test_exceptions_cannot_include_all_holders(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)
    work = f"/reviews/{review}/work?by=access"
    await db.execute("UPDATE review_items SET recommendation = 'Revoke' WHERE review_id = %s", (review,))
    entitlement = await fetch_value(db, "SELECT id::text FROM entitlements WHERE name = 'Bookkeeper'")
    holders = await items_for(db, review, "Carla")

    page = await visitor.get(f"{work}&entitlementId={entitlement}")
    excepted = {"entitlementId": entitlement, "shown": holders, "except": holders, "decision": "Revoke", "back": work}
    refused = await visitor.post(f"/reviews/{review}/decide", data=excepted)
    said = await visitor.get(refused.headers["location"])

    assert 'name="except"' in page.text
    assert "checked" not in page.text
    assert refused.headers["location"] == f"{work}&entitlementId={entitlement}"
    assert "Every holder is ticked as an exception" in said.text


async def test_only_undecided_items_can_be_grouped_by_access(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)
    first, *_ = await items_for(db, review, "Carla")
    await visitor.post(f"/review-items/{first}/decide", data={"decision": "Keep", "comment": "Needed"})

    kept = await visitor.get(f"/reviews/{review}/work?by=access&tab=kept")
    grouped = await visitor.get(f"/reviews/{review}/work?by=access&reason=Unused")

    assert f'data-id="{first}"' in kept.text
    assert "Keep recommended" in grouped.text
    assert 'name="reason"' not in grouped.text


async def test_statement_counts_requests_for_access_kept_until_a_date(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)
    until = (datetime.now(UTC) + timedelta(days=60)).date().isoformat()
    kept, *others = await items_for(db, review, "Carla")
    decision = {"decision": "Keep Until", "until": until, "comment": "Until the project ends"}
    await visitor.post(f"/review-items/{kept}/decide", data=decision)
    await visitor.post(f"/reviews/{review}/decide", data={"id": others, "decision": "Keep", "comment": "Needed"})

    statement = await visitor.get(f"/reviews/{review}/submit")
    await visitor.post(f"/reviews/{review}/submit", data={"signed": "yes"})

    assert "1 request will be made" in statement.text
    assert await fetch_value(db, "SELECT count(*) FROM access_requests") == 1


async def test_acceptance_is_offered_only_to_people_who_may_accept(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)
    mine = await items_for(db, review, "Carla")
    await visitor.post(f"/reviews/{review}/decide", data={"id": mine, "decision": "Revoke", "comment": "Not needed"})
    await visitor.post(f"/reviews/{review}/submit", data={"signed": "yes"})
    page = f"/review-items/{mine[0]}"

    decided = await visitor.get(page)
    await console.set_role(db, company.greta, Role.AUDITOR)
    await sign_in(visitor, db, company.greta)
    audited = await visitor.get(page)
    await sign_in(visitor, db, company.owen)
    owned = await visitor.get(page)

    assert ["Accept risk" in each.text for each in (decided, audited, owned)] == [False, False, True]


async def test_review_page_offers_to_close_the_review_after_its_due_date(
    administrator: httpx2.AsyncClient, review: str, db: Db
) -> None:
    before = await administrator.get(f"/reviews/{review}")
    await db.execute("UPDATE reviews SET due_on = opened_on WHERE id = %s", (review,))
    after = await administrator.get(f"/reviews/{review}")

    assert ("Close review" in before.text, "Close review" in after.text) == (False, True)


async def test_item_without_a_recommendation_has_no_preselected_decision(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, *_ = await items_for(db, review, "Carla")
    await db.execute("UPDATE review_items SET recommendation = NULL WHERE id = %s", (first,))
    await sign_in(visitor, db, company.carla)

    page = await visitor.get(f"/reviews/{review}/work?selected={first}")

    assert 'data-choice="a" required' in page.text
    assert "checked" not in page.text.partition('id="detail"')[2]


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


async def test_reviewer_sees_only_own_items(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    [of_greta] = await items_for(db, review, "Greta")
    await sign_in(visitor, db, company.carla)

    others = [
        await visitor.get(f"/reviews/{review}/work?reviewerId={company.greta}"),
        await visitor.get(f"/review-items/{of_greta}"),
        await visitor.post(f"/review-items/{of_greta}/decide", data={"decision": "Keep"}),
        await visitor.get(f"/export/my-review-items?id={review}&reviewerId={company.greta}&format=csv"),
        await visitor.get(f"/export/review-items?id={review}&format=csv"),
    ]
    own = await visitor.get(f"/export/my-review-items?id={review}&format=csv")
    page = await visitor.get(f"/reviews/{review}")

    assert [answer.status_code for answer in others] == [404, 404, 404, 404, 403]
    assert len(own.text.splitlines()) == 4
    assert ("Carla Abadi" in page.text, "Greta Das" in page.text) == (True, False)


async def test_stranger_cannot_open_a_review(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.joana)

    assert (await visitor.get(f"/reviews/{review}")).status_code == 404
    assert (await visitor.get(f"/reviews/{review}/work")).status_code == 404
    assert "No review waits for you" in (await visitor.get("/reviews")).text


async def test_auditor_can_read_a_review_but_not_decide_or_close_it(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await console.set_role(db, company.owen, Role.AUDITOR)
    await sign_in(visitor, db, company.owen)
    first, *_ = await items_for(db, review, "Carla")

    page = await visitor.get(f"/reviews/{review}")
    decided = await visitor.post(f"/review-items/{first}/decide", data={"decision": "Keep", "comment": "x"})
    opened = await visitor.post(f"/reviews/{review}/close")

    assert page.status_code == 200
    assert "Close review" not in page.text
    assert decided.status_code == 303
    assert opened.status_code == 403
    assert await fetch_value(db, "SELECT count(*) FROM review_decisions") == 0


async def test_decision_against_the_recommendation_needs_a_comment(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, *_ = await items_for(db, review, "Carla")
    await db.execute("UPDATE review_items SET recommendation = 'Revoke' WHERE id = %s", (first,))
    await sign_in(visitor, db, company.carla)

    refused = await visitor.post(f"/review-items/{first}/decide", data={"decision": "Keep"})
    page = await visitor.get(f"/reviews/{review}/work?selected={first}&decide=Keep")

    assert refused.status_code == 303
    assert "required to keep, because the recommendation is Revoke" in unescape(page.text)
    assert re.search(r'value="Keep" data-choice="a" checked', page.text)
    assert await fetch_value(db, "SELECT count(*) FROM review_decisions") == 0


async def test_opened_details_are_counted(visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db) -> None:
    first, second, third = await items_for(db, review, "Carla")
    await sign_in(visitor, db, company.carla)

    await visitor.get(f"/reviews/{review}/work")
    await visitor.get(f"/reviews/{review}/work?selected={second}")
    # The script fetches the next item while this one is read.
    ahead = {"HX-Target": "detail", "Purpose": "prefetch"}
    fetched = await visitor.get(f"/reviews/{review}/work?selected={third}", headers=ahead)

    rows = await fetch_rows(db, "SELECT id::text FROM review_items WHERE read_on IS NOT NULL")
    assert rows == [(second,)]
    assert first != second
    assert f'data-id="{third}"' in fetched.text


async def test_evidence_is_downloaded_with_its_seal_on_the_next_page(
    administrator: httpx2.AsyncClient, review: str, tmp_path: Path
) -> None:
    answer = await administrator.get(f"/reviews/{review}/evidence")
    page = await administrator.get(f"/reviews/{review}")
    report = await administrator.get(f"/reviews/{review}/report")

    assert answer.headers["content-disposition"].startswith('attachment; filename="review-1-evidence.zip"')
    seal = re.search(r"Its seal: ([0-9a-f]{64})", page.text)
    assert seal
    file = tmp_path / "review.zip"
    file.write_bytes(answer.content)
    assert verify.check(verify.Bundle(file), seal=seal[1]) == []
    assert "Sign-off" in report.text


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


async def test_items_of_a_reviewer_are_reassigned_together(
    administrator: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    form = {"reviewerId": str(company.carla), "identityId": "Greta Das", "comment": "Carla is leaving"}

    answer = await administrator.post(f"/reviews/{review}/reassign", data=form)
    page = await administrator.get(f"/reviews/{review}")

    assert answer.status_code == 303
    assert "3 items were reassigned" in page.text
    assert "3 items to Greta Das: " in page.text
    assert "reassigned it: Carla is leaving" in page.text
    assert len(await items_for(db, review, "Greta")) == 4


async def test_population_can_be_verified_on_the_review_page(administrator: httpx2.AsyncClient, review: str) -> None:
    await administrator.post(f"/reviews/{review}/verify")

    assert "the same digest" in (await administrator.get(f"/reviews/{review}")).text


async def test_form_of_an_open_or_canceled_review_explains_why_it_cannot_be_edited(
    administrator: httpx2.AsyncClient, review: str
) -> None:
    opened = await administrator.get(f"/reviews/{review}/edit")
    await administrator.post(f"/reviews/{review}/cancel")
    canceled = await administrator.get(f"/reviews/{review}/edit")

    assert "A review that is Open cannot be edited" in opened.text
    assert "A review that is Canceled cannot be edited. Draft another review" in canceled.text
    assert 'name="dueOn"' not in canceled.text


async def test_workspace_explains_that_a_person_is_not_a_reviewer(
    administrator: httpx2.AsyncClient, company: Reviewed, review: str
) -> None:
    own = await administrator.get(f"/reviews/{review}/work")
    other = await administrator.get(f"/reviews/{review}/work?reviewerId={company.emre}")

    assert "You are not a reviewer of this review" in own.text
    assert "Emre Berg is not a reviewer of this review" in other.text
    assert "0 of 0" not in own.text


async def test_malformed_ids_in_a_bulk_decision_are_not_found(
    administrator: httpx2.AsyncClient, company: Reviewed, review: str
) -> None:
    answer = await administrator.post(f"/reviews/{review}/decide", data={"entitlementId": "zzz", "decision": "Keep"})

    assert answer.status_code == 404


async def test_passed_on_item_says_who_decides_and_that_it_cannot_be_undone(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, *_ = await items_for(db, review, "Carla")
    await sign_in(visitor, db, company.carla)
    work = f"/reviews/{review}/work"

    await visitor.post(f"/review-items/{first}/decide", data={"decision": "Unsure", "back": work})
    page = (await visitor.get(work)).text

    name = await fetch_value(
        db,
        """SELECT p.first_name || ' ' || p.last_name FROM review_items i JOIN identities p ON p.id = i.reviewer_id
           WHERE i.id = %(id)s""",
        id=first,
    )
    assert f"was passed on to {name}, who decides now. This cannot be undone." in page
    assert "You can undo it" not in page
    assert "1 item passed on; other people decide it now" in page
    assert f"<strong>{name}</strong> decides, since" in page


async def test_undo_reverts_the_whole_bulk_decision(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, second, third = await items_for(db, review, "Carla")
    await sign_in(visitor, db, company.carla)
    work = f"/reviews/{review}/work"
    undecided = "SELECT count(*) FROM review_items WHERE status = 'Pending' AND id = ANY(%(ids)s::uuid[])"

    await visitor.post(f"/review-items/{third}/decide", data={"decision": "Revoke", "comment": "x", "back": work})
    one = (await visitor.get(work)).text
    both = {"id": [first, second], "decision": "Keep", "comment": "Needed", "back": work}
    await visitor.post(f"/reviews/{review}/decide", data=both)
    page = (await visitor.get(work)).text
    last = re.search(r'id="undo-last" method="post" action="([^"]+)"', page)
    assert last
    await visitor.post(last[1], data={"together": "yes", "back": work})
    after = (await visitor.get(work)).text

    assert f'action="/review-items/{third}/undo"' in one
    assert "2 items were kept. You can undo them until you submit." in page
    assert "Undo the last 2 decisions" in page
    assert page.count('form="undo-last">Undo') == 1
    assert "2 decisions were undone" in after
    assert f'action="/review-items/{third}/undo"' in after
    assert await fetch_value(db, undecided, ids=[first, second, third]) == 2


async def test_refused_decision_keeps_the_choice(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, *_ = await items_for(db, review, "Carla")
    await db.execute("UPDATE review_items SET recommendation = 'Revoke' WHERE id = %s", (first,))
    await sign_in(visitor, db, company.carla)
    here = f"/reviews/{review}/work?selected={first}"

    refused = await visitor.post(f"/review-items/{first}/decide", data={"decision": "Not Mine", "here": here})
    page = (await visitor.get(refused.headers["location"])).text

    assert refused.headers["location"] == f"{here}&decide=Not%20Mine"
    assert "say why the item is not yours" in page
    assert 'value="Not Mine" data-choice="n" checked' in page


async def test_bulk_decision_names_the_items_that_need_a_comment(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, second, _ = await items_for(db, review, "Carla")
    await db.execute("UPDATE review_items SET recommendation = NULL")
    await db.execute("UPDATE review_items SET recommendation = 'Revoke' WHERE id = %s", (first,))
    number = await fetch_value(db, "SELECT number FROM review_items WHERE id = %(id)s", id=first)
    await sign_in(visitor, db, company.carla)

    await visitor.post(f"/reviews/{review}/decide", data={"id": [first, second], "decision": "Keep"})
    page = (await visitor.get(f"/reviews/{review}/work")).text

    assert "✓ 1 item was kept." in page
    assert f"✗ #{number} " in page
    assert "needs a comment, because Revoke is recommended" in page


async def test_change_offers_only_lower_levels_and_only_for_permissions(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    rows = await fetch_rows(
        db,
        """SELECT i.id, e.kind FROM review_items i JOIN entitlements e ON e.id = i.entitlement_id
           JOIN identities p ON p.id = i.reviewer_id WHERE p.first_name = 'Carla'""",
    )
    await db.execute("UPDATE review_items SET access = 'Modify'")
    await sign_in(visitor, db, company.carla)

    pages = {kind: (await visitor.get(f"/review-items/{id}")).text for id, kind in rows}

    assert 'data-choice="c"' not in pages["Group"]
    assert "Lower the access from Modify to" in pages["Permission"]
    options = pages["Permission"].partition('<select id="access"')[2].partition("</select>")[0]
    assert re.findall(r"<option>(\w+)", options) == ["Grant"]


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


async def test_holders_that_were_not_shown_are_not_decided_with_the_others(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    """Emre's item comes to the reviewer after the page with the holders was opened."""
    await sign_in(visitor, db, company.carla)
    entitlement = await fetch_value(db, "SELECT id::text FROM entitlements WHERE name = 'Bookkeeper'")
    emre = await fetch_value(db, "SELECT id::text FROM review_items WHERE identity_id = %(id)s", id=company.emre)
    await db.execute("UPDATE review_items SET reviewer_id = %s WHERE id = %s", (company.greta, emre))
    page = (await visitor.get(f"/reviews/{review}/work?by=access&entitlementId={entitlement}")).text
    await db.execute("UPDATE review_items SET reviewer_id = %s WHERE id = %s", (company.carla, emre))

    shown = re.findall(r'name="shown" value="([^"]+)"', page)
    form = {"entitlementId": entitlement, "shown": shown, "decision": "Keep", "comment": "Needed"}
    await visitor.post(f"/reviews/{review}/decide", data=form)

    rows = await fetch_rows(
        db,
        """SELECT p.first_name, i.status FROM review_items i JOIN identities p ON p.id = i.identity_id
           WHERE i.entitlement_id = %(id)s ORDER BY 1""",
        id=entitlement,
    )
    assert rows == [("Emre", "Pending"), ("Joana", "Approved")]


async def test_refused_bulk_decision_names_no_items_of_others(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    first, *_ = await items_for(db, review, "Carla")
    other, *_ = await items_for(db, review, "Greta")
    await db.execute("UPDATE review_items SET recommendation = 'Revoke'")
    number = await fetch_value(db, "SELECT number FROM review_items WHERE id = %(id)s", id=other)
    await sign_in(visitor, db, company.carla)

    await visitor.post(f"/reviews/{review}/decide", data={"id": [first, other], "decision": "Keep"})
    page = (await visitor.get(f"/reviews/{review}/work")).text

    assert "needs a comment, because Revoke is recommended" in page
    assert f"#{number} " not in page


async def test_tabs_count_the_items_that_they_list(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    """Access that was removed is listed among all items, no longer among the flagged ones."""
    await sign_in(visitor, db, company.carla)
    mine = await items_for(db, review, "Carla")
    await visitor.post(f"/reviews/{review}/decide", data={"id": mine, "decision": "Revoke", "comment": "Not needed"})
    await visitor.post(f"/reviews/{review}/submit", data={"signed": "yes"})
    await db.execute("UPDATE review_items SET status = 'Remediated', remediated_on = now() WHERE id = %s", (mine[0],))

    page = (await visitor.get(f"/reviews/{review}/work?tab=flagged")).text

    assert page.count('class="item') == 2
    assert re.search(r"Flagged\s*<span[^>]*>2<", page)


async def test_acceptance_is_offered_again_after_it_ended(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.carla)
    mine = await items_for(db, review, "Carla")
    await visitor.post(f"/reviews/{review}/decide", data={"id": mine, "decision": "Revoke", "comment": "Not needed"})
    await visitor.post(f"/reviews/{review}/submit", data={"signed": "yes"})
    await sign_in(visitor, db, company.owen)
    until = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
    await visitor.post(f"/review-items/{mine[0]}/accept", data={"reason": "Until the audit", "until": until})

    accepted = (await visitor.get(f"/review-items/{mine[0]}")).text
    await db.execute("UPDATE review_items SET accepted_until = NULL WHERE id = %s", (mine[0],))
    ended = (await visitor.get(f"/review-items/{mine[0]}")).text

    assert ["Accept risk" in page for page in (accepted, ended)] == [False, True]
    assert ["it no longer applies" in page for page in (accepted, ended)] == [False, True]
