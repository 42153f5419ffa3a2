"""Test that people who made a request, or whom it is about, cannot decide on it, in person or through tokens."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.permitted import (
    NOT_INVOLVED,
    NOT_STANDING_IN,
    OF_OWNER,
    OWN_REQUEST,
    PARTY,
    REPORTED_BY_OTHERS,
)
from rolecall.console.actions import set_role
from rolecall.console.overview import asked_among
from rolecall.console.signing_in import person_of
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.roles import Role
from rolecall.settings.policy import RequirementType
from tests.access_requests.test_evading_separation import to_group
from tests.access_requests.test_rechecking import commit, get
from tests.access_requests.test_separation import URL, approvers, ask
from tests.builders import a_token, an_access_request, an_application, an_identity
from tests.duties.separating import a_company, finish_again, join
from tests.holdings import an_account
from tests.nesting import some_groups
from tests.stand_ins.office import Office, approve
from tests.stand_ins.standing_in import a_stand_in, days
from tests.working import let_the_worker_work

SCOPES = ["access-requests:write", "access-requests:read"]


async def bearer(db: Db, owner: UUID, name: str = "own") -> dict[str, str]:
    return {"Authorization": f"Bearer {(await a_token(db, name, owner=owner, scopes=SCOPES)).secret}"}


async def respond(
    client: httpx2.AsyncClient, id: str, reviewer: UUID, headers: dict[str, str] | None = None, **fields: Any
) -> httpx2.Response:
    body = {"type": "Approve", "response": "Approved", "reviewerId": str(reviewer), **fields}
    return await client.post(f"{URL}/{id}/respond", json=body, headers=headers)


async def is_in_queue(db: Db, person: UUID, request: str) -> bool:
    """Return whether the console lists the request among those that wait for the person's approval."""
    found = await person_of(db, person, datetime.now(UTC))
    assert found
    return bool(await asked_among(db, found, RequirementType.APPROVE, [UUID(request)]))


@pytest.fixture
async def office(db: Db) -> Office:
    """Build an office: Ada reports to Grace, who reports to Rosa. Una is an administrator."""
    rosa = await an_identity(db, "Rosa", "Far")
    grace = await an_identity(db, "Grace", "Hopper", supervisorId=str(rosa))
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(grace))
    sam = await an_identity(db, "Sam", "Else")
    await set_role(db, await an_identity(db, "Una", "Vale"), Role.ADMINISTRATOR)
    return Office(ada, grace, rosa, sam, await an_application(db, "Payroll"))


def for_ada(office: Office) -> dict[str, Any]:
    asked = [{"header": "Ledger", "permission": "Post", "riskRating": "None"}]
    body = {"action": "Add", "applicationId": str(office.application), "identityId": str(office.ada)}
    return body | {"privileges": asked}


