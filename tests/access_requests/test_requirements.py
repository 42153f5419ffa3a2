"""Test which rules of the approval policy apply to a request, and who its reviewers are."""

from typing import Any
from uuid import UUID

import httpx2

from rolecall.access_requests.creation import create_requests
from rolecall.access_requests.model import NewPrivilege, NewRequest, RelatedItem
from rolecall.core import clock
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.db import Db, execute
from rolecall.core.ids import new_id
from rolecall.settings.policy import Level, RequestAction
from tests.access_requests.walking import PATH, detail_of
from tests.builders import an_access_request, an_application, an_identity

RISKY = NewPrivilege(header="Ledger", permission="Post", risk_rating=Level.HIGH)


async def asked(client: httpx2.AsyncClient, id: UUID) -> list[tuple[str, str, list[str]]]:
    return [
        (requirement["type"], rule["reason"], [each["reviewer"]["name"] for each in rule["responses"]])
        for requirement in (await detail_of(client, id))["requirements"]
        for rule in requirement["rules"]
    ]


async def names(client: httpx2.AsyncClient, id: UUID) -> list[tuple[str, list[str]]]:
    return [(type, reviewers) for type, _, reviewers in await asked(client, id)]


async def test_administrators_respond_if_no_reviewer_is_available(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_access_request(db, privileges=[RISKY])

    assert await asked(client, id) == [
        (
            "Approve",
            "The supervisor approves added and changed access;"
            " the administrators respond because no supervisor is available",
            ["Administrators"],
        ),
        (
            "Approve",
            "The application owner approves added and changed access of high risk;"
            " the administrators respond because no application owner is available",
            ["Administrators"],
        ),
        (
            "Resolve",
            "The provisioner makes the change;"
            " the administrators respond because no application provisioner is available",
            ["Administrators"],
        ),
    ]


async def test_token_can_respond_for_administrators_while_there_are_none(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_access_request(db)
    body = {"type": "Approve", "response": "Approved", "reviewerId": "00000000-0000-0000-0000-000000000001"}

    answer = await client.post(f"{PATH}/{id}/respond", json=body)

    assert answer.json()["status"] == "Open"


async def test_console_administrators_are_named_as_reviewers(client: httpx2.AsyncClient, db: Db) -> None:
    for first in ("Alma", "Bert"):
        await an_administrator(db, first)
    id = await an_access_request(db)

    assert await names(client, id) == [
        ("Approve", ["Alma Admin", "Bert Admin"]),
        ("Resolve", ["Alma Admin", "Bert Admin"]),
    ]


async def an_administrator(db: Db, first: str) -> UUID:
    id = await an_identity(db, first, "Admin")
    await db.execute("INSERT INTO console_roles (identity_id, role) VALUES (%s, 'Administrator')", (id,))
    return id


async def test_affected_person_is_not_asked_to_review(client: httpx2.AsyncClient, db: Db) -> None:
    olga = await an_identity(db, "Olga", "Owner")
    await db.execute("UPDATE identities SET supervisor_id = id")
    crm = await an_application(db, ownerId=str(olga), provisionerIds=[str(olga)], priority="High")
    alma = await an_administrator(db, "Alma")

    id = await an_access_request(db, identity_id=olga, application_id=crm, privileges=[RISKY])
    admins = await an_access_request(db, identity_id=alma, application_id=crm)

    assert await names(client, id) == [
        ("Approve", ["Alma Admin"]),
        ("Approve", ["Alma Admin"]),
        ("Resolve", ["Alma Admin"]),
        ("Verify", ["Alma Admin"]),
    ]
    assert [reason.rpartition("because ")[2] for _, reason, _ in await asked(client, id)] == [
        f"the request is about the {who}"
        for who in ("supervisor", "application owner", "application provisioner", "application owner")
    ]
    assert await names(client, admins) == [
        ("Approve", ["Administrators"]),
        ("Resolve", ["Olga Owner"]),
        ("Verify", ["Olga Owner"]),
    ]


async def test_reporter_is_not_asked_to_review(client: httpx2.AsyncClient, db: Db) -> None:
    boss = await an_identity(db, "Bo", "Boss")
    ada = await an_identity(db, supervisorId=str(boss))
    crm = await an_application(db, ownerId=str(boss), provisionerIds=[str(boss)], priority="High")
    await an_administrator(db, "Alma")
    new = NewRequest(action=RequestAction.ADD, application_id=crm, identity_id=ada, privileges=[RISKY])

    (by_boss,) = await create_requests(db, Caller(boss, "Bo Boss", frozenset()), [new], clock.now())
    (by_other,) = await create_requests(db, SYSTEM, [new], clock.now())

    assert {name for _, reviewers in await names(client, by_boss) for name in reviewers} == {"Alma Admin"}
    assert [reason.partition("; ")[2] for _, reason, _ in await asked(client, by_boss)] == [
        f"the administrators respond because the {who} made the request"
        for who in ("supervisor", "application owner", "application provisioner", "application owner")
    ]
    assert {name for _, reviewers in await names(client, by_other) for name in reviewers} == {"Bo Boss"}


async def test_inactive_person_is_not_asked_to_review(client: httpx2.AsyncClient, db: Db) -> None:
    boss, deputy = await an_identity(db, "Bo", "Boss"), await an_identity(db, "Di", "Deputy")
    ada = await an_identity(db, supervisorId=str(boss))
    crm = await an_application(db, provisionerIds=[str(boss), str(deputy)])
    await db.execute("UPDATE identities SET status = 'Disabled' WHERE id = %s", (boss,))

    id = await an_access_request(db, identity_id=ada, application_id=crm)

    assert await names(client, id) == [("Approve", ["Administrators"]), ("Resolve", ["Di Deputy"])]


async def test_rules_apply_depending_on_action_event_priority_and_risk(client: httpx2.AsyncClient, db: Db) -> None:
    named = str(await an_identity(db, "Nora", "Named"))
    conditions: list[dict[str, Any]] = [
        {"actions": ["Suspend"]},
        {"eventTypes": ["Absence"]},
        {"priorities": ["Low"]},
        {"risks": ["High"]},
        {"actions": ["Suspend"], "risks": ["Low"]},
        {},
    ]
    rules = [
        {"type": "Verify", "reason": f"Rule {n}", "responder": "Identity", "identityId": named, **condition}
        for n, condition in enumerate(conditions)
    ]
    await client.patch("/api/settings", json={"approvalPolicy": rules})
    crm, low = await an_application(db, "CRM"), await an_application(db, "Low", priority="Low")
    absence = RelatedItem(id=new_id(), kind="Personnel Event", number=1, status="Pending", event_type="Absence")

    ids = [
        await an_access_request(db, "Suspend", application_id=crm),
        await an_access_request(db, "Remove", application_id=crm, related=absence),
        await an_access_request(db, "Remove", application_id=low),
        await an_access_request(db, "Add", application_id=crm, privileges=[RISKY]),
    ]

    met = [[reason for type, reason, _ in await asked(client, id) if type == "Verify"] for id in ids]
    assert met == [["Rule 0", "Rule 5"], ["Rule 1", "Rule 5"], ["Rule 2", "Rule 5"], ["Rule 3", "Rule 5"]]


async def test_administrators_provision_if_the_policy_names_no_provisioner(client: httpx2.AsyncClient, db: Db) -> None:
    await client.patch("/api/settings", json={"approvalPolicy": []})

    id = await an_access_request(db)

    assert await asked(client, id) == [
        (
            "Resolve",
            "The administrators respond because the approval policy names no provisioner for this request",
            ["Administrators"],
        )
    ]
    assert (await detail_of(client, id))["status"] == "Open"


async def test_reviewer_who_cannot_sign_in_is_not_asked(client: httpx2.AsyncClient, db: Db) -> None:
    """A shared mailbox can be a supervisor or an owner, but without a role nobody can sign in as it to respond."""
    mailbox = await an_identity(db, "Payroll", "Team", identityType="Shared")
    application = await an_application(db, "Payroll", ownerId=str(mailbox), provisionerIds=[str(mailbox)])
    ada = await an_identity(db, supervisorId=str(mailbox))
    asked: dict[str, Any] = {"identity_id": ada, "application_id": application, "privileges": [RISKY]}

    without_role = await an_access_request(db, **asked)
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Reviewer')", id=mailbox)
    with_role = await an_access_request(db, **asked)

    types = ("Approve", "Approve", "Resolve")
    assert await names(client, without_role) == [(type, ["Administrators"]) for type in types]
    assert await names(client, with_role) == [(type, ["Payroll Team"]) for type in types]
