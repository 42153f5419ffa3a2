"""Test the page of a review: who sees it, what it offers, and its evidence."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2

from rolecall.console import actions as console
from rolecall.core.db import Db, fetch_value
from rolecall.core.roles import Role
from rolecall.evidence import verify
from tests.console.reviews.reviewed import items_for, revoke_as_carla
from tests.console.test_matrix import sign_in
from tests.reviews.company import Reviewed


async def test_acceptance_is_offered_only_to_people_who_may_accept_and_not_in_a_canceled_review(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    mine = await revoke_as_carla(visitor, db, company, review)
    page = f"/review-items/{mine[0]}"

    decided = await visitor.get(page)
    await console.set_role(db, company.greta, Role.AUDITOR)
    await sign_in(visitor, db, company.greta)
    audited = await visitor.get(page)
    await sign_in(visitor, db, company.owen)
    owned = await visitor.get(page)
    await db.execute("UPDATE reviews SET status = 'Canceled' WHERE id = %s", (review,))
    canceled = await visitor.get(page)

    assert ["Accept risk" in each.text for each in (decided, audited, owned, canceled)] == [False, False, True, False]


async def test_review_page_offers_to_close_the_review_after_its_due_date(
    administrator: httpx2.AsyncClient, review: str, db: Db
) -> None:
    before = await administrator.get(f"/reviews/{review}")
    await db.execute("UPDATE reviews SET due_on = opened_on WHERE id = %s", (review,))
    after = await administrator.get(f"/reviews/{review}")

    assert ("Close review" in before.text, "Close review" in after.text) == (False, True)


async def test_stranger_cannot_open_a_review(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    await sign_in(visitor, db, company.joana)

    assert (await visitor.get(f"/reviews/{review}")).status_code == 404
    assert (await visitor.get(f"/reviews/{review}/work")).status_code == 404
    assert "No review is waiting for you" in (await visitor.get("/reviews")).text


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


async def test_seal_of_a_bundle_stays_on_the_page_of_the_review_and_in_the_audit(
    administrator: httpx2.AsyncClient, company: Reviewed, review: str, db: Db, tmp_path: Path
) -> None:
    file = tmp_path / "review.zip"
    before = await administrator.get(f"/reviews/{review}")
    for _ in range(2):
        file.write_bytes((await administrator.get(f"/reviews/{review}/evidence")).content)
    await administrator.get("/")
    page = await administrator.get(f"/reviews/{review}")
    number = await fetch_value(db, "SELECT max(number) FROM audit_events WHERE action_key = 'download evidence'")
    entry = await administrator.get(f"/audit/{number}")
    exported = await administrator.get("/audit/export.jsonl?action=Download evidence")
    await console.set_role(db, company.owen, Role.REVIEWER)
    await sign_in(administrator, db, company.owen)
    reviewed = await administrator.get(f"/reviews/{review}")

    assert "verify.py --seal" not in before.text
    newest, older = re.findall(r'id="seal-\d+">([0-9a-f]{64})<', page.text)
    assert verify.check(verify.Bundle(file), seal=newest) == []
    assert newest in entry.text
    assert [older in line for line in exported.text.splitlines()] == [True, False]
    assert reviewed.status_code == 200
    assert newest not in reviewed.text


async def test_evidence_that_another_site_requests_is_not_written(
    administrator: httpx2.AsyncClient, review: str, db: Db
) -> None:
    answer = await administrator.get(f"/reviews/{review}/evidence", headers={"Sec-Fetch-Site": "cross-site"})

    assert answer.status_code == 404
    assert not await fetch_value(db, "SELECT count(*) FROM audit_events WHERE action_key = 'download evidence'")


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


async def test_acceptance_is_offered_again_after_it_ended(
    visitor: httpx2.AsyncClient, company: Reviewed, review: str, db: Db
) -> None:
    mine = await revoke_as_carla(visitor, db, company, review)
    await sign_in(visitor, db, company.owen)
    until = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
    await visitor.post(f"/review-items/{mine[0]}/accept", data={"reason": "Until the audit", "until": until})

    accepted = (await visitor.get(f"/review-items/{mine[0]}")).text
    await db.execute("UPDATE review_items SET accepted_until = NULL WHERE id = %s", (mine[0],))
    ended = (await visitor.get(f"/review-items/{mine[0]}")).text

    assert ["Accept risk" in page for page in (accepted, ended)] == [False, True]
    assert ["it no longer applies" in page for page in (accepted, ended)] == [False, True]