async def test_owner_of_the_reporting_token_is_not_asked_and_does_not_approve(
    client: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    headers = await bearer(db, office.grace)
    made = (await client.post(URL, json=for_ada(office), headers=headers)).json()
    assert "Grace Hopper" not in approvers(made)

    # Simulate an older request, which asks the supervisor although her token made the request.
    sql = "UPDATE responses SET reviewer_id = %(id)s, reviewer_name = 'Grace Hopper' WHERE type = 'Approve'"
    await execute(db, sql, id=office.grace)
    await a_stand_in(db, office.grace, office.sam)
    assert not await is_in_queue(db, office.grace, made["id"])
    assert await approve(db, office.grace, made["id"], office.grace) == OWN_REQUEST
    assert await approve(db, office.sam, made["id"], office.grace) == PARTY
    recorded = await respond(client, made["id"], office.grace)
    assert (recorded.status_code, recorded.json()["message"]) == (409, PARTY)


async def test_owner_of_the_reporting_token_does_not_stand_in(
    client: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    headers = await bearer(db, office.sam)
    await a_stand_in(db, office.grace, office.sam)
    made = (await client.post(URL, json=for_ada(office), headers=headers)).json()

    assert "Grace Hopper" in approvers(made)
    assert await approve(db, office.sam, made["id"], office.grace) == OWN_REQUEST
    # One token may make a request and record the response of a reviewer, as programs with a single token do.
    assert (await respond(client, made["id"], office.grace, headers)).status_code == 200


async def test_people_in_conflict_through_a_group_are_not_asked_and_do_not_respond(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    una = await an_identity(db, "Una", "Vale")
    await set_role(db, una, Role.ADMINISTRATOR)
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    await an_account(db, company.ledger, "hana", company.owner, groups=("Officers", "Temps"), run=company.run)
    await finish_again(db, company.run)

    made = (await client.post(URL, json=to_group(company, "Temps", "Release run"))).json()
    assert "Hana Makinen" not in approvers(made)
    assert "Una Vale" in approvers(made)

    sql = "UPDATE responses SET reviewer_id = %(id)s WHERE type = 'Approve' AND reviewer_id = %(una)s"
    await execute(db, sql, id=company.owner, una=una)
    await a_stand_in(db, company.owner, una)
    assert not await is_in_queue(db, company.owner, made["id"])
    assert await approve(db, company.owner, made["id"], company.owner) == OWN_REQUEST
    assert await approve(db, una, made["id"], company.owner) == PARTY
    assert (await respond(client, made["id"], company.owner)).status_code == 409


async def test_token_of_a_person_in_conflict_through_a_group_cannot_record_an_approval(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    await join(db, company, "noor", "Temps")
    headers = await bearer(db, company.noor)

    made = (await client.post(URL, json=to_group(company, "Temps", "Release run"), headers=headers)).json()
    rules = [rule for each in made["requirements"] for rule in each["rules"]]
    refused = await respond(client, made["id"], company.owner, headers)

    assert str(company.noor) not in [one["reviewer"]["id"] for rule in rules for one in rule["responses"]]
    assert (refused.status_code, refused.json()["message"]) == (409, OWN_REQUEST)


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.OPERATOR, Role.PEOPLE])
async def test_token_records_only_responses_that_its_owner_may_give(
    client: httpx2.AsyncClient, db: Db, office: Office, role: Role
) -> None:
    await set_role(db, office.sam, role)
    headers = await bearer(db, office.sam)
    request = await office.request(db)

    refused = await respond(client, str(request), office.grace, headers)
    assert (refused.status_code, refused.json()["message"]) == (409, OF_OWNER.format(NOT_STANDING_IN))
    await a_stand_in(db, office.grace, office.sam)
    recorded = await respond(client, str(request), office.grace, headers)
    assert recorded.status_code == 200, recorded.text
    said = "Sam Else approved, standing in for Grace Hopper, recorded by API Token - own"
    assert said in [entry["content"] for entry in recorded.json()["activity"]]

    own = await an_access_request(db, identity_id=await an_identity(db, "Bo", "Low", supervisorId=str(office.sam)))
    assert (await respond(client, str(own), office.sam, headers)).status_code == 200


@pytest.mark.parametrize(
    ("role", "about", "message"),
    [
        (Role.REVIEWER, "ada", OF_OWNER.format(NOT_INVOLVED)),
        (Role.OPERATOR, "ada", None),
        (Role.OPERATOR, "sam", OF_OWNER.format(REPORTED_BY_OTHERS)),
        (Role.ADMINISTRATOR, "sam", OF_OWNER.format(REPORTED_BY_OTHERS)),
        (Role.ADMINISTRATOR, "ada", None),
    ],
)
async def test_token_cancels_and_snoozes_what_its_owner_may(
    client: httpx2.AsyncClient, db: Db, office: Office, role: Role, about: str, message: str | None
) -> None:
    await set_role(db, office.sam, role)
    headers = await bearer(db, office.sam)
    removal = await an_access_request(db, "Remove", identity_id=getattr(office, about))

    for verb, body in (("snooze", {"until": days(3)}), ("cancel", {})):
        answer = await client.post(f"{URL}/{removal}/{verb}", json=body, headers=headers)
        assert (answer.status_code, answer.json().get("message")) == (409 if message else 200, message)


async def test_token_of_an_administrator_records_what_reviewers_said(
    client: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    headers = await bearer(db, office.sam)
    request = await office.request(db)
    assert await is_in_queue(db, office.grace, str(request))
    for type, reviewer in (("Approve", office.grace), ("Resolve", None)):
        asked = await fetch_value(
            db, "SELECT reviewer_id FROM responses WHERE type = %(type)s AND asked LIMIT 1", type=type
        )
        recorded = await respond(client, str(request), reviewer or asked, headers, type=type)
        assert recorded.status_code == 200, recorded.text


async def test_supervisor_in_conflict_is_not_asked_for_an_owner_who_left(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await some_groups(db, company.ledger, {"Temps": ""}, company.run)
    await join(db, company, "noor", "Temps")
    made = (await client.post(URL, json=to_group(company, "Temps", "Release run"))).json()
    sql = "UPDATE identities SET supervisor_id = %(noor)s, status = 'Removed' WHERE id = %(owner)s"
    await execute(db, sql, noor=company.noor, owner=company.owner)

    await let_the_worker_work(config)
    assert "Noor Hansen" not in approvers(await get(client, made["id"]))


async def test_auditor_is_not_asked_and_is_replaced_if_already_asked(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await set_role(db, await an_identity(db, "Una", "Vale"), Role.ADMINISTRATOR)
    sql = "UPDATE identities SET supervisor_id = %(sofia)s WHERE id = %(noor)s"
    await execute(db, sql, sofia=company.sofia, noor=company.noor)
    before = (await ask(client, company, company.noor, "Approvers")).json()
    assert "Una Vale" not in approvers(before)
    await set_role(db, company.owner, Role.AUDITOR)

    await let_the_worker_work(config)
    assert "Una Vale" in approvers(await get(client, before["id"]))
    refused = await respond(client, before["id"], company.owner)
    assert (refused.status_code, "auditor" in refused.json()["message"]) == (409, True)

    await client.post(f"{URL}/{before['id']}/cancel", json={})
    assert "Hana Makinen" not in approvers((await ask(client, company, company.noor, "Approvers")).json())


async def test_others_are_asked_if_a_reviewer_has_responded_for_another(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await commit(client, company, enabled=False)
    chief = await fetch_value(db, "SELECT owner_id FROM applications WHERE id = %(id)s", id=company.ledger)
    sql = "UPDATE identities SET supervisor_id = %(chief)s WHERE id = %(noor)s"
    await execute(db, sql, chief=chief, noor=company.noor)
    await set_role(db, await an_identity(db, "Una", "Vale"), Role.ADMINISTRATOR)
    await a_stand_in(db, chief, company.owner)
    made = (await ask(client, company, company.noor, "Approvers")).json()
    assert (await respond(client, made["id"], chief, standInId=str(company.owner))).status_code == 200

    await commit(client, company, enabled=True)
    await let_the_worker_work(config)
    assert "Hana Makinen" in approvers(await get(client, made["id"]))
    assert "Una Vale" in approvers(await get(client, made["id"]))
