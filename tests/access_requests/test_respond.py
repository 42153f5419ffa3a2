from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import actions
from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.core.caller import SYSTEM
from rolecall.core.checking import Facts
from rolecall.core.db import Db, fetch_rows
from rolecall.settings.policy import Level
from tests.access_requests.walking import a_cast, a_request_that_is, detail_of, do, done, events_of
from tests.builders import an_access_request, an_application, an_identity
from tests.counting import counting

APPROVED = {"type": "Approve", "response": "Approved"}


async def a_risky_request(db: Db) -> tuple[UUID, UUID, UUID]:
    """Create a request for Unrestricted and Modify access, which supervisor and owner must approve."""
    boss, owner = await an_identity(db, "Bo", "Boss"), await an_identity(db, "Olga", "Owner")
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(boss))
    crm = await an_application(db, "CRM", ownerId=str(owner))
    asked = [
        NewPrivilege(header="Sales", permission="Accounts", requested_access=Access.UNRESTRICTED),
        NewPrivilege(header="Sales", permission="Leads", requested_access=Access.MODIFY, risk_rating=Level.CRITICAL),
    ]
    id = await an_access_request(db, identity_id=ada, application_id=crm, privileges=asked)
    return id, boss, owner


def responses(detail: dict[str, Any], type: str) -> list[str]:
    (requirement,) = [each for each in detail["requirements"] if each["type"] == type]
    return [answer["response"] for rule in requirement["rules"] for answer in rule["responses"]]


async def test_request_is_approved_when_every_rule_is_met(client: httpx2.AsyncClient, db: Db) -> None:
    id, boss, owner = await a_risky_request(db)

    first = await done(client, id, "respond", **APPROVED, reviewerId=str(boss), comment="Fine with me")

    assert first["status"] == "Pending"
    assert responses(first, "Approve") == ["Approved", "Pending"]
    assert first["activity"][-1]["action"] == "Response"
    assert first["comments"][-1]["content"] == "Fine with me"

    second = await done(client, id, "respond", **APPROVED, reviewerId=str(owner))

    assert second["status"] == "Open"
    assert responses(second, "Approve") == ["Approved", "Approved"]


async def test_activity_names_the_reviewer_and_the_caller_who_recorded_the_response(
    client: httpx2.AsyncClient, db: Db
) -> None:
    id, boss, _ = await a_risky_request(db)

    detail = await done(client, id, "respond", **APPROVED, reviewerId=str(boss))

    entry = detail["activity"][-1]
    assert (entry["author"], entry["content"]) == (
        "API Token - tests",
        "Bo Boss approved, recorded by API Token - tests",
    )


async def test_one_rejection_cancels_the_request(client: httpx2.AsyncClient, db: Db) -> None:
    id, boss, _ = await a_risky_request(db)

    detail = await done(client, id, "respond", type="approve", response="REJECTED", reviewerId=str(boss))

    assert detail["status"] == "Canceled"
    assert responses(detail, "Approve") == ["Rejected"]
    assert detail["activity"][-1]["action"] == "Rejected"
    assert [privilege["approvedAccess"] for privilege in detail["target"]["privileges"]] == ["None", "None"]


async def test_approved_access_is_what_was_requested_unless_a_reviewer_lowered_it(
    client: httpx2.AsyncClient, db: Db
) -> None:
    id, boss, owner = await a_risky_request(db)
    lowered = [{"header": "Sales", "permission": "Accounts", "access": "Grant"}]

    first = await done(client, id, "respond", **APPROVED, reviewerId=str(boss), approvedAccess=lowered)
    assert [privilege["approvedAccess"] for privilege in first["target"]["privileges"]] == ["None", "None"]

    second = await done(client, id, "respond", **APPROVED, reviewerId=str(owner))
    assert [privilege["approvedAccess"] for privilege in second["target"]["privileges"]] == ["Grant", "Modify"]
    assert [privilege["requestedAccess"] for privilege in second["target"]["privileges"]] == ["Unrestricted", "Modify"]


