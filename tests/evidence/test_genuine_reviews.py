"""Test that bundles of unusual reviews verify: verify.py must not report genuine data as tampered."""

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db, execute
from rolecall.evidence import review_report, verify
from rolecall.evidence.review_bundle import write_review_bundle
from rolecall.reviews import submitting
from tests.builders import an_access_model, facts
from tests.evidence.forging import Forgery
from tests.evidence.test_review_bundle import alter
from tests.reviews.company import Reviewed, a_reviewed_company, follow, give_back, take_away
from tests.reviews.reviewing import DUE, a_draft, an_open_review, decide, items_of, post, submit_all
from tests.reviews.test_following import RISKY, change_model, decide_all
from tests.stand_ins.standing_in import caller_of

STAGES = [{"reviewer": "Supervisor"}, {"reviewer": "Application Owner"}]


async def written(db: Db, review: str, folder: Path) -> verify.Bundle:
    place = folder / "review.zip"
    with place.open("wb") as file:
        await write_review_bundle(db, file, UUID(review), datetime.now(UTC))
    return verify.Bundle(place)


async def problems(db: Db, review: str, folder: Path) -> list[str]:
    return verify.check(await written(db, review, folder))


async def bundle_of(db: Db, review: str, folder: Path) -> dict[str, Any]:
    """Write a bundle; return its JSON members, parsed."""
    bundle = await written(db, review, folder)
    return {name: json.loads(bundle.read(name)) for name in bundle.names() if name.endswith(".json")}


async def keep_pending(client: httpx2.AsyncClient, review: str) -> None:
    """Keep every pending item, and submit the decisions of every reviewer."""
    for item in await items_of(client, review, status="Pending"):
        await decide(client, item, "Keep")
    for each in (await client.get(f"/api/reviews/{review}")).json()["progress"]["reviewers"]:
        await client.post(f"/api/reviews/{review}/submit", json={"reviewerId": each["reviewer"]["id"]})


async def a_model(db: Db, company: Reviewed) -> UUID:
    granted = [{"applicationId": str(company.ledger), "groups": ["Bookkeeper"]}]
    return await an_access_model(db, "Accounting", access=granted, ownerId=str(company.greta))


async def test_review_with_pending_items_in_the_second_stage_verifies(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client, stages=STAGES)
    await keep_pending(client, review)

    assert {item["stage"] for item in await items_of(client, review, status="Pending")} == {2}
    assert await problems(db, review, tmp_path) == []


async def test_decision_of_an_earlier_stage_cannot_be_left_out(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client, stages=STAGES)
    await keep_pending(client, review)
    await written(db, review, tmp_path)
    forgery = Forgery(tmp_path / "review.zip")
    alter(forgery, "decisions.jsonl", lambda made: made.pop(0))
    forgery.lines = [line for line in forgery.lines if '"decisions.1"' not in line]

    [found] = verify.check(verify.Bundle(forgery.write()))

    assert found.endswith("does not match the decisions that it signs")


