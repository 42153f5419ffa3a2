"""Test that verify.py detects a change to any field in a review bundle except those that only the seal covers."""

import copy
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rolecall.core.db import Db, execute
from rolecall.evidence import verify
from tests.evidence.forging import Forgery
from tests.evidence.test_genuine_reviews import a_model, keep_pending, written
from tests.reviews.company import a_reviewed_company, follow
from tests.reviews.reviewing import DUE, an_open_review, decide, items_of, post
from tests.reviews.test_following import risky_item

MEMBERS = (
    *("review.json", "population.json", "items.jsonl", "decisions.jsonl", "bulks.json", "submissions.json"),
    *("moves.jsonl", "acceptances.json", "changes.jsonl", "steps.json", "remediation.json", "imports.json"),
    *("quality.json", "exceptions.json"),
)
# Fields that only the seal covers: they are in no digest and no audit entry.
SEALED = {
    # The id, what was recorded when the review was opened (facts, recommendation, explanations), and later details.
    "items.jsonl": {"id", "facts", "recommendation", "requestIds", "modelIds", "underId", "moved", "readOn"}
    | {"remediatedOn", "comment"},
    "decisions.jsonl": {"number"},
    "review.json": {"owner"},
    "quality.json": {"reviewer", "title"},
}


def read(members: dict[str, bytes], name: str) -> Any:
    text = members[name].decode()
    return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)


def put(members: dict[str, bytes], name: str, value: Any) -> None:
    lines = "".join(f"{json.dumps(one)}\n" for one in value) if name.endswith("l") else json.dumps(value)
    members[name] = lines.encode()


# Fields that refer to another record.
REFERENCES = ("application", "entitlement", "person", "reviewer")


def another(value: Any, field: str = "") -> Any:
    """Return a different value, of the same type unless the given one is None."""
    if value is None and field in REFERENCES:
        return {"id": "forged", "name": "forged"}
    match value:
        case None:
            return "forged"
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value.replace("202", "201", 1) if value.startswith("202") else f"{value}x"
        case list():
            return value[1:] if value else ["forged"]
    return {name: another(each) for name, each in value.items()} if value else {"forged": 1}


def forge(members: dict[str, bytes], name: str, forged: Any) -> None:
    """Write a member of the bundle; recompute `exceptions.json` if it depends on this member."""
    put(members, name, forged)
    if name in ("review.json", "items.jsonl", "steps.json"):
        found = verify.ExceptionsFound(read(members, "review.json"), read(members, "steps.json"))
        for item in read(members, "items.jsonl"):
            found.note(item)
        put(members, "exceptions.json", found.found())


def forgeries(members: dict[str, bytes], name: str) -> Iterator[tuple[str, Any]]:
    """Yield forged copies of a member: one for each changed field, and one for each record left out."""
    records = read(members, name)
    for n, record in enumerate([records] if isinstance(records, dict) else records):
        for field in record.keys() - SEALED.get(name, set()):
            forged = copy.deepcopy(records)
            changed = forged if isinstance(records, dict) else forged[n]
            changed[field] = another(record[field], field)
            yield f"{name} {field} of record {n}", forged
        if isinstance(records, list):
            yield f"{name} without record {n}", records[:n] + records[n + 1 :]


@pytest.fixture
async def bundle(client: httpx2.AsyncClient, db: Db, tmp_path: Path) -> Path:
    """Write the bundle of a review that was closed after its due date and has records of every kind."""
    company = await a_reviewed_company(db)
    await a_model(db, company)
    await keep_pending(client, await an_open_review(client))
    review = await an_open_review(client, explained="carry over", onSilence="approve")
    risky = await risky_item(client, review)
    carla = risky["reviewer"]["id"]
    for item in await items_of(client, review, status="Pending", reviewerId=carla):
        await decide(client, item, "Revoke" if item["id"] == risky["id"] else "Keep")
    await post(client, f"/api/reviews/{review}/submit", {"reviewerId": carla})
    accepted = {"reason": "until the audit", "until": DUE, "identityId": str(company.owen)}
    await post(client, f"/api/review-items/{risky['id']}/accept", accepted)
    service, *_ = [item for item in await items_of(client, review, status="Pending") if not item["identity"]]
    await post(client, f"/api/review-items/{service['id']}/reassign", {"identityId": carla, "comment": "you know it"})
    several = {"itemIds": [service["id"]], "decision": "Keep Until", "until": DUE, "reviewerId": carla}
    await post(client, f"/api/reviews/{review}/decide", {**several, "comment": "for now"})
    await execute(db, "UPDATE reviews SET due_on = now() - interval '1 hour' WHERE status = 'Open'")
    await follow(db)
    assert (await client.get(f"/api/reviews/{review}")).json()["status"] == "Completed"
    await written(db, review, tmp_path)
    return tmp_path / "review.zip"


def test_verification_detects_every_changed_field_and_missing_record_except_sealed_fields(bundle: Path) -> None:
    assert verify.check(verify.Bundle(bundle)) == []
    with zipfile.ZipFile(bundle) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    missed = []
    for name in MEMBERS:
        for what, forged in forgeries(members, name):
            forgery = Forgery(bundle)
            forge(forgery.members, name, forged)
            if not verify.check(verify.Bundle(forgery.write())):
                missed.append(what)

    assert missed == []
