"""Write the bundle of a review with the command, verify it with its own script, and plant forgeries in it."""

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.evidence import verify
from tests.application_imports.running import Imports
from tests.builders import an_application, an_identity
from tests.cli.commands import typed
from tests.evidence.forging import Forgery
from tests.evidence.test_bundle import checked, run_script
from tests.reviews.reviewing import an_open_review, decide, items_of, post
from tests.working import let_the_worker_work

USERS = (
    "Username,Name,Email,Active\nada,Ada Own,ada@example.com,Yes\nbob,Bob Own,bob@example.com,Yes\n"
    "cleo,Cleo Own,cleo@example.com,Yes\nold,Old One,old@example.com,No\nsvc,,,Yes\n"
)
MEMBERSHIPS = "Username,Group\nada,Clerks\nbob,Clerks\ncleo,Clerks\nbob,Approvers\nold,Clerks\nsvc,Clerks\n"
PERMISSIONS = "Username,Header,Section,Permission,Access,Risk Rating\nada,Ledger,Book,Post,Modify,High\n"
WITHOUT_ADA = MEMBERSHIPS.replace("ada,Clerks\n", "")


@pytest.fixture
async def review(client: httpx2.AsyncClient, db: Db, config: Config) -> str:
    """Review a payroll: undo one decision, make two together, and revoke a membership that an import then removes."""
    grace = await an_identity(db, "Grace", "Hopper", email="grace@example.com")
    for name in ("Ada", "Bob", "Cleo"):
        await an_identity(db, name, "Own", email=f"{name.lower()}@example.com", supervisorId=str(grace))
    olga = await an_identity(db, "Olga", "Owner", email="olga@example.com")
    payroll = await an_application(db, "Payroll", ownerId=str(olga), guard={"minCount": 1000})
    imports = Imports(client, config)
    files = {"Users": USERS, "Memberships": MEMBERSHIPS, "Permissions": PERMISSIONS}
    await imports.finish(payroll, files)
    await let_the_worker_work(config)
    review = await an_open_review(client)
    items = await items_of(client, review)
    clerks = {item["account"]["username"]: item for item in items if item["entitlement"]["name"] == "Clerks"}
    others = [item for item in items if item["entitlement"]["name"] != "Clerks"]
    await decide(client, clerks["ada"], "Keep")
    await post(client, f"/api/review-items/{clerks['ada']['id']}/undo", {"reviewerId": str(grace)})
    await decide(client, clerks["ada"], "Revoke")
    both = {"itemIds": [clerks[name]["id"] for name in ("bob", "cleo")], "reviewerId": str(grace)}
    await post(client, f"/api/reviews/{review}/decide", {**both, "decision": "Keep", "comment": "still needed"})
    for item in others:
        await decide(client, item, "Keep")
    moved = {"identityId": str(grace), "comment": "Olga is not responsible"}
    svc = await post(client, f"/api/review-items/{clerks['svc']['id']}/reassign", moved)
    await decide(client, svc, "Keep")
    await post(client, f"/api/reviews/{review}/submit", {"reviewerId": str(grace)})
    [request] = (await client.get("/api/access-requests")).json()["items"]
    await post(client, f"/api/access-requests/{request['id']}/resolve")
    await imports.finish(payroll, {**files, "Memberships": WITHOUT_ADA})
    await let_the_worker_work(config)
    return review


@pytest.fixture
def bundle(review: str, clean_database: str, tmp_path: Path) -> Path:
    file = tmp_path / "review.zip"
    made = typed("evidence", "review", "1", "-o", file, ROLECALL_DATABASE_URL=clean_database)
    assert (made.returncode, made.stdout) == (0, f"{file}\n"), made.stderr
    return file


def read(bundle: Path, member: str) -> Any:
    with zipfile.ZipFile(bundle) as archive:
        text = archive.read(member).decode()
    return [json.loads(line) for line in text.splitlines()] if member.endswith("l") else json.loads(text)