async def test_number_of_statements_does_not_depend_on_lowered_privileges(clean_database: str, facts: Facts) -> None:
    async def lowers(much: int) -> int:
        boss = await an_identity(db, "Bo", "Boss")
        ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(boss))
        names = [f"Permission {n}" for n in range(much)]
        asked = [NewPrivilege(header="Sales", permission=name, requested_access=Access.MODIFY) for name in names]
        id = await an_access_request(db, identity_id=ada, privileges=asked)
        lowered = [{"header": "Sales", "permission": name, "access": "Grant"} for name in reversed(names)]
        raw = {**APPROVED, "reviewerId": str(boss), "approvedAccess": lowered}
        async with db.transaction():
            return await counts.of(actions.respond(db, SYSTEM, str(id), raw, facts))

    async with counting(clean_database) as counts:
        db = counts.db
        assert await lowers(2) == await lowers(30)
        approved = await fetch_rows(db, "SELECT approved_access, count(*) FROM privileges GROUP BY approved_access")

    assert approved == [("Grant", 32)]


async def test_reviewer_cannot_raise_the_approved_access(client: httpx2.AsyncClient, db: Db) -> None:
    id, boss, _ = await a_risky_request(db)
    raised = [
        {"header": "Sales", "permission": "Leads", "access": "Unrestricted"},
        {"header": "Sales", "permission": "Orders", "access": "Grant"},
        {"header": "Sales", "permission": "Accounts"},
    ]

    answer = await do(client, id, "respond", **APPROVED, reviewerId=str(boss), approvedAccess=raised)

    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"field": "approvedAccess.0.access", "message": "Access must be lower than Modify"},
        {"field": "approvedAccess.1", "message": "The request does not contain this privilege"},
        {"field": "approvedAccess.2.access", "message": "Access is required"},
    ]
    assert (await detail_of(client, id))["activity"][-1]["action"] == "Created"


@pytest.mark.parametrize(("requested", "lowered"), [(Access.DENY, "None"), (Access.NONE, "Deny")])
async def test_neither_deny_nor_none_is_lower_than_the_other(
    client: httpx2.AsyncClient, db: Db, requested: Access, lowered: str
) -> None:
    boss = await an_identity(db, "Bo", "Boss")
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(boss))
    asked = [NewPrivilege(header="Sales", permission="Leads", requested_access=requested)]
    id = await an_access_request(db, "Change", identity_id=ada, privileges=asked)
    access = [{"header": "Sales", "permission": "Leads", "access": lowered}]

    answer = await do(client, id, "respond", **APPROVED, reviewerId=str(boss), approvedAccess=access)

    assert answer.json()["errors"] == [
        {"field": "approvedAccess.0.access", "message": f"Access must be lower than {requested}"}
    ]


async def test_finished_request_lists_no_pending_reviewers(client: httpx2.AsyncClient, db: Db) -> None:
    boss = await an_identity(db, "Bo", "Boss")
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(boss))
    provisioners = [str(await an_identity(db, name, "Engineer")) for name in ("Pia", "Per")]
    crm = await an_application(db, "CRM", provisionerIds=provisioners)
    asked: dict[str, Any] = {"identity_id": ada, "application_id": crm}
    worked, canceled = await an_access_request(db, **asked), await an_access_request(db, **asked)

    await done(client, worked, "respond", **APPROVED, reviewerId=str(boss))
    work = {"type": "Resolve", "response": "Approved", "reviewerId": provisioners[1]}
    completed = await done(client, worked, "respond", **work)
    dropped = await done(client, canceled, "cancel")

    assert completed["status"] == "Completed"
    (rule,) = completed["requirements"][1]["rules"]
    assert [(each["reviewer"]["name"], each["response"]) for each in rule["responses"]] == [
        ("Per Engineer", "Approved")
    ]
    # The rules stay, because they document what was required.
    assert [(each["type"], each["rules"]) for each in dropped["requirements"]] == [
        ("Approve", [{"reason": "The supervisor approves added and changed access", "responses": []}]),
        ("Resolve", [{"reason": "The provisioner makes the change", "responses": []}]),
    ]
    (event,) = [event for event in await events_of(db, canceled) if event["name"] == "AccessRequestCanceled"]
    assert event["request"]["requirements"] == dropped["requirements"]


