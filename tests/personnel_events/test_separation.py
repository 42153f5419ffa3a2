"""Test that events and returns from leave omit access that a rule blocks, and that a comment says why."""

from typing import Any

import httpx2

from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from tests.access_requests.test_separation import a_payments_model, block
from tests.duties.separating import a_company, a_duty, a_rule, finish_again, join
from tests.holdings import a_finished_import
from tests.nesting import some_groups
from tests.personnel_events.bodies import EVENTS, created, day
from tests.personnel_events.test_restoring import Leave, back, leave, suspended
from tests.working import let_the_worker_work

__all__ = ["leave"]
_RULE = "the rule Prepare and release (Prepare payments and Release payments) blocks it"


async def asked_and_said(client: httpx2.AsyncClient, event: Any, stage: int) -> tuple[list[str], list[str]]:
    """Return the access that requests of a stage ask for, and the comments on the event."""
    event = (await client.get(f"{EVENTS}/{event['id']}")).json()
    asked = []
    for request in event["stages"][stage]["accessRequests"]:
        detail = (await client.get(f"/api/access-requests/{request['id']}")).json()
        asked += [each["permission"]["permission"] for each in detail["target"]["privileges"]]
    return asked, [comment["content"] for comment in event["comments"]]


async def test_role_transition_leaves_out_what_would_complete_a_conflict(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    await a_payments_model_of(client, company.ledger, ["Approvers"])

    # Noor is in Officers, which prepares payments.
    move = {"identityId": str(company.noor), "effectiveDate": day(0), "identity": {"department": "Treasury"}}
    preview = (await client.post(f"{EVENTS}/preview", json={"type": "RoleTransition", **move})).json()
    event = await created(client, "role-transition", **move)
    await let_the_worker_work(config)

    asked, said = await asked_and_said(client, event, 0)
    assert "Approvers" not in asked
    assert said == [f"Approvers of noor is not requested: {_RULE}"]
    assert preview["leftOut"] == said
    assert "Approvers" not in str(preview["accessRequests"])


async def a_payments_model_of(client: httpx2.AsyncClient, ledger: object, groups: list[str]) -> None:
    treasury = [[{"field": "department", "operator": "is", "value": "Treasury"}]]
    body = {"name": "Treasury", "conditions": treasury, "access": [{"applicationId": str(ledger), "groups": groups}]}
    model = (await client.post("/api/access-models", json=body)).json()["id"]
    committed = await client.post(f"/api/access-models/{model}/commit")
    assert committed.status_code == 200, committed.text


async def test_joiner_gets_neither_of_two_conflicting_duties_of_one_model(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await a_payments_model(db, company)
    await block(client, company)
    joiner = {"firstName": "Kai", "lastName": "Kim", "department": "Treasury"}

    event = await created(client, "onboard", identity=joiner, effectiveDate=day(0))
    await let_the_worker_work(config)

    asked, said = await asked_and_said(client, event, 0)
    assert (asked, len(said)) == ([], 2)
    assert all(_RULE in each for each in said)


async def test_end_of_a_leave_leaves_out_what_a_new_rule_keeps_apart(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    run = await a_finished_import(db, leave.ledger)
    await execute(db, "UPDATE memberships SET until_import = %(run)s WHERE until_import IS NULL", run=run)
    await finish_again(db, run)
    post, read = [await a_duty(db, name, {"group": name}) for name in ("Posters", "Readers")]
    await a_rule(db, "Post and read", post, read, response="Block")

    _, restored, said = await back(client, config, leave)

    assert restored == []
    refused = "the rule Post and read (Posters and Readers) blocks it"
    assert said == [f"{group} of ada is not requested: {refused}" for group in ("Posters", "Readers")]


async def test_access_is_left_out_if_its_control_duty_is_left_out(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db, response="Block")
    await some_groups(db, company.ledger, {"Reviewers": "", "Auditors": ""}, company.run)
    review, audit = await a_duty(db, "Review", {"group": "Reviewers"}), await a_duty(db, "Audit", {"group": "Auditors"})
    await client.patch(f"/api/duty-rules/{company.rule}", json={"without": str(review)})
    await client.post(f"/api/duty-rules/{company.rule}/commit")
    await a_rule(db, "Review and audit", review, audit, response="Block")
    await join(db, company, "noor", "Auditors")
    await a_payments_model_of(client, company.ledger, ["Approvers", "Reviewers"])

    who = {"identityId": str(company.noor), "identity": {"department": "Treasury"}}
    made = await created(client, "role-transition", effectiveDate=day(0), **who)
    await let_the_worker_work(config)

    asked, said = await asked_and_said(client, made, 0)
    assert {"Approvers", "Reviewers"}.isdisjoint(asked)
    assert sorted(each.partition(" of ")[0] for each in said) == ["Approvers", "Reviewers"]