def test_bundle_is_complete_and_verified_by_the_script_inside_it(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(tmp_path / "unpacked")

    result = run_script(tmp_path / "unpacked" / "verify.py")

    assert (result.returncode, result.stdout) == (0, "Everything matches: this is the evidence of a review\n"), (
        result.stderr
    )
    [payroll] = read(bundle, "population.json")
    excluded = sum(payroll["excluded"].values())
    assert (payroll["accounts"], payroll["held"], payroll["items"], excluded) == (5, 7, 6, 1)
    items = read(bundle, "items.jsonl")
    assert sorted((item["holder"]["name"], item["status"]) for item in items) == [
        ("ada", "Approved"),
        ("ada", "Remediated"),
        ("bob", "Approved"),
        ("bob", "Approved"),
        ("cleo", "Approved"),
        ("svc", "Approved"),
    ]
    [gone] = [item for item in items if item["status"] == "Remediated"]
    assert (gone["remediatedImport"], gone["request"], gone["requestStatus"]) == (2, 1, "Completed")
    exceptions = read(bundle, "exceptions.json")
    assert (len(exceptions["bulk"]), len(exceptions["moved"]), exceptions["single"]) == (2, 1, ["Payroll"])
    assert len(exceptions["standIn"]) == 6
    assert exceptions["self"] == exceptions["late"] == exceptions["silent"] == exceptions["reopened"] == []


def test_report_can_be_printed_and_signed(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        page = archive.read("report.html").decode()

    assert "<h1>Review #1: Finance systems</h1>" in page
    assert "<h2>Sign-off</h2>" in page
    assert "<td>Reviewer</td><td>Grace Hopper</td>" in page
    assert "<td>request #1 Completed, import #2</td>" in page
    assert "<td>Type</td><td>Supervisor</td>" in page
    assert re.search(r"<td>Opened</td><td>20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC</td>", page)
    assert "<td>Period from</td>" not in page


Change = Callable[[list[dict[str, Any]]], object]


def alter(forgery: Forgery, member: str, change: Callable[[Any], object]) -> None:
    """Change a JSON member; `Forgery.write` recomputes the digests, as an informed attacker would."""
    text = forgery.members[member].decode()
    if member.endswith(".jsonl"):
        lines = [json.loads(line) for line in text.splitlines()]
        change(lines)
        forgery.members[member] = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    else:
        value = json.loads(text)
        change(value)
        forgery.members[member] = json.dumps(value).encode()


def revoked(items: list[dict[str, Any]]) -> dict[str, Any]:
    return next(item for item in items if item["decision"] == "Revoke")


def kept(items: list[dict[str, Any]]) -> dict[str, Any]:
    return next(item for item in items if item["decision"] == "Keep" and item["bulk"] is None)


def approve_everywhere(forgery: Forgery) -> None:
    """Turn the revocation into an approval, in the items and in the decisions."""
    alter(forgery, "items.jsonl", lambda items: revoked(items).update(decision="Keep", status="Approved"))
    alter(forgery, "decisions.jsonl", lambda made: revoked(made).update(decision="Keep"))


def drop_a_bulk_item(forgery: Forgery) -> None:
    alter(forgery, "decisions.jsonl", lambda made: made.remove(next(one for one in made if one["bulk"])))


def put_another_item_into_a_bulk_decision(forgery: Forgery) -> None:
    def replace(made: list[dict[str, Any]]) -> None:
        another = kept(made)
        next(one for one in made if one["bulk"]).update(itemId=another["itemId"], item=another["item"])

    alter(forgery, "decisions.jsonl", replace)


def limit_a_bulk_decision(forgery: Forgery) -> None:
    """Give one decision of a bulk decision an end date."""
    until = "2099-01-01T00:00:00+00:00"
    alter(forgery, "decisions.jsonl", lambda made: next(one for one in made if one["bulk"]).update(until=until))


def name_the_wrong_import(forgery: Forgery) -> None:
    alter(forgery, "items.jsonl", lambda items: revoked(items).update(remediatedImport=1))


def prove_nothing(forgery: Forgery) -> None:
    """Claim that the service recorded the removal without an import."""
    alter(forgery, "items.jsonl", lambda items: revoked(items).update(remediatedImport=None))

    def forget_import(changes: list[dict[str, Any]]) -> None:
        next(one for one in changes if one["change"] == "Remediated").update(importNumber=None)

    alter(forgery, "changes.jsonl", forget_import)


def unlink_the_request(forgery: Forgery) -> None:
    alter(forgery, "remediation.json", lambda requests: requests.clear())


def reopen_the_request(forgery: Forgery) -> None:
    alter(forgery, "remediation.json", lambda requests: requests[0].update(status="Open"))


def drop_the_first_decisions(forgery: Forgery) -> None:
    """Delete a decision and its withdrawal, from the decisions and from the audit entries."""
    dropped = [made["number"] for made in map(json.loads, forgery.members["decisions.jsonl"].decode().splitlines()[:2])]
    alter(forgery, "decisions.jsonl", lambda made: made.__delitem__(slice(0, 2)))
    forgery.lines = [line for line in forgery.lines if not any(f'"decisions.{number}"' in line for number in dropped)]


def drop_the_entries_of_the_review(forgery: Forgery) -> None:
    id = json.loads(forgery.members["review.json"])["id"]
    forgery.lines = [line for line in forgery.lines if json.loads(line)["entry"]["entity"]["id"] != id]


def drop_the_decisions_of_an_item(forgery: Forgery) -> None:
    def drop(made: list[dict[str, Any]]) -> None:
        id = kept(made)["itemId"]
        made[:] = [one for one in made if one["itemId"] != id]

    alter(forgery, "decisions.jsonl", drop)


# Forgeries, each with recomputed digests of the members, and the problem that the script reports.
FORGERIES: dict[str, tuple[Callable[[Forgery], None], str]] = {
    "an item is removed": (
        lambda f: alter(f, "items.jsonl", lambda items: items.pop()),
        "the items do not match the digest of the population",
    ),
    "an item is added": (
        lambda f: alter(f, "items.jsonl", lambda items: items.append({**items[0], "id": "x", "number": 99})),
        "the items do not match the digest of the population",
    ),
    "the access of an item is lowered": (
        lambda f: alter(f, "items.jsonl", lambda items: items[0].update(access="None")),
        "the items do not match the digest of the population",
    ),
    "an item is given to another account": (
        lambda f: alter(f, "items.jsonl", lambda items: items[0]["holder"].update(id=items[-1]["holder"]["id"])),
        "the items do not match the digest of the population",
    ),
    "the digest of the population is replaced": (
        lambda f: alter(f, "review.json", lambda review: review.update(digest="0" * 64)),
        "the digest of the review differs from its audit entries",
    ),
    "the due date is moved": (
        lambda f: alter(f, "review.json", lambda review: review.update(dueOn="2099-01-01T00:00:00+00:00")),
        "the dueOn of the review differs from its audit entries",
    ),
    "the meaning of silence is changed": (
        lambda f: alter(f, "review.json", lambda review: review.update(onSilence="approve")),
        "the onSilence of the review differs from its audit entries",
    ),
    "an exclusion is hidden": (
        lambda f: alter(f, "population.json", lambda places: places[0].update(excluded={})),
        "the population of Payroll does not add up",
    ),
    "the number of items is changed": (
        lambda f: alter(f, "population.json", lambda places: places[0].update(items=7, held=8)),
        "Payroll has 6 items, but its population says 7",
    ),
    "the number of items is changed in the review": (
        lambda f: alter(f, "review.json", lambda review: review.update(itemCount=7)),
        "the number of items differs from the review",
    ),
    "the pinned import is replaced": (
        lambda f: alter(f, "population.json", lambda places: places[0].update(importNumber=77)),
        "import 77, to which Payroll is pinned, is missing",
    ),
    "a decision is changed in the items": (
        lambda f: alter(f, "items.jsonl", lambda items: kept(items).update(comment="never looked at it")),
        "does not show the last decision that was made",
    ),
    "a revocation becomes an approval": (approve_everywhere, "differs from its audit entry"),
    "a decision is given to another person": (
        lambda f: alter(f, "decisions.jsonl", lambda made: kept(made).update(decidedByName="Olga Owner")),
        "differs from its audit entry",
    ),
    "a withdrawn decision is left out": (
        lambda f: alter(f, "decisions.jsonl", lambda made: made.pop(0)),
        "is in the audit but not in the bundle",
    ),
    "a decision is invented": (
        lambda f: alter(f, "decisions.jsonl", lambda made: made.append({**made[-1], "number": 99})),
        "decisions.99 has no audit entry",
    ),
    "an item is taken out of a bulk decision": (drop_a_bulk_item, "do not match its digest"),
    "another item is put into a bulk decision": (put_another_item_into_a_bulk_decision, "do not match its digest"),
    "a decision of a bulk decision gets an end date": (
        limit_a_bulk_decision,
        "a decision of bulk 1 differs from the bulk decision",
    ),
    "a bulk decision is made smaller": (
        lambda f: alter(f, "bulks.json", lambda bulks: bulks[0].update(itemCount=1)),
        "bulks.1 differs from its audit entry",
    ),
    "the signed text is changed": (
        lambda f: alter(f, "submissions.json", lambda signed: signed[0].update(statement="I looked at all of it")),
        "submissions.1 differs from its audit entry",
    ),
    "a statement is left out": (
        lambda f: alter(f, "submissions.json", lambda signed: signed.clear()),
        "submissions.1 is in the audit but not in the bundle",
    ),
    "a reassignment is hidden": (
        lambda f: alter(f, "moves.jsonl", lambda moves: moves.clear()),
        "moves.1 is in the audit but not in the bundle",
    ),
    "a removal is proven by the wrong import": (name_the_wrong_import, "which does not prove its removal"),
    "a removal is proven by an import that the service did not record": (
        name_the_wrong_import,
        "is Remediated, which contradicts what the service recorded",
    ),
    "a removal has no proof": (prove_nothing, "is Remediated without a proof"),
    "a request is hidden": (unlink_the_request, "and the list of requests name different requests"),
    "the status of a request is changed": (reopen_the_request, "differs from its audit entries"),
    "exclusions are hidden on both sides": (
        lambda f: alter(f, "population.json", lambda places: places[0].update(excluded={}, held=places[0]["items"])),
        "the population at position 0 differs from its audit entry",
    ),
    "the token that decided becomes the reviewer": (
        lambda f: alter(f, "items.jsonl", lambda items: kept(items)["reviewer"].update(id=kept(items)["decidedBy"])),
        "names a reviewer who contradicts its decisions and reassignments",
    ),
    "the person of an item is replaced": (
        lambda f: alter(f, "items.jsonl", lambda items: items[0]["person"].update(id=items[-1]["id"])),
        "the items do not match the digest of the population",
    ),
    "a withdrawn decision is left out with its audit entries": (
        drop_the_first_decisions,
        "decisions when it ended, the bundle has",
    ),
    "the import of another application proves a removal": (
        lambda f: alter(f, "imports.json", lambda runs: runs[1].update(application="Badges")),
        "names import 2, which does not prove its removal",
    ),
    "a kept item is withdrawn": (
        lambda f: alter(f, "items.jsonl", lambda items: kept(items).update(status="Withdrawn")),
        "which does not follow from what the service recorded",
    ),
    "a change by the service is left out": (
        lambda f: alter(f, "changes.jsonl", lambda changes: changes.clear()),
        "is in the audit but not in the bundle",
    ),
    "a change by the service gets another item": (
        lambda f: alter(f, "changes.jsonl", lambda changes: changes[0].update(items=[1])),
        "do not match its digest",
    ),
    "an exception is hidden": (
        lambda f: alter(f, "exceptions.json", lambda found: found.update(bulk=[])),
        "the exceptions of kind bulk do not match the items",
    ),
    "the single reviewer is hidden": (
        lambda f: alter(f, "exceptions.json", lambda found: found.update(single=[])),
        "the exceptions of kind single do not match the items",
    ),
    "a source file is replaced": (
        lambda f: alter(f, "imports.json", lambda runs: runs[0]["files"][0].update(sha256="0" * 64)),
        "differ from its audit entry",
    ),
    "the audit entries of the review are left out": (drop_the_entries_of_the_review, "the review has no audit entry"),
    "the due date at the closing is changed": (
        lambda f: alter(f, "review.json", lambda review: review.update(closedDueOn="2099-01-01T00:00:00+00:00")),
        "the review was closed with a different due date",
    ),
    "an extension is invented": (
        lambda f: alter(f, "review.json", lambda review: review.update(firstDueOn="2020-01-01T00:00:00+00:00")),
        "the due date was extended, but no step of the review says so",
    ),
    "an application is added": (
        lambda f: alter(f, "population.json", lambda places: places.append(places[0])),
        "the audit and the population have different numbers of applications",
    ),
    "a decision is put into a bulk decision that does not exist": (
        lambda f: alter(f, "decisions.jsonl", lambda made: kept(made).update(bulk=9)),
        "a decision belongs to bulk 9, which does not exist",
    ),
    "an item is reopened": (
        lambda f: alter(f, "items.jsonl", lambda items: kept(items).update(reopenedOn="2026-01-01T00:00:00+00:00")),
        "contradicts what the service recorded about reopening",
    ),
    "a decision becomes one that was carried over": (
        lambda f: alter(f, "items.jsonl", lambda items: kept(items).update(isCarried=True)),
        "contradicts what the service recorded about carrying over",
    ),
    "an item loses its decision": (
        lambda f: alter(f, "items.jsonl", lambda items: kept(items).update(decision=None)),
        "is undecided, but shows parts of a decision",
    ),
    "a kept item is pending": (
        lambda f: alter(f, "items.jsonl", lambda items: kept(items).update(status="Pending")),
        "is Pending, which does not follow from its decision",
    ),
    "the decisions of an item are left out": (drop_the_decisions_of_an_item, "has a decision that was never made"),
    "an item is put into another stage": (
        lambda f: alter(f, "items.jsonl", lambda items: kept(items).update(stage=2)),
        "is in a different stage than its reassignments show",
    ),
    "an item loses its signature": (
        lambda f: alter(f, "items.jsonl", lambda items: kept(items).update(submission=None)),
        "and the statements disagree on whether it is signed",
    ),
    "a kept item gets a proof": (
        lambda f: alter(f, "items.jsonl", lambda items: kept(items).update(remediatedImport=2)),
        "names a proof although it is Approved",
    ),
    "a decision gets the number of another item": (
        lambda f: alter(f, "decisions.jsonl", lambda made: kept(made).update(item=99)),
        "has the number of one item and the id of another",
    ),
    "the outcome of an import is changed": (
        lambda f: alter(f, "imports.json", lambda runs: runs[0].update(status="Failed")),
        "the status of import 1 differs from its audit entries",
    ),
    "the figures of a reviewer are left out": (
        lambda f: alter(f, "quality.json", lambda figures: figures.clear()),
        "the quality figures and the items name different reviewers",
    ),
    "a figure of a reviewer is changed": (
        lambda f: alter(f, "quality.json", lambda figures: figures[0].update(decided=99)),
        "the decided of Grace Hopper does not follow from the items",
    ),
    "the time of a statement is hidden": (
        lambda f: alter(f, "quality.json", lambda figures: figures[0].update(submittedOn=None)),
        "the submittedOn of Grace Hopper differs from the statements",
    ),
}


def test_planted_forgeries_are_detected_without_a_seal(bundle: Path) -> None:
    assert len(FORGERIES) >= 20
    for name, (forge, said) in FORGERIES.items():
        forgery = Forgery(bundle)
        forge(forgery)

        problems = verify.check(verify.Bundle(forgery.write()))

        assert any(said in problem for problem in problems), (name, problems)


def test_forged_name_is_detected_by_the_seal(bundle: Path) -> None:
    forgery = Forgery(bundle)
    seal = forgery.members["manifest.sha256"].decode().strip()
    alter(forgery, "items.jsonl", lambda items: items[0]["person"].update(name="Eve"))
    forged = forgery.write()

    result = checked(forged, "--seal", seal)

    assert (result.returncode, "does not match the given seal" in result.stdout) == (1, True)


def test_unknown_review_is_reported(clean_database: str, tmp_path: Path) -> None:
    missing = typed("evidence", "review", "7", ROLECALL_DATABASE_URL=clean_database)

    assert (missing.returncode, "Review with id 7 not found" in missing.stderr) == (3, True), missing.stderr