async def test_only_a_reviewer_of_the_request_can_respond(client: httpx2.AsyncClient, db: Db) -> None:
    id, _, _ = await a_risky_request(db)
    stranger = await an_identity(db, "Sam", "Stranger")

    answer = await do(client, id, "respond", **APPROVED, reviewerId=str(stranger))
    nobody = await do(client, id, "respond", **APPROVED)

    assert answer.status_code == nobody.status_code == 400
    assert answer.json()["errors"] == [
        {"field": "reviewerId", "message": "Sam Stranger is not asked to approve this request"}
    ]
    message = "Reviewer ID is required: name the reviewer whose response this is"
    assert nobody.json()["errors"] == [{"field": "reviewerId", "message": message}]


async def test_reviewer_cannot_respond_twice(client: httpx2.AsyncClient, db: Db) -> None:
    id, boss, _ = await a_risky_request(db)
    await done(client, id, "respond", **APPROVED, reviewerId=str(boss))

    again = await do(client, id, "respond", type="Approve", response="Rejected", reviewerId=str(boss))

    assert again.status_code == 409
    assert again.json()["message"] == "Bo Boss has already responded"
    assert responses(await detail_of(client, id), "Approve") == ["Approved", "Pending"]


async def test_all_validation_errors_of_a_response_are_reported_at_once(client: httpx2.AsyncClient, db: Db) -> None:
    id, _, _ = await a_risky_request(db)

    answer = await do(client, id, "respond", response="Pending", reviewerId="me", comment=" ", approvedAccess=[{}])

    assert answer.json()["errors"] == [
        {"field": "type", "message": "Type is required"},
        {"field": "response", "message": "Response must be one of Approved, Rejected"},
        {"field": "reviewerId", "message": "Reviewer ID must be a GUID"},
        {"field": "approvedAccess.0.permission", "message": "Permission is required"},
    ]


async def test_provisioner_resolves_and_owner_verifies(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    id = await a_request_that_is(client, db, "Open", cast)

    resolved = await done(client, id, "respond", type="Resolve", response="Approved", reviewerId=cast.peter)
    assert resolved["status"] == "Resolved"
    assert responses(resolved, "Resolve") == ["Approved"]

    verified = await done(client, id, "respond", type="Verify", response="Approved", reviewerId=cast.grace)
    assert verified["status"] == "Completed"
    assert responses(verified, "Verify") == ["Approved"]


async def test_rejected_verification_reopens_the_request_and_resets_responses(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    id = await a_request_that_is(client, db, "Resolved", cast)

    detail = await done(client, id, "respond", type="Verify", response="Rejected", reviewerId=cast.grace)

    assert detail["status"] == "Open"
    assert detail["activity"][-1]["action"] == "Reopened"
    assert responses(detail, "Resolve") == ["Pending"]
    assert responses(detail, "Verify") == ["Pending"]
    assert responses(detail, "Approve") == ["Approved"]


async def test_provisioning_cannot_be_rejected(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    id = await a_request_that_is(client, db, "Open", cast)

    answer = await do(client, id, "respond", type="Resolve", response="Rejected", reviewerId=cast.peter)

    assert answer.json()["errors"] == [
        {"field": "response", "message": "A response of type Resolve cannot be Rejected; cancel the request instead"}
    ]


async def test_caller_who_resolves_without_being_asked_is_listed_as_reviewer(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    id = await a_request_that_is(client, db, "Open", cast)

    detail = await done(client, id, "resolve")

    (rule,) = next(each for each in detail["requirements"] if each["type"] == "Resolve")["rules"]
    assert [(each["reviewer"]["name"], each["response"]) for each in rule["responses"]] == [
        ("Peter Naur", "Pending"),
        ("API Token - tests", "Approved"),
    ]
    again = await done(client, id, "reopen")
    assert responses(again, "Resolve") == ["Pending"]
