"""Test requests, events and models that would create conflicts: warnings, additional approvals and refusals."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2

from rolecall.access_requests.creation import create_requests
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.accounts.model import Access
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.settings.policy import RequestAction
from tests.builders import an_access_model, an_identity
from tests.duties.separating import Company, a_company, a_duty, a_rule
from tests.personnel_events.bodies import EVENTS, created, day
from tests.working import let_the_worker_work

URL = "/api/access-requests"


async def ask(client: httpx2.AsyncClient, company: Company, who: UUID, *groups: str) -> httpx2.Response:
    privileges = [{"header": "Group", "permission": group} for group in groups]
    body = {"action": "Add", "applicationId": str(company.ledger), "identityId": str(who), "privileges": privileges}
    return await client.post(URL, json=body)


async def conflicts(client: httpx2.AsyncClient, request: dict[str, Any]) -> list[tuple[str, list[str]]]:
    found = (await client.get(f"{URL}/{request['id']}/conflicts")).json()["conflicts"]
    return [(each["response"], each["duties"]) for each in found]


def approvers(request: dict[str, Any]) -> list[str]:
    return [
        response["reviewer"]["name"]
        for requirement in request["requirements"]
        if requirement["type"] == "Approve"
        for rule in requirement["rules"]
        for response in rule["responses"]
    ]


BOTH = ["Prepare payments", "Release payments"]


async def test_request_that_would_create_a_conflict_is_routed_to_the_rules_owner(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)

    request = (await ask(client, company, company.noor, "Approvers")).json()

    assert await conflicts(client, request) == [("Approve", BOTH)]
    assert "Hana Makinen" in approvers(request)
    # The rule is Critical, so the owner of the application approves too.
    assert "Carla Abadi" in approvers(request)


async def test_conflict_waits_only_for_those_who_have_not_responded(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    request = (await ask(client, company, company.noor, "Approvers")).json()
    other = (await ask(client, company, await an_identity(db, "Finn", "Santos"), "Juniors", "Approvers")).json()

    async def waiting_for(id: str) -> list[str]:
        (conflict,) = (await client.get(f"{URL}/{id}/conflicts")).json()["conflicts"]
        return [each["name"] for each in conflict["waitingFor"]]

    before = [await waiting_for(each["id"]) for each in (request, other)]
    answer = {"type": "Approve", "response": "Approved", "reviewerId": str(company.owner)}
    responded = await client.post(f"{URL}/{other['id']}/respond", json=answer)

    assert (before, responded.status_code) == ([["Hana Makinen"], ["Hana Makinen"]], 200)
    # A response to another request changes nothing for this one.
    assert [await waiting_for(each["id"]) for each in (request, other)] == [["Hana Makinen"], []]


async def test_preview_shows_conflicts_and_who_must_approve_and_stores_nothing(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    privileges = [{"header": "Group", "permission": "Approvers"}]
    body = {"action": "Add", "applicationId": str(company.ledger), "identityId": str(company.noor)}

    found = await client.post(f"{URL}/preview", json={**body, "privileges": privileges})
    unknown = await client.post(f"{URL}/preview", json={**body, "privileges": [{"permission": "Aprovers"}]})

    (conflict,) = found.json()["conflicts"]
    assert (found.status_code, conflict["duties"]) == (200, BOTH)
    assert [each["name"] for each in conflict["waitingFor"]] == ["Hana Makinen"]
    assert unknown.status_code == 400
    assert (await client.get(URL)).json()["totalCount"] == 0


async def test_request_without_a_new_conflict_needs_no_further_approval(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    other = await an_identity(db, "Finn", "Santos")

    request = (await ask(client, company, other, "Approvers")).json()

    assert (await conflicts(client, request), "Hana Makinen" in approvers(request)) == ([], False)


async def test_rule_that_only_warns_changes_no_approver(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Warn")

    request = (await ask(client, company, company.noor, "Approvers")).json()

    assert (await conflicts(client, request), "Hana Makinen" in approvers(request)) == ([("Warn", BOTH)], False)


async def test_blocking_rule_refuses_the_request_with_its_name(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db, response="Block")

    refused = await ask(client, company, company.noor, "Approvers")

    [problem] = refused.json()["errors"]
    assert (refused.status_code, problem["field"]) == (400, "privileges.0.permission")
    assert problem["message"].startswith("The rule Prepare and release (Prepare payments and Release payments) blocks")


async def test_request_is_checked_together_with_earlier_open_requests(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    other = await an_identity(db, "Finn", "Santos")

    first = (await ask(client, company, other, "Juniors")).json()
    second = (await ask(client, company, other, "Approvers")).json()
    await client.post(f"{URL}/{first['id']}/cancel", json={})
    third = (await ask(client, company, await an_identity(db, "Kai", "Kim"), "Officers", "Approvers")).json()

    assert [await conflicts(client, each) for each in (first, second, third)] == [
        [],
        [("Approve", BOTH)],
        [("Approve", BOTH)],
    ]


async def test_control_duty_prevents_the_conflict(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    review = await a_duty(db, "Review", {"group": "Officers"})
    await client.patch(f"/api/duty-rules/{company.rule}", json={"without": str(review)})
    await client.post(f"/api/duty-rules/{company.rule}/commit")

    request = (await ask(client, company, company.noor, "Approvers")).json()

    assert await conflicts(client, request) == []


async def test_administrators_approve_where_the_rules_owner_is_the_person_concerned(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    await execute(
        db,
        "UPDATE duty_rules SET definition = definition || jsonb_build_object('ownerId', %(noor)s::text)",
        noor=company.noor,
    )

    request = (await ask(client, company, company.noor, "Approvers")).json()

    assert "Administrators" in approvers(request)
    assert "Noor Hansen" not in approvers(request)


async def test_event_preview_shows_conflicts_of_what_models_would_give(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    await a_payments_model(db, company)
    joiner = {"firstName": "Kai", "lastName": "Kim", "department": "Treasury"}

    body = {"type": "Onboard", "identity": joiner, "effectiveDate": "2035-01-01"}
    preview = (await client.post("/api/personnel-events/preview", json=body)).json()

    [request] = preview["accessRequests"]
    assert [(each["rule"], each["duties"]) for each in request["conflicts"]] == [("Prepare and release", BOTH)]


async def a_payments_model(db: Db, company: Company) -> UUID:
    access = [{"applicationId": str(company.ledger), "groups": ["Officers", "Approvers"]}]
    treasury = [[{"field": "department", "operator": "is", "value": "Treasury"}]]
    return await an_access_model(db, "Treasury", conditions=treasury, access=access)


async def block(client: httpx2.AsyncClient, company: Company) -> None:
    """Make the rule a blocking one, after a test committed a model that a blocking rule would refuse."""
    await client.patch(f"/api/duty-rules/{company.rule}", json={"response": "Block"})
    await client.post(f"/api/duty-rules/{company.rule}/commit")


async def test_model_simulation_counts_people_and_a_blocking_rule_refuses_the_commit(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    await an_identity(db, "Kai", "Kim", department="Treasury")
    access = [{"applicationId": str(company.ledger), "groups": ["Officers", "Approvers"]}]
    treasury = [[{"field": "department", "operator": "is", "value": "Treasury"}]]
    model = {"name": "Treasury", "conditions": treasury, "access": access}
    id = (await client.post("/api/access-models", json=model)).json()["id"]

    simulated = (await client.post(f"/api/access-models/{id}/simulate", json={})).json()
    refused = await client.post(f"/api/access-models/{id}/commit")

    assert [(each["rule"], each["people"]) for each in simulated["conflicts"]] == [("Prepare and release", 1)]
    assert refused.status_code == 409
    said = "The rule Prepare and release blocks this model: the model would put 1 person in conflict. "
    assert refused.json()["message"].startswith(said)


async def test_model_that_combines_blocked_duties_is_refused_although_it_matches_nobody(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db, response="Block")
    nowhere = [[{"field": "department", "operator": "is", "value": "Nowhere"}]]
    access = [{"applicationId": str(company.ledger), "groups": ["Officers", "Approvers"]}]
    model = {"name": "Treasury", "conditions": nowhere, "access": access}
    id = (await client.post("/api/access-models", json=model)).json()["id"]

    simulated = (await client.post(f"/api/access-models/{id}/simulate", json={})).json()
    refused = await client.post(f"/api/access-models/{id}/commit")

    assert [(each["rule"], each["people"]) for each in simulated["conflicts"]] == [("Prepare and release", 0)]
    said = "The rule Prepare and release blocks this model: the model gives duties that the rule keeps apart. "
    assert (refused.status_code, refused.json()["message"][: len(said)]) == (409, said)


async def test_rule_about_other_duties_does_not_affect_a_request(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    others = [await a_duty(db, name, {"permission": name}) for name in ("Write code", "Publish code")]
    await a_rule(db, "Code", *others, response="Block")

    request = (await ask(client, company, company.noor, "Juniors")).json()

    assert await conflicts(client, request) == []


async def test_administrators_who_approve_instead_of_the_rules_owner_are_named(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(owner)s", owner=company.owner)
    await execute(
        db,
        "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')",
        id=await an_identity(db, "Ada", "Hopper"),
    )

    request = (await ask(client, company, company.noor, "Approvers")).json()

    [rule] = [
        rule
        for requirement in request["requirements"]
        for rule in requirement["rules"]
        if rule["reason"].startswith("The owner of the rule Prepare and release approves")
    ]
    assert rule["reason"].endswith("; the administrators respond because the owner is not available")
    assert [response["reviewer"]["name"] for response in rule["responses"]] == ["Ada Hopper"]


async def test_reason_says_that_the_owner_of_the_rule_made_the_request(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    hana = Caller(company.owner, "Hana Makinen", frozenset())
    approvers = [NewPrivilege(header="Group", permission="Approvers")]
    new = NewRequest(
        action=RequestAction.ADD, application_id=company.ledger, identity_id=company.noor, privileges=approvers
    )

    (id,) = await create_requests(db, hana, [new], datetime.now(UTC))

    reasons = [
        rule["reason"]
        for requirement in (await client.get(f"{URL}/{id}")).json()["requirements"]
        for rule in requirement["rules"]
    ]
    assert [each.partition("; ")[2] for each in reasons if each.startswith("The owner of the rule")] == [
        "the administrators respond because the owner made the request"
    ]


async def test_requests_made_together_are_combined_only_for_the_same_person(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    kai, finn = await an_identity(db, "Kai", "Kim"), await an_identity(db, "Finn", "Santos")

    async def made(*asked: tuple[UUID, str]) -> list[list[tuple[str, list[str]]]]:
        news = [
            NewRequest(
                action=RequestAction.ADD,
                application_id=company.ledger,
                identity_id=person,
                privileges=[NewPrivilege(header="Group", permission=group)],
            )
            for person, group in asked
        ]
        async with db.transaction():
            ids = await create_requests(db, SYSTEM, news, datetime.now(UTC))
        return [await conflicts(client, {"id": id}) for id in ids]

    assert await made((kai, "Officers"), (finn, "Approvers")) == [[], []]
    lee = await an_identity(db, "Lee", "Kim")
    assert await made((lee, "Officers"), (lee, "Approvers")) == [[("Approve", BOTH)], [("Approve", BOTH)]]


async def test_removal_made_together_with_a_request_prevents_its_conflict(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    officers = NewPrivilege(header="Group", permission="Officers", requested_access=Access.NONE)
    added = NewPrivilege(header="Group", permission="Approvers")
    news = [
        NewRequest(
            action=RequestAction.CHANGE,
            application_id=company.ledger,
            identity_id=company.noor,
            target_name="noor",
            privileges=[privilege],
        )
        for privilege in (officers, added)
    ]

    async with db.transaction():
        ids = await create_requests(db, SYSTEM, news, datetime.now(UTC))

    assert [await conflicts(client, {"id": id}) for id in ids] == [[], []]


async def test_event_requests_only_what_blocking_rules_allow_and_comments_on_the_rest(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    access = [{"applicationId": str(company.ledger), "groups": ["Officers", "Approvers", "Readers"]}]
    treasury = [[{"field": "department", "operator": "is", "value": "Treasury"}]]
    await an_access_model(db, "Treasury", conditions=treasury, access=access)
    await block(client, company)
    joiner = {"firstName": "Kai", "lastName": "Kim", "department": "Treasury"}

    event = await created(client, "onboard", identity=joiner, effectiveDate=day(1))
    await let_the_worker_work(config)

    event = (await client.get(f"{EVENTS}/{event['id']}")).json()
    [request] = event["stages"][0]["accessRequests"]
    detail = (await client.get(f"{URL}/{request['id']}")).json()
    assert [each["permission"]["permission"] for each in detail["target"]["privileges"]] == ["Readers"]
    refused = sorted(comment["content"] for comment in event["comments"])
    assert [words.split(" of ")[0] for words in refused] == ["Approvers", "Officers"]
    assert all(words.endswith("(Prepare payments and Release payments) blocks it") for words in refused)