async def test_review_with_two_statements_of_one_reviewer_verifies(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    carla = str(company.carla)
    for item in await items_of(client, review, reviewerId=carla):
        await decide(client, item, "Keep")
    await post(client, f"/api/reviews/{review}/submit", {"reviewerId": carla})
    item, *_ = [each for each in await items_of(client, review, status="Pending") if not each["identity"]]
    moved = {"identityId": carla, "comment": "you know it"}
    await decide(client, await post(client, f"/api/review-items/{item['id']}/reassign", moved), "Keep")
    await post(client, f"/api/reviews/{review}/submit", {"reviewerId": carla})

    signed = (await bundle_of(db, review, tmp_path))["submissions.json"]
    assert [one["reviewerId"] for one in signed] == [carla, carla]
    assert verify.check(verify.Bundle(tmp_path / "review.zip")) == []


async def test_review_without_a_response_in_the_second_stage_verifies(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client, stages=STAGES, onSilence="approve")
    await keep_pending(client, review)
    await execute(db, "UPDATE reviews SET due_on = now() - interval '1 hour'")
    await follow(db)

    assert (await client.get(f"/api/reviews/{review}")).json()["status"] == "Completed"
    assert await problems(db, review, tmp_path) == []


async def test_review_canceled_after_a_statement_verifies(client: httpx2.AsyncClient, db: Db, tmp_path: Path) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review, reviewerId=str(company.carla)):
        await decide(client, item, "Keep")
    await post(client, f"/api/reviews/{review}/submit", {"reviewerId": str(company.carla)})
    await post(client, f"/api/reviews/{review}/cancel")

    bundle = await bundle_of(db, review, tmp_path)
    assert (len(bundle["steps.json"]), bundle["exceptions.json"]["interested"]) == (1, [])
    assert verify.check(verify.Bundle(tmp_path / "review.zip")) == []


async def test_review_with_removals_of_access_that_is_known_to_be_wrong_verifies(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)
    for item in await items_of(client, review):
        await decide(client, item, "Revoke")
    await execute(db, "UPDATE review_items SET facts = '{Person Left}', read_on = decided_on")

    quality = (await bundle_of(db, review, tmp_path))["quality.json"]

    assert {(each["knownWrongKept"], each["openedShare"]) for each in quality} == {(0, 1)}
    assert verify.check(verify.Bundle(tmp_path / "review.zip")) == []


async def test_review_whose_period_was_removed_before_it_was_opened_verifies(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    await a_reviewed_company(db)
    review = await a_draft(client, period={"from": "2026-01-01", "until": "2026-06-30"})
    assert (await client.patch(f"/api/reviews/{review}", json={"period": None})).status_code == 200
    await post(client, f"/api/reviews/{review}/open")

    assert await problems(db, review, tmp_path) == []


async def test_review_of_a_model_that_was_changed_verifies(client: httpx2.AsyncClient, db: Db, tmp_path: Path) -> None:
    company = await a_reviewed_company(db)
    model = await a_model(db, company)
    review = await an_open_review(client, "Model")
    [item] = await items_of(client, review)
    await decide(client, item, "Revoke")
    await submit_all(client, review)
    await change_model(db, model, {"access": [{"applicationId": str(company.ledger), "groups": ["Approvers"]}]})
    await follow(db)

    assert (await items_of(client, review))[0]["status"] == "Remediated"
    assert await problems(db, review, tmp_path) == []


async def test_review_with_carried_over_items_in_two_stages_verifies(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company = await a_reviewed_company(db)
    await a_model(db, company)
    await keep_pending(client, await an_open_review(client))
    review = await an_open_review(client, explained="carry over", stages=STAGES)
    for _ in range(2):
        await keep_pending(client, review)

    assert await problems(db, review, tmp_path) == []


async def test_review_in_which_a_reviewer_changed_a_carried_over_decision_verifies(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company = await a_reviewed_company(db)
    await a_model(db, company)
    await keep_pending(client, await an_open_review(client))
    review = await an_open_review(client, explained="carry over")
    carried, *_ = [item for item in await items_of(client, review) if item["isCarried"]]
    changed = await decide(client, carried, "Revoke")

    assert (changed["isCarried"], changed["decision"]) == (False, "Revoke")
    assert await problems(db, review, tmp_path) == []


async def test_review_of_access_that_was_removed_and_returned_twice_verifies(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    for change in (take_away, give_back):
        await change(db, company, "joana", RISKY)
        await follow(db)
    await decide_all(client, review, "Revoke")
    for change in (take_away, give_back):
        await change(db, company, "joana", RISKY)
        await follow(db)

    [returned] = await items_of(client, review, status="Flagged")
    assert returned["reopenedImport"] is not None
    assert await problems(db, review, tmp_path) == []

    forgery = Forgery(tmp_path / "review.zip")
    alter(forgery, "items.jsonl", partial(call_remediated, returned["number"]))
    said = f"item {returned['number']} is Remediated, which contradicts what the service recorded"
    assert said in verify.check(verify.Bundle(forgery.write()))


def call_remediated(number: int, items: list[dict[str, Any]]) -> None:
    """Claim that the import that showed the access again proves its removal."""
    [item] = [item for item in items if item["number"] == number]
    item.update(status="Remediated", remediatedOn=item["reopenedOn"], remediatedImport=item["reopenedImport"])


HIDDEN: dict[str, tuple[str, Any, str]] = {
    "the random sample": ("isSample", False, "disagree on whether it is in the random sample"),
    "the reason for another reviewer": ("moved", "", "does not show why its reviewer was replaced"),
    "the acceptance": ("acceptedUntil", None, "is accepted until a different day"),
}


def set_all(field: str, value: Any, items: list[dict[str, Any]]) -> None:
    for item in items:
        item[field] = value


async def test_facts_about_an_item_cannot_be_hidden(client: httpx2.AsyncClient, db: Db, tmp_path: Path) -> None:
    company = await a_reviewed_company(db)
    await a_model(db, company)
    await decide_all(client, await an_open_review(client))
    review = await an_open_review(client, explained="carry over")
    for item in await items_of(client, review, status="Pending"):
        await decide(client, item, "Revoke" if item["entitlement"]["name"] == RISKY else "Keep")
    await submit_all(client, review)
    [flagged] = await items_of(client, review, status="Flagged")
    accepted = {"reason": "Needed", "until": DUE, "identityId": str(company.owen)}
    await post(client, f"/api/review-items/{flagged['id']}/accept", accepted)
    assert await problems(db, review, tmp_path) == []

    for name, (field, value, said) in HIDDEN.items():
        forgery = Forgery(tmp_path / "review.zip")
        alter(forgery, "items.jsonl", partial(set_all, field, value))
        found = verify.check(verify.Bundle(forgery.write()))
        assert any(said in problem for problem in found), (name, found)


async def test_statement_that_waited_for_a_decision_in_another_tab_verifies(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    before = facts()
    for item in await items_of(client, review, reviewerId=str(company.carla)):
        await decide(client, item, "Keep")
    async with db.transaction():
        await submitting.submit(db, await caller_of(db, company.carla), review, {}, before)

    assert await problems(db, review, tmp_path) == []


async def test_review_verifies_if_a_new_reviewer_did_not_repeat_a_decision(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client, onSilence="approve")
    item, *_ = await items_of(client, review, reviewerId=str(company.carla))
    await decide(client, item, "Keep")
    body = {"identityId": str(company.owen), "comment": "Carla is away"}
    await post(client, f"/api/review-items/{item['id']}/reassign", body)
    pending = await problems(db, review, tmp_path)
    await execute(db, "UPDATE reviews SET due_on = now() - interval '1 hour'")
    await follow(db)

    assert (await client.get(f"/api/reviews/{review}")).json()["status"] == "Completed"
    assert (pending, await problems(db, review, tmp_path)) == ([], [])


async def test_report_says_when_an_exception_has_more_items_than_it_names(
    client: httpx2.AsyncClient, db: Db, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await a_reviewed_company(db)
    review = await an_open_review(client)
    item, *others = await items_of(client, review)
    numbers = ", ".join(f"#{each['number']}" for each in sorted([item, *others], key=lambda each: each["number"]))
    await keep_pending(client, review)

    for most, said in ((len(others) + 1, numbers), (len(others), f"{numbers.rpartition(', ')[0]} and more")):
        monkeypatch.setattr(review_report, "_MOST_NAMED", most)
        page = (await written(db, review, tmp_path)).read("report.html").decode()
        assert f"<td>{len(others) + 1}</td><td>{said}</td>" in page
